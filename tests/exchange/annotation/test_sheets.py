"""Sheets tell nothing but the answer and are the same every time; bad rulings land nothing at all."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.exchange.annotation.draw import of_rulable
from promptaudit.exchange.annotation.take_sheet import read_rulings, take_sheet
from promptaudit.exchange.annotation.write_sheet import COLUMNS, AnswerText, sheet_row, write_sheet
from promptaudit.marts.publish import publish
from promptaudit.registry.errors import DataError, PromptauditError, UsageError
from promptaudit.system.clock import now
from promptaudit.system.display.encode import encoded
from promptaudit.system.display.progress import Progress
from promptaudit.system.display.spreadsheet import cell_of
from promptaudit.system.settings import Settings
from promptaudit.udfs.raters.verdict_groups import WRONG
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of

pytestmark = pytest.mark.slow

RUN, OTHER_RUN = "a" * 32, "b" * 32
QUIET = Progress(quiet=True)


# ---------------------------------------------------------------- a row
TEXT = AnswerText(
    item="0" * 32,
    task="t",
    kind="multiple_choice",
    labels=["A", "B", "C"],
    question="Which?",
    options=["red", "green", "blue"],
    option_order=None,
    gold_label="B",
    reference_answers=None,
    reader=json.dumps({"option_letter": ["1", "2", "3"]}),
    completion="[2]",
)


def test_options_stand_under_the_signs_that_were_shown() -> None:
    row = sheet_row(TEXT)
    assert (row["options"], row["references"], row["answer"]) == ("1. red\n2. green\n3. blue", "2. green", "[2]")
    assert (row["is_match"], row["reason"]) == ("", "")
    assert tuple(row) == COLUMNS
    turned = sheet_row(TEXT._replace(option_order=[2, 0, 1]))
    assert (turned["options"], turned["references"]) == ("1. blue\n2. red\n3. green", "3. green")


def test_options_without_signs_of_their_own_go_by_their_labels() -> None:
    assert sheet_row(TEXT._replace(reader=None))["references"] == "B. green"


def test_a_label_and_a_list_of_references_stand_as_they_are() -> None:
    label = sheet_row(TEXT._replace(kind="classification", options=None, reader='"exact"'))
    assert (label["options"], label["references"]) == ("A\nB\nC", "B")
    opened = TEXT._replace(kind="open_ended", options=None, labels=None, gold_label=None, reader='"open"')
    row = sheet_row(opened._replace(reference_answers=["fifty years", "50 years"]))
    assert (row["options"], row["references"]) == ("", "fifty years\n50 years")


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-5", "@sum(1)", "\t=1", "\r=1"])
def test_no_cell_begins_like_a_formula(text: str) -> None:
    assert cell_of(text) == f"'{text}"
    row = sheet_row(TEXT._replace(completion=text, question=text, task=text))
    assert [row[name] for name in ("answer", "question", "task")] == [f"'{text}"] * 3


@pytest.mark.parametrize("text", ["", "a=b", " =1", "'quoted'", 'say "yes",\nno', "–5", "Straße"])
def test_other_cells_stand_as_they_are(text: str) -> None:
    assert cell_of(text) == text


def test_control_characters_are_written_out() -> None:
    assert cell_of("a\x00b\x1b[31m\n\x9b") == "a\\x00b\\x1b[31m\n\\x9b"


def test_of_more_than_a_cell_holds_the_middle_is_left_out() -> None:
    cell = cell_of("begin" + "x" * 100_000 + "end")
    # 100,008 characters, of which 16,000 are shown
    assert cell.startswith("begin")
    assert cell.endswith("xend")
    assert "… 84008 characters are left out here …" in cell
    # a cell holds 32,767 units, and each of these characters is two
    for widest in ("🙂" * 100_000, "\x00" * 100_000):
        assert len(cell_of(widest).encode("utf-16-le")) / 2 < 32_767


# ---------------------------------------------------------------- a warehouse of a few answers
def prediction(name: str) -> str:
    return f"{name:0>32}"


def warehouse_of(folder: Path, said: Sequence[tuple[str, str, str, str | None]], **scores: dict[str, bool]) -> Settings:
    """A published warehouse of answers (prediction, sample, variant, completion), with scores by method and prediction.

    Sample `keyless` has no gold label; variant v2 numbers the options that v1 gives letters, v3 and v4 turn their order.
    """
    warehouse = folder / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    run = {
        "audit_id": "a",
        "origin": "run",
        "state": "complete",
        "started_at": now(),
        "fingerprint": "",
        "seed": 1,
        "plan_fingerprint": "",
        "card": "{}",
        "format_limits": "{}",
        "n_resamples": 0,
        "code_version": "",
        "library_versions": "{}",
    }
    tables: dict[str, list[dict[str, Any]]] = {
        "audit_runs": [run],
        "tasks": [
            {
                "task_id": "t",
                "kind": "multiple_choice",
                "level": "nominal",
                "reader": '"exact"',
                "card": "{}",
                "fingerprint": "",
            }
        ],
        "task_labels": [{"task_id": "t", "label": label, "label_index": place} for place, label in enumerate("AB")],
        "samples": [
            {
                "task_id": "t",
                "sample_id": sample,
                "sample_index": place,
                "input": f"Question {sample}?",
                "gold_label": None if sample == "keyless" else "A",
                "options": '["red", "green"]',
            }
            for place, sample in enumerate(sorted({row[1] for row in said}))
        ],
        "prompt_variants": [
            {
                "task_id": "t",
                "prompt_variant_id": name,
                "strategy": "simple",
                "variant_index": place,
                "is_original": place == 0,
                "is_edited": False,
                "repetitions": [1],
                "reader": json.dumps({"option_letter": signs}),
            }
            for place, (name, signs) in enumerate(
                {"v1": ["A", "B"], "v2": ["1", "2"], "v3": ["A", "B"], "v4": ["A", "B"]}.items()
            )
        ],
        "option_orders": [
            {"prompt_variant_id": name, "sample_id": "one", "option_order": [1, 0]} for name in ("v3", "v4")
        ],
        "predictions": [
            {
                "task_id": "t",
                "prediction_id": prediction(name),
                "model_id": f"model-{name}",
                "prompt_variant_id": variant,
                "sample_id": sample,
                "repetition": 1,
                "completion": completion,
                "is_completion_escaped": False,
                "is_refused": False,
                "n_attempts": 1,
                "request_sha256": "",
                "landed_at": now(),
            }
            for name, sample, variant, completion in said
        ],
    }
    for run_id in (OTHER_RUN, RUN):  # as they land: the other one is older
        rows = {name: [{**row, "audit_run_id": run_id} for row in of] for name, of in tables.items()}
        if run_id == OTHER_RUN:
            rows["audit_runs"][0]["started_at"] = now().replace(year=2020)
            rows["predictions"] = [{**rows["predictions"][0], "prediction_id": prediction("other")}]
        Warehouse(warehouse).land([(name, frame_of(name, of)) for name, of in rows.items()])
    with duckdb.connect(str(warehouse)) as con:
        con.execute(r"""
            create schema marts;
            create table marts.dim_audit_runs as from raw.audit_runs;
            create table marts.dim_tasks as select *, ['A', 'B'] as labels from raw.tasks;
            create table marts.dim_samples as
                select * replace (from_json(options, '["VARCHAR"]') as options, null::varchar[] as reference_answers),
                    gold_label is not null as has_key
                from raw.samples;
            create table marts.dim_prompt_variants as from raw.prompt_variants;
            create table marts.fct_predictions as
                select *, case when completion is null then 'error' when not regexp_matches(completion, '\S') then 'empty'
                    else 'valid' end
                    as answer_status, trim(completion) as label
                from raw.predictions;
            create table marts.fct_scores (
                audit_run_id varchar, prediction_id varchar, scoring_method varchar, is_correct boolean, score_state varchar,
                unscored_kind varchar, task_id varchar, model_id varchar, sample_id varchar
            );
            create table marts.fct_scoring_sensitivity (
                audit_run_id varchar, task_id varchar, model_id varchar, scoring_method varchar, n_ruled integer,
                accuracy_rectified double, accuracy_rectified_low double, accuracy_rectified_high double
            );
            create table marts.fct_verdicts as select audit_run_id, verdict_id from raw.verdicts;
            create table marts.fct_judge_agreement (
                audit_run_id varchar, task_id varchar, raters varchar, kind varchar, cohen_kappa double,
                agreement_rate double, n_rated integer
            );
        """)
        for method, ruled in scores.items():
            for name, is_correct in ruled.items():
                row = [RUN, prediction(name), method.replace("judge_", "judge:"), is_correct, "scored"]
                of = "select ?, prediction_id, ?, ?, ?, null, task_id, model_id, sample_id from raw.predictions"
                where = "where audit_run_id = ? and prediction_id = ?"
                con.execute(f"insert into marts.fct_scores {of} {where}", [RUN, *row[2:], *row[:2]])
    publish(Warehouse(warehouse))
    return Settings(warehouse=warehouse)


SAID = [
    ("4", "one", "v1", "A"),
    ("3", "one", "v1", "A"),
    ("2", "one", "v2", "A"),  # two answers: v2 shows other signs
    ("6", "one", "v1", "B"),
    ("7", "two", "v1", "A"),
    ("8", "two", "v1", " \n"),
    ("9", "two", "v1", None),
    ("1", "keyless", "v1", "A"),
]
ITEMS = {prediction(name) for name in "3267"}


SCORES = {"option_letter": {"3": True, "2": True, "6": False}, "judge_j": {"3": True, "2": False, "6": False}}


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A warehouse for tests that land nothing."""
    return warehouse_of(tmp_path_factory.mktemp("unchanged"), SAID, **SCORES)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A warehouse of the test's own."""
    return warehouse_of(tmp_path, SAID, **SCORES)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_is_a_distinct_answer_that_can_be_ruled_on(unchanged: Settings, tmp_path: Path) -> None:
    written = write_sheet(unchanged, None, tmp_path / "sheet.csv")
    rows = read(tmp_path / "sheet.csv")
    assert {row["item"] for row in rows} == ITEMS
    assert {row["item"]: row["options"] for row in rows}[prediction("2")] == "1. red\n2. green"
    # 3 right by both, 6 wrong by both, 2 right by the rule alone, 7 scored by nobody
    lines = written.lines()
    assert lines[0].endswith(f"sheet.csv: 4 of the 4 distinct answers of run {RUN}")
    assert lines[1:] == [
        "  1 of 1  judge says wrong, rule does not, in format",
        "  1 of 1  unscored, in format",
        "  1 of 1  all say right, in format",
        "  1 of 1  all say wrong, in format",
    ]
    assert encoded(written)["strata"][f"{WRONG}, in format"] == {"n_rows": 1, "n_answers": 1}


