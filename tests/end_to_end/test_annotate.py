"""People rule on a blinded sheet of a judged audit, and the marts say how far judge and rule agree with them."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.ask.infer import infer
from promptaudit.ask.judge import judge
from promptaudit.ask.wordings.paraphrase import paraphrase
from promptaudit.audit.runs import close_run, open_run
from promptaudit.engines import silent
from promptaudit.evidence.trace.gather import trace
from promptaudit.exchange.annotation.write_sheet import cell_of
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.plan.design import design_audit
from promptaudit.registry.registry import SHIPPED, load_registry
from promptaudit.udfs.templates.prediction_powered import LEAST_RULED
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import row_id
from tests.support.shell import Ended, promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the run is derived three times

N_SAMPLES = 12
N_VARIANTS = 12  # templates that ship for multiple choice
HOSTILE = (
    "=cmd|' /K calc'!Z0",
    "+1+1",
    "-2",
    "@SUM(1+1)",
    "\t=1",
    'said "yes",\nthen "no"\r\n,,',
    "nul\x00 and \x1b[2J",
    "'; drop table raw.verdicts; --",
    "\u202eyrros",
)
WRONG_OF_BOB, RULED_BY_BOB = 4, 20  # every fourth of the rows that bob rules on

CARDS = {
    "models/m.yml": (
        "speaker:\n  engine: embedded\n  model: examinee\n  examinee: {accuracy: 0.6, prose: 0.8}\n"
        "hostile:\n  engine: recorded\n  model: hostile\n  path: datasets/hostile.jsonl\n"
        "erring:\n  engine: embedded\n  model: matcher\n  rate: 0.15\n"
    ),
    "judges/j.yml": "j:\n  model: erring\n",
    "audits/a.yml": (
        "a:\n  tasks: [general_knowledge]\n  models: [speaker, hostile]\n  judges: [j]\n"
        "  repetitions: {original: 1, variants: 1}\n  samples: {limit: 12, balanced: false}\n  resamples: 20\n"
        "  format: {max_invalid_rate_at_first: 1}\n"
    ),
}


def said_sign(row: dict[str, str]) -> str | None:
    """The sign of the option that an answer gives, by a reader of this test's own: the longest option, else its sign."""
    options = dict(line.split(". ", 1) for line in row["options"].split("\n"))
    named = [sign for sign, option in options.items() if option.casefold() in row["answer"].casefold()]
    if named:
        return max(named, key=lambda sign: len(options[sign]))
    found = re.fullmatch(r"(?:The answer is )?[\[(]?(\w+)[\])]?\.?", row["answer"])
    return None if found is None else found[1]


def is_right(row: dict[str, str]) -> bool:
    """Whether an answer of a sheet is right."""
    return said_sign(row) == row["references"].partition(". ")[0]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sheet_of(folder: Path) -> list[dict[str, str]]:
    """The rows of the sheet, every fourth of its first ones hostile, where bob says otherwise than ann.

    The sheet's own order follows the run's id, and so does what the judge says: in that order a kind of answer of which there are
    few was open altogether now and then, and more rulings of it were wanted.
    """
    rows = read(folder / "sheet.csv")
    hostile = [row for row in rows if said_sign(row) is None]
    others = [row for row in rows if said_sign(row) is not None]
    mixed = []
    while len(mixed) < RULED_BY_BOB:
        mixed += [hostile.pop(), *(others.pop() for _ in range(WRONG_OF_BOB - 1))]
    return mixed + hostile + others


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def ruled(row: dict[str, str], annotator: str, is_match: bool) -> dict[str, str]:
    return {**row, "is_match": "yes" if is_match else "no", "annotator": annotator}


def ask_and_judge(folder: Path) -> None:
    """The audit's answers and verdicts, as `promptaudit run` lands them, without what takes half a minute around it."""
    warehouse, design = folder / "warehouse/audit.duckdb", design_audit(load_registry([folder / "registry"]), "a")
    Warehouse(warehouse).apply_schema()
    run = open_run(Warehouse(warehouse), design)

    def purse() -> Purse:
        return Purse(
            Warehouse(warehouse), run, budget_of(Warehouse(warehouse), run, design.audit.budget, None, None), silent
        )

    @contextlib.contextmanager
    def asking(_: object) -> Iterator[Any]:
        yield lambda *_: None

    infer(purse(), design, paraphrase(purse(), design).variants, lambda *_: None)
    judge(purse(), design, asking)
    close_run(Warehouse(warehouse), run, "complete")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """A folder with a judged audit, a sheet of all its answers, and the rulings of two people taken in."""
    folder = tmp_path_factory.mktemp("annotated")
    for name, text in CARDS.items():
        path = folder / "registry" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "registry/datasets").mkdir()
    with (folder / "registry/datasets/hostile.jsonl").open("w") as file:
        for place, sample in enumerate(pl.read_csv(SHIPPED / "datasets/general_knowledge.csv")["id"]):
            for variant in range(N_VARIANTS):
                said = HOSTILE[(place + variant) % len(HOSTILE)]
                file.write(json.dumps({"sample_id": sample, "variant_index": variant, "completion": said}) + "\n")
    ask_and_judge(folder)
    ended = promptaudit(folder, "rebuild", "--quiet")
    assert ended.code == 0, ended.err
    ended = promptaudit(folder, "annotate", "--sheet", "sheet.csv", "--answers", "1000")
    assert ended.code == 0, ended.err
    rows = sheet_of(folder)
    filled = [ruled(row, "ann", is_right(row)) for row in rows]
    filled += [
        ruled(row, "bob", is_right(row) != (place % WRONG_OF_BOB == 0)) for place, row in enumerate(rows[:RULED_BY_BOB])
    ]
    filled += [{**row, "annotator": "bob"} for row in rows[RULED_BY_BOB:]]
    taken = promptaudit(folder, "annotate", "--take", write(folder / "filled.csv", filled), "--json")
    assert taken.code == 0, taken.err
    return folder, taken


def judged(folder: Path) -> list[tuple[bool, bool, int]]:
    """For every row of the sheet: ann's ruling, the judge's, and the row's place."""
    rows = sql(folder, "select prediction_id, is_correct from marts.fct_scores where scoring_method = 'judge:j'")
    by_judge = {row["prediction_id"]: row["is_correct"] for row in rows}
    return [(is_right(row), by_judge[row["item"]], place) for place, row in enumerate(sheet_of(folder))]


def test_a_distinct_answer_stands_once_whatever_it_says(audited: tuple[Path, Ended]) -> None:
    folder, _ = audited
    rows = sheet_of(folder)
    counted = sql(
        folder,
        "select count(distinct (sample_id, reader, completion)) as n from marts.fct_predictions "
        "inner join marts.dim_prompt_variants using (audit_run_id, prompt_variant_id)",
    )
    assert len(rows) == len({row["item"] for row in rows}) == counted[0]["n"]
    assert {row["answer"] for row in rows} >= {cell_of(text) for text in HOSTILE}
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_agreement_with_people_is_measured(audited: tuple[Path, Ended]) -> None:
    folder, taken = audited
    rulings = judged(folder)
    rows = {row["raters"]: row for row in sql(folder, "select * from marts.fct_judge_agreement")}
    with_ann = rows["judge:j | person:ann"]
    agreed = sum(ann == judge for ann, judge, _ in rulings) / len(rulings)
    yes_ann, yes_judge = (sum(row[rater] for row in rulings) / len(rulings) for rater in (0, 1))
    by_chance = yes_ann * yes_judge + (1 - yes_ann) * (1 - yes_judge)
    assert agreed < 1
    assert with_ann["n_rated_distinct"] == len(rulings)
    assert with_ann["agreement_rate_distinct"] == pytest.approx(agreed)
    assert with_ann["cohen_kappa_distinct"] == pytest.approx((agreed - by_chance) / (1 - by_chance))
    # each answer counts, however many say the same
    (counted,) = sql(
        folder, "select count(*) as n from marts.fct_predictions where answer_status not in ('error', 'empty')"
    )
    assert with_ann["n_rated"] == counted["n"] > len(rulings)
    # bob differs from ann on 5 of the 20 rows that both rule on
    people = rows["person:ann | person:bob"]
    assert (people["kind"], people["n_rated_distinct"]) == ("person and person", 20)
    assert people["agreement_rate_distinct"] == pytest.approx(0.75)
    # where the rule reads an answer it agrees with this test's reader; what it cannot read it does not count as right
    beside_rule = rows["option_letter | person:ann"]
    assert beside_rule["n_rated_distinct"] == len(rulings)
    assert 0 < beside_rule["agreement_rate"] < 1
    printed = {row["raters"]: row for row in taken.json()["agreement"]}
    assert set(printed) == {
        "judge:j | person:ann",
        "judge:j | person:bob",
        "option_letter | person:ann",
        "option_letter | person:bob",
        "judge:j | people",
        "option_letter | people",
    }
    assert printed["judge:j | person:ann"]["cohen_kappa"] == with_ann["cohen_kappa"]
    # the two are tied on the five, which the majority leaves out
    assert rows["judge:j | people"]["n_rated_distinct"] == len(rulings) - 5
    assert "people | person:ann" not in rows