def test_what_a_judge_rules_on_without_a_key_people_can_rule_on_too(settings: Settings, tmp_path: Path) -> None:
    judge = {"judge_key": "", "repetitions": 1, "max_asks": 1, "recorded_at": now(), "audit_run_id": RUN}

    def offered(judge_id: str, **card: Any) -> set[str]:
        rows = [{**judge, "judge_id": judge_id, "card": json.dumps(card)}]
        Warehouse(settings.warehouse).land([("judges", frame_of("judges", rows))])
        publish(Warehouse(settings.warehouse))
        write_sheet(settings, None, tmp_path / "sheet.csv", force=True)
        return {row["item"] for row in read(tmp_path / "sheet.csv")}

    assert offered("of keys") == ITEMS
    assert offered("of another task", references="none", tasks=["u"]) == ITEMS
    assert offered("alone", references="none") == ITEMS | {prediction("1")}
    (row,) = [row for row in read(tmp_path / "sheet.csv") if row["item"] == prediction("1")]
    assert (row["question"], row["references"], row["answer"]) == ("Question keyless?", "", "A")
    # and what the sheet offers is taken
    items = sorted({row["item"] for row in read(tmp_path / "sheet.csv")})
    found = Warehouse(settings.warehouse).read(of_rulable("rulable_answers"), run=RUN, items=[*items, prediction("8")])
    assert sorted(row["item"] for row in found) == items