def test_people_are_a_scoring_method(audited: tuple[Path, Ended]) -> None:
    folder, _ = audited
    ruled = {row["item"]: (is_right(row), place) for place, row in enumerate(sheet_of(folder))}
    ties = {item for item, (_, place) in ruled.items() if place < RULED_BY_BOB and place % WRONG_OF_BOB == 0}
    rows = sql(folder, "select prediction_id, is_correct, reason from marts.fct_scores where scoring_method = 'people'")
    by_people = {row["prediction_id"]: (row["is_correct"], row["reason"]) for row in rows}
    assert {item: by_people[item] for item in ruled} == {
        item: (None, "tie") if item in ties else (right, None) for item, (right, _) in ruled.items()
    }
    spreads = sql(folder, "select * from marts.fct_scoring_sensitivity where scoring_method = 'people'")
    assert {(row["n_samples"], row["n_variants"]) for row in spreads} == {(N_SAMPLES, N_VARIANTS)}
    # the ties are some sample's under some template: those samples are not scored under all
    assert all(0 <= row["n_samples_scored_everywhere"] <= N_SAMPLES for row in spreads)
    assert not sql(folder, "select 1 from marts.rpt_rule_against_judge where rule = 'people'")
    figure = row_id("fct_scoring_sensitivity", spreads[0])
    traced = trace(Warehouse(folder / "warehouse/audit.duckdb"), figure, with_lineage=False)
    assert {row["judge_id"] for row in traced.raw["verdicts"]} >= {"person:ann", "person:bob"}


def test_the_judges_accuracy_is_rectified(audited: tuple[Path, Ended]) -> None:
    folder, _ = audited
    sheet = sheet_of(folder)
    # where ann and bob contradict each other nobody knows: these 5 rows say nothing of the judge
    known = {row["item"] for place, row in enumerate(sheet) if place >= RULED_BY_BOB or place % WRONG_OF_BOB != 0}
    by_ann = {row["item"]: is_right(row) for row in sheet}
    answers = sql(
        folder,
        "select model_id, prompt_variant_id, sample_id, "
        "min(prediction_id) over (partition by sample_id, reader, completion) as item "
        "from marts.fct_predictions inner join marts.dim_prompt_variants using (audit_run_id, prompt_variant_id)",
    )

    def checked(row: dict[str, Any], own: list[dict[str, Any]]) -> None:
        assert row["n_ruled"] == len({answer["item"] for answer in own} & known)
        if len({answer["sample_id"] for answer in own if answer["item"] in known}) < LEAST_RULED:
            assert row["accuracy_rectified"] is None  # which answers ann and bob contradict each other on is chance
            return
        says = sum(by_ann[answer["item"]] for answer in own) / len(own)
        unknown = sum(answer["item"] not in known for answer in own) / len(own)  # each may count as right or as wrong
        assert row["accuracy_rectified"] == pytest.approx(says, abs=0.06 + unknown)
        assert row["accuracy_rectified_low"] - unknown <= says <= row["accuracy_rectified_high"] + unknown

    for row in sql(folder, "select * from marts.fct_scoring_sensitivity where scoring_method = 'judge:j'"):
        checked(row, [answer for answer in answers if answer["model_id"] == row["model_id"]])
        assert row["judge_state"] == "verified"
    for row in sql(folder, "select * from marts.fct_variant_accuracy where scoring_method = 'judge:j'"):
        wanted = row["model_id"], row["prompt_variant_id"]
        checked(row, [each for each in answers if (each["model_id"], each["prompt_variant_id"]) == wanted])
    others = sql(
        folder,
        "select distinct n_ruled, accuracy_rectified from marts.fct_variant_accuracy where scoring_method != 'judge:j'",
    )
    assert others == [{"n_ruled": None, "accuracy_rectified": None}]
    known = sql(
        folder,
        "select model_id, bool_and(accuracy_rectified is not null) as is_known from marts.fct_variant_accuracy "
        "where scoring_method = 'judge:j' group by all",
    )
    is_known = {row["model_id"]: row["is_known"] for row in known}
    for row in sql(folder, "select * from marts.rpt_rule_against_judge"):
        assert row["judge_state"] == ("verified" if is_known[row["model_id"]] else "judge_unverified")
        if is_known[row["model_id"]]:
            assert 0 <= row["spread_judge_rectified_low"] <= row["spread_judge_rectified_high"]