def test_one_answer_under_another_order_of_options_is_another(tmp_path: Path) -> None:
    said = [("1", "one", "v1", "A"), ("2", "one", "v3", "A"), ("3", "one", "v4", "A")]
    sheet = tmp_path / "sheet.csv"
    settings = warehouse_of(tmp_path, said)
    write_sheet(settings, None, sheet)
    options = {row["item"]: row["options"] for row in read(sheet)}
    assert options == {prediction("1"): "A. red\nB. green", prediction("2"): "A. green\nB. red"}
    # a ruling on each, and every answer has one
    items = [prediction(name) for name in "123"]
    answers = Warehouse(settings.warehouse).read(of_rulable("rulable_answers"), run=RUN, items=items)
    assert len({row["answer"] for row in answers}) == len(options)


def test_nothing_tells_who_said_it_or_what_was_thought_of_it(unchanged: Settings, tmp_path: Path) -> None:
    write_sheet(unchanged, None, tmp_path / "sheet.csv")
    text = (tmp_path / "sheet.csv").read_text()
    assert text.splitlines()[0] == "item,task,question,options,references,answer,is_match,reason"
    for word in ("model", "simple", "v1", "v2", "letter", "judge", "disagree", "right"):
        assert word not in text


def test_the_same_seed_writes_the_same_sheet(unchanged: Settings, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for path in (first, second):
        write_sheet(unchanged, RUN[:6], path, n=3, seed=7, task="t")
    assert first.read_bytes() == second.read_bytes()
    assert len(read(first)) == 3


def test_a_width_writes_what_it_needs(tmp_path: Path) -> None:
    said = [(str(place), f"sample {place}", "v1", "A" if place % 3 else "B") for place in range(10, 30)]
    judge = {name: name != "12" and completion == "A" for name, _, _, completion in said}
    settings = warehouse_of(tmp_path, said, judge_j=judge)
    with duckdb.connect(str(settings.warehouse)) as con:
        for table in ("raw.predictions", "marts.fct_predictions", "marts.fct_scores"):
            con.execute(f"update {table} set model_id = 'm'")
    publish(Warehouse(settings.warehouse))
    written = write_sheet(settings, None, tmp_path / "sheet.csv", width=0.3)
    (promised,) = written.promises
    assert (promised.task_id, promised.model_id, promised.judge) == ("t", "m", "judge:j")
    assert 10 <= written.n_rows == len(read(tmp_path / "sheet.csv")) < 20
    assert promised.least_half_width < promised.half_width <= 0.3
    assert written.lines()[1] == (
        "  t: m by judge:j: once these are ruled on, accuracy_rectified is known within about "
        f"{promised.half_width:.3f} (about {promised.least_half_width:.3f} with all answers ruled on)"
    )
    with pytest.raises(
        UsageError, match=r"--width 0\.1: with all 20 answers of m to t ruled on, its samples alone leave 0\.2"
    ):
        write_sheet(settings, None, tmp_path / "narrow.csv", width=0.1)
    few = write_sheet(settings, None, tmp_path / "few.csv", n=5)
    assert "these are too few to rectify its accuracy" in few.lines()[1]


def test_without_a_judge_there_is_no_width(unchanged: Settings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--width 0\.1: no judge ruled on ten samples or more"):
        write_sheet(unchanged, None, tmp_path / "sheet.csv", width=0.1)
    assert write_sheet(unchanged, None, tmp_path / "sheet.csv").promises == ()


def test_a_sheet_of_questions_has_every_answer_to_them(unchanged: Settings, tmp_path: Path) -> None:
    written = write_sheet(unchanged, None, tmp_path / "sheet.csv", questions=1)
    rows = read(tmp_path / "sheet.csv")
    assert len({row["question"] for row in rows}) == 1
    write_sheet(unchanged, None, tmp_path / "all.csv", questions=99)
    assert {row["item"] for row in read(tmp_path / "all.csv")} == ITEMS
    assert written.n_rows == len(rows) < len(ITEMS)


def test_a_sheet_that_is_there_stays_unless_forced(unchanged: Settings, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("filled in")
    with pytest.raises(UsageError, match=r"sheet\.csv is there already and may hold rulings; --force"):
        write_sheet(unchanged, None, path)
    assert path.read_text() == "filled in"
    write_sheet(unchanged, None, path, force=True)
    assert len(read(path)) == 4


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("sheet.xlsx", {}, r"--sheet .*sheet\.xlsx: a \.csv file is written"),
        ("sheet.csv", {"task": "tt"}, f"--task tt: run {RUN} has none of that name; nearest: t"),
        ("sheet.csv", {"run": "c"}, "no complete run is 'c'"),
        ("nowhere/sheet.csv", {}, r"nowhere/sheet\.csv: cannot be written: No such file or directory"),
    ],
)
def test_a_sheet_that_cannot_be(
    unchanged: Settings, tmp_path: Path, name: str, options: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        write_sheet(unchanged, options.get("run"), tmp_path / name, task=options.get("task"))


def test_without_answers_to_rule_on_there_is_no_sheet(tmp_path: Path) -> None:
    settings = warehouse_of(tmp_path, [("1", "keyless", "v1", "A"), ("2", "one", "v1", "")])
    with pytest.raises(DataError, match="no answer to rule on"):
        write_sheet(settings, None, tmp_path / "sheet.csv")
    assert not (tmp_path / "sheet.csv").exists()


# ---------------------------------------------------------------- rulings
def rulings(folder: Path, *rows: str, header: str = "item,is_match,reason") -> Path:
    path = folder / "filled.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("is_match", [True, False])
def test_yes_and_no_are_written_in_many_ways(tmp_path: Path, is_match: bool) -> None:
    ways = (" YES", "Y", "true", "1", "Match ") if is_match else ("No", "n", "FALSE", "0", " no  Match")
    found, n_not_ruled = read_rulings(rulings(tmp_path, *(f"{way},{way},r" for way in ways), "x,  ,"), "ann")
    assert [ruling.is_match for ruling in found] == [is_match] * 5
    assert n_not_ruled == 1
    assert {(ruling.annotator, ruling.reason) for ruling in found} == {("ann", "r")}


def test_a_column_names_the_annotators(tmp_path: Path) -> None:
    path = rulings(tmp_path, "x,yes, ann ", "x,no,bob", "y,,", header="item,is_match,annotator")
    found, _ = read_rulings(path, None)
    assert [(ruling.annotator, ruling.reason) for ruling in found] == [("ann", None), ("bob", None)]


def test_a_sheet_that_a_spreadsheet_saved_is_read(tmp_path: Path) -> None:
    path = tmp_path / "saved.csv"
    path.write_bytes(b'\xef\xbb\xbfitem,is_match,reason\r\n3,TRUE,"a\r\nb"\r\n4,,\r\n')
    (ruling,), n_not_ruled = read_rulings(path, "ann")
    assert (ruling.item, ruling.is_match, ruling.reason, n_not_ruled) == ("3", True, "a\r\nb", 1)


BAD_FILES: dict[str, tuple[str, tuple[str, ...], str | None, type[PromptauditError], str]] = {
    "no item": ("items,is_match", ("3,yes",), "ann", DataError, r"filled\.csv: no column 'item'; nearest: items"),
    "no is_match": ("item,match", ("3,yes",), "ann", DataError, r"no column 'is_match'; nearest: match"),
    "maybe": ("item,is_match", (",", "3,yess"), "ann", DataError, r"row 2: is_match: .* found 'yess'; nearest: yes"),
    "nobody": ("item,is_match", ("3,yes",), None, UsageError, r"--annotator is missing: who ruled in .*filled\.csv"),
    "named twice": (
        "item,is_match,annotator",
        ("3,yes,a",),
        "ann",
        UsageError,
        r"--annotator ann: .* give one of the two",
    ),
    "empty name": ("item,is_match", ("3,yes",), " ", UsageError, r"--annotator ' ': a name is wanted"),
    "long name": ("item,is_match", ("3,yes",), "x" * 101, UsageError, r"at most 100 characters"),
    "hidden name": ("item,is_match", ("3,yes",), "a\x07", UsageError, r"printable characters without"),
    "name of two": ("item,is_match", ("3,yes",), "a | b", UsageError, r"printable characters without '\|'"),
    "no name in a row": (
        "item,is_match,annotator",
        ("3,yes,a", "3,no,"),
        None,
        DataError,
        r"row 2: annotator: .* nothing",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused(tmp_path: Path, name: str) -> None:
    header, rows, annotator, kind, words = BAD_FILES[name]
    with pytest.raises(kind, match=words):
        read_rulings(rulings(tmp_path, *rows, header=header), annotator)


A_RULING = f"{prediction('3')},yes"
BAD_ITEMS = {
    "unknown item": (
        (A_RULING, "zz,no"),
        r"filled\.csv row 2: item: an answer of run a+ is wanted, found 'zz'; take it",
    ),
    "near item": ((f"x{A_RULING}",), f"nearest: {prediction('3')}"),
    "another run's": ((f"{prediction('other')},yes",), f"; it is one of run {OTHER_RUN}"),
    "a blank answer": ((f"{prediction('8')},yes",), "; it is blank or has no key"),
    "no key": ((f"{prediction('1')},yes",), "; it is blank or has no key"),
    "no item in a row": ((",yes",), "row 1: item: .* found nothing"),
    "two rulings": (
        (A_RULING, f"{prediction('3')},no"),
        "row 2: is_match: 'yes', which ann says of the same answer in row 1, is wanted, found 'no'",
    ),
    "two rulings on equal answers": ((A_RULING, f"{prediction('4')},no"), "row 2: is_match: 'yes', which ann"),
}


@pytest.mark.parametrize("name", BAD_ITEMS)
def test_a_bad_row_lands_nothing(unchanged: Settings, tmp_path: Path, name: str) -> None:
    rows, words = BAD_ITEMS[name]
    with pytest.raises(DataError, match=words):
        take_sheet(
            unchanged, None, rulings(tmp_path, *rows, f"{prediction('7')},yes", header="item,is_match"), "ann", QUIET
        )
    with duckdb.connect(str(unchanged.warehouse)) as con:
        assert con.execute("select count(*) from raw.verdicts").fetchone() == (0,)


def test_a_sheet_without_rulings_lands_nothing_and_says_so(unchanged: Settings, tmp_path: Path) -> None:
    write_sheet(unchanged, None, tmp_path / "sheet.csv")
    taken = take_sheet(unchanged, None, tmp_path / "sheet.csv", "ann", QUIET)
    assert (taken.n_landed, taken.n_not_ruled, taken.published) == (0, 4, None)
    assert list(taken.lines()) == [f"run {RUN}: 0 rulings landed, 4 rows without one"]


class TestLanded:
    """What lands of a filled-in sheet, without deriving the run again."""

    @pytest.fixture(autouse=True)
    def _derived_elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def derived(warehouse: Path, runs: list[str], part: str) -> None:
            assert runs == [RUN]
            with duckdb.connect(str(warehouse)) as con:
                con.execute(
                    "create or replace table marts.fct_verdicts as select audit_run_id, verdict_id from raw.verdicts"
                )
                con.execute(
                    "create or replace table marts.fct_judge_agreement as select ? as audit_run_id, 't' as task_id, "
                    "'judge:j | person:ann' as raters, 'judge and person' as kind, null::double as cohen_kappa, "
                    "1.0::double as agreement_rate, 2 as n_rated",
                    [RUN],
                )
            self.parts.append(part)

        self.parts: list[str] = []
        monkeypatch.setattr("promptaudit.exchange.annotation.take_sheet.transform", derived)
        monkeypatch.setattr(
            "promptaudit.exchange.annotation.take_sheet.report",
            lambda warehouse, run, **_: warehouse.path.with_name(f"{run}.html"),
        )

    def landed(self, settings: Settings) -> list[dict[str, Any]]:
        with duckdb.connect(str(settings.warehouse)) as con:
            cursor = con.execute("from raw.verdicts order by landed_at, judge_id, prediction_id")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def test_a_ruling_is_a_verdict_of_a_person(self, settings: Settings, tmp_path: Path) -> None:
        path = rulings(tmp_path, f"{prediction('3')},yes,same", f"{prediction('6')},no,", f"{prediction('7')},,")
        taken = take_sheet(settings, None, path, "ann", QUIET)
        first, second = self.landed(settings)
        assert first | {"judge_id": "person:ann", "prediction_id": prediction("3"), "is_match": True} == first
        assert first | {"repetition": 1, "ask": 1, "is_settled": True, "n_attempts": 1, "reason": "same"} == first
        assert (first["completion"], first["judge_key"], first["is_completion_escaped"]) == (None, None, False)
        assert json.loads(first["source"])["name"] == "filled.csv"
        assert (second["is_match"], second["reason"]) == (False, None)
        assert self.parts == ["up_to_formats", "after_formats"]
        assert list(taken.lines())[:2] == [
            f"run {RUN}: 2 rulings by ann landed, 1 rows without one",
            "  t: judge:j | person:ann: kappa –, agreement 1.000, 2 answers",
        ]
        assert json.loads(json.dumps(encoded(taken)))["n_landed"] == 2

    def test_the_same_bytes_again_land_nothing(self, settings: Settings, tmp_path: Path) -> None:
        path = rulings(tmp_path, f"{prediction('3')},yes,")
        take_sheet(settings, None, path, "ann", QUIET)
        again = take_sheet(settings, None, path.rename(tmp_path / "moved.csv"), "ann", QUIET)
        assert (again.n_landed, again.n_known, again.published) == (0, 1, None)
        assert "moved.csv: these 1 rulings are here already: nothing landed" in list(again.lines())
        assert len(self.parts) == 2

    def test_rulings_that_were_landed_and_not_published_are_derived(self, settings: Settings, tmp_path: Path) -> None:
        path = rulings(tmp_path, f"{prediction('3')},yes,")
        take_sheet(settings, None, path, "ann", QUIET)
        with duckdb.connect(str(settings.warehouse)) as con:
            con.execute("delete from marts.fct_verdicts")
        publish(Warehouse(settings.warehouse))
        assert take_sheet(settings, None, path, "ann", QUIET).published is not None
        assert len(self.parts) == 4

    def test_equal_rows_count_once_and_two_people_twice(self, settings: Settings, tmp_path: Path) -> None:
        # predictions 3 and 4 say the same to the same question under the same signs
        rows = [
            f"{prediction(name)},{said},{who}"
            for name, said, who in (("3", "yes", "ann"), ("3", "yes", "ann"), ("4", "y", "ann"), ("3", "no", "bob"))
        ]
        path = rulings(tmp_path, *rows, header="item,is_match,annotator")
        taken = take_sheet(settings, None, path, None, QUIET)
        assert (taken.n_landed, taken.n_repeated, taken.annotators) == (2, 2, ("ann", "bob"))
        assert [(row["judge_id"], row["is_match"]) for row in self.landed(settings)] == [
            ("person:ann", True),
            ("person:bob", False),
        ]

    def test_a_later_file_rules_again(self, settings: Settings, tmp_path: Path) -> None:
        take_sheet(settings, None, rulings(tmp_path, f"{prediction('3')},yes,"), "ann", QUIET)
        take_sheet(settings, None, rulings(tmp_path, f"{prediction('3')},no,"), "ann", QUIET)
        first, second = self.landed(settings)
        assert (first["is_match"], second["is_match"]) == (True, False)
        assert first["landed_at"] < second["landed_at"]

    def test_hostile_answers_survive_the_sheet(self, tmp_path: Path) -> None:
        hostile = [
            "=cmd|' /C calc'!A0",
            "a\nb\r\nc\rd",
            '"","yes"\n"',
            "nul\x00\x1b[2J",
            "@SUM(1)",
            "x" * 100_000,
            "'; drop table",
            "\u202eabc",
            "\ufeff",
            ",,,,",
            "\t=1",
            "\r=1+1",
            "a\rb",
        ]
        settings = warehouse_of(tmp_path, [(str(place), "one", "v1", text) for place, text in enumerate(hostile)])
        write_sheet(settings, None, tmp_path / "sheet.csv")
        rows = read(tmp_path / "sheet.csv")
        answers = {int(row["item"]): row["answer"] for row in rows}
        for place, text in enumerate(hostile):
            assert answers[place] == cell_of(text)
        with (tmp_path / "sheet.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows({**row, "is_match": "no", "reason": row["answer"]} for row in rows)
        taken = take_sheet(settings, None, tmp_path / "sheet.csv", "ann", QUIET)
        assert taken.n_landed == len(hostile)
        reasons = {int(row["prediction_id"]): row["reason"] for row in self.landed(settings)}
        assert {place: reasons[place] or "" for place in reasons} == {
            place: answers[place] if answers[place].strip() else "" for place in answers
        }