def test_it_says_what_landed(audited: tuple[Path, Ended]) -> None:
    folder, taken = audited
    n = len(sheet_of(folder))
    said: dict[str, Any] = taken.json()
    assert (said["n_landed"], said["n_not_ruled"]) == (n + RULED_BY_BOB, n - RULED_BY_BOB)
    assert said["annotators"] == ["ann", "bob"]
    assert Path(folder / said["published"]).is_file()
    rows = sql(folder, "select rater, count(*) as n from marts.fct_verdicts where rater like 'person:%' group by all")
    assert {row["rater"]: row["n"] for row in rows} == {"person:ann": n, "person:bob": RULED_BY_BOB}


def test_the_same_again_does_nothing(audited: tuple[Path, Ended]) -> None:
    folder, _ = audited
    published = folder / "warehouse/published/audit.duckdb"
    before = published.stat().st_mtime_ns
    again = promptaudit(folder, "annotate", "--take", "filled.csv")
    assert again.code == 0, again.err
    assert "rulings are here already: nothing landed" in again.out
    assert "judge:j | person:ann: kappa" in again.out
    assert published.stat().st_mtime_ns == before
    sheet = (folder / "sheet.csv").read_bytes()
    again = promptaudit(folder, "annotate", "--sheet", "again.csv", "--answers", "1000")
    assert (folder / "again.csv").read_bytes() == sheet
    assert "judge says right, rule does not" in again.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give one of --sheet and --take"),
        (("--sheet", "new.csv", "--take", "filled.csv"), "give one of --sheet and --take"),
        (("--sheet", "sheet.csv"), "sheet.csv is there already and may hold rulings; --force writes over it"),
        (("--sheet", "new.csv", "--task", "general"), "nearest: general_knowledge"),
        (("--sheet", "new.csv", "--answers", "0"), "--answers"),
        (
            ("--sheet", "new.csv", "--answers", "5", "--width", ".1"),
            "--answers and --width each choose what is written: give one of them",
        ),
        (("--sheet", "new.csv", "--width", ".001"), "or more can be reached"),
        (("--sheet", "new.csv", "--width", ".5"), "answers that people ruled on are enough; nothing is left to write"),
        (("--take", "filled.csv", "--annotator", "ann"), "a column 'annotator' already"),
        (("--take", "sheet.csv"), "--annotator is missing"),
        (("--take", "nowhere.csv", "--annotator", "ann"), "nowhere.csv: no such file"),
        (("ffff", "--sheet", "new.csv"), "no complete run is 'ffff'"),
    ],
)
def test_a_wrong_command_is_one_line(audited: tuple[Path, Ended], arguments: tuple[str, ...], words: str) -> None:
    folder, _ = audited
    ended = promptaudit(folder, "annotate", *arguments)
    assert ended.code == 2
    assert words in ended.one_line()
    assert len(ended.err.strip().splitlines()) == 1
    assert not (folder / "new.csv").exists()


@pytest.mark.soak  # that the newest ruling counts is a unit test of fct_verdicts too
def test_a_person_may_rule_again(audited: tuple[Path, Ended]) -> None:
    folder, _ = audited
    counted = (
        "select agreement_rate_distinct as agreement_rate, n_rated_distinct as n_rated from marts.fct_judge_agreement "
        "where raters = 'person:ann | person:bob'"
    )
    assert sql(folder, counted) == [{"agreement_rate": 0.75, "n_rated": RULED_BY_BOB}]
    rows = [{**ruled(row, "bob", is_right(row)), "reason": row["answer"]} for row in sheet_of(folder)]
    ended = promptaudit(folder, "annotate", "--take", write(folder / "again.csv", rows[:RULED_BY_BOB]))
    assert ended.code == 0, ended.err
    assert sql(folder, counted) == [{"agreement_rate": 1.0, "n_rated": RULED_BY_BOB}]
    given = "rater = 'person:bob' and reason is not null"  # the first time he gave none
    reasons = sql(folder, f"select distinct reason from marts.fct_verdicts where {given}")
    assert {row["reason"] for row in reasons} == {row["answer"] for row in rows[:RULED_BY_BOB]}
