"""What a sample and a cell are does not depend on how a file says it: spellings, lists, places, names, repetitions, tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptaudit.exchange.recorded_runs.import_run import ImportOptions, ImportResult, import_predictions
from promptaudit.registry.errors import DataError
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.inspect_logs import inspect_log, inspect_sample

YES_NO = ["yes", "no"]


def rows_of(n: int = 12, **columns: Any) -> list[dict[str, Any]]:
    """Rows of one model, "yes" and "no" in turn; each column is a value of all rows or a function of their number."""
    rows = []
    for place in range(n):
        row: dict[str, Any] = {"model": "m", "sample_id": f"s{place}", "completion": YES_NO[place % 2]}
        row |= {name: value(place) if callable(value) else value for name, value in columns.items()}
        rows.append(row)
    return rows


def taken(folder: Path, *files: list[dict[str, Any]] | str, **options: Any) -> tuple[ImportResult, Warehouse]:
    paths = []
    for number, content in enumerate(files):
        is_text = isinstance(content, str)
        path = folder / f"f{number}.{'csv' if is_text else 'jsonl'}"
        path.write_text(content if is_text else "".join(json.dumps(row) + "\n" for row in content))
        paths.append(path)
    warehouse = Warehouse(folder / "audit.duckdb")
    warehouse.apply_schema()
    return import_predictions(warehouse, paths, load_registry([]), ImportOptions(**options)), warehouse


def column(warehouse: Warehouse, query: str) -> list[Any]:
    return [next(iter(row.values())) for row in warehouse.read(query)]


LABELS = "select label from raw.task_labels order by label_index"
GOLDS = "select gold_label from raw.samples order by sample_index"


# ---------------------------------------------------------------- gold labels
@pytest.mark.parametrize(
    ("spell", "labels"),
    [
        (lambda n: [["Yes", "No"], ["yes", "no"]][n > 5][n % 2], ["Yes", "No"]),
        (lambda n: ["yes" + "." * (n > 5), "no"][n % 2], ["yes", "no"]),
        (lambda n: [["TRUE", "FALSE"], ["true", "false"]][n > 5][n % 2], ["TRUE", "FALSE"]),
        (lambda n: [["1", "0"], ["1.0", "0.0"]][n > 5][n % 2], ["0", "1"]),
        (lambda n: [[["yes"], "no"], ["yes", ["no"]]][n > 5][n % 2], ["yes", "no"]),
        (lambda n: {"yes": 3 - 2 * (n % 2), "no": 2}, ["yes", "no"]),
        (lambda n: [["yes", "no"], ["“yes”", "**no**"]][n > 5][n % 2], ["yes", "no"]),
    ],
)
def test_gold_labels_in_two_spellings_are_one(tmp_path: Path, spell: Any, labels: list[str]) -> None:
    result, warehouse = taken(tmp_path, rows_of(gold_label=spell))
    assert column(warehouse, LABELS) == labels
    golds = column(warehouse, GOLDS)
    assert set(golds) == set(labels)
    assert len({golds[0], *golds[::2]}) == 1
    if "yes." in str(rows_of(gold_label=spell)):
        assert any("'yes.' is 'yes'" in note or "'yes' is 'yes.'" in note for note in result.notes)


def test_labels_that_are_given_are_found_in_another_spelling(tmp_path: Path) -> None:
    _, warehouse = taken(tmp_path, rows_of(gold_label=lambda n: ["YES.", " No"][n % 2]), labels=("yes", "no"))
    assert column(warehouse, GOLDS) == YES_NO * 6
    with pytest.raises(DataError, match="gold label 'maybe' is not one of the labels"):
        taken(tmp_path, rows_of(gold_label="maybe"), labels=("yes", "no"))


def test_several_right_labels_are_no_label_and_said_so(tmp_path: Path) -> None:
    result, warehouse = taken(tmp_path, rows_of(gold_label=lambda n: ["yes"] if n % 2 else ["yes", "maybe"]))
    assert column(warehouse, LABELS) == ["yes", "maybe"]
    assert column(warehouse, GOLDS) == [None, "yes"] * 6
    assert any(note.startswith("6 samples have several right labels") for note in result.notes)


LETTERS = ["A", "B", "C", "D"]
CHOICES = ["w", "x", "y", "z"]


@pytest.mark.parametrize(
    ("gold", "choices"),
    [
        (lambda n: n % 4, CHOICES),
        (lambda n: n % 4 + 1, CHOICES),
        (lambda n: CHOICES[n % 4], CHOICES),
        (lambda n: LETTERS[n % 4].lower(), CHOICES),
        (lambda n: LETTERS[n % 4], "['w', 'x', 'y', 'z']"),
        (lambda n: n % 4, "('w', 'x', \"y's\", 'z')"),
    ],
)
def test_the_place_or_the_text_of_a_choice_is_its_letter(tmp_path: Path, gold: Any, choices: Any) -> None:
    rows = rows_of(gold_label=gold, choices=choices, completion=lambda n: LETTERS[n % 4])
    _, warehouse = taken(tmp_path, rows)
    assert column(warehouse, "select kind from raw.tasks") == ["multiple_choice"]
    assert column(warehouse, GOLDS) == LETTERS * 3


SAID = (
    lambda n: YES_NO[n % 2],
    lambda n: f"I would classify this as:\n**{YES_NO[n % 2]}**",
    lambda _: "A man is there.",
)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("choices", [lambda _: YES_NO, lambda n: YES_NO[:: 1 - 2 * (n % 2)]])
def test_choices_that_are_the_labels_stay_labels(tmp_path: Path, said: Any, choices: Any) -> None:
    rows = [
        {**row, "task": f"t{row['sample_id'][-1] in '02468'}"}
        for row in rows_of(gold_label=lambda n: YES_NO[n // 2 % 2], completion=said)
    ]
    for n, row in enumerate(rows):
        row["choices"] = choices(n // 2)
    _, warehouse = taken(tmp_path, [row for row in rows if row["task"] == "tTrue"])
    assert column(warehouse, LABELS) == YES_NO


def test_answers_in_the_words_of_a_choice_stay_texts(tmp_path: Path) -> None:
    rows = rows_of(gold_label="Paris", choices=lambda n: ["Paris", f"Rome {n}"], completion="Paris")
    _, warehouse = taken(tmp_path, rows)
    assert column(warehouse, "select kind from raw.tasks") == ["open_ended"]


def test_places_that_may_be_counted_from_0_or_1_are_refused(tmp_path: Path) -> None:
    rows = rows_of(gold_label=lambda n: 1 + n % 2, choices=CHOICES, completion=lambda n: LETTERS[n % 2])
    with pytest.raises(DataError, match="none is 0 and none the last"):
        taken(tmp_path, rows)


@pytest.mark.parametrize(
    ("gold", "said", "kept"),
    [
        ({"age": 3, "count": 2}, '```json\n{"age": 3}\n```', '{"age":"3","count":"2"}'),
        ([1, 2, 3], "The answer is [1, 2, 3]", '["1","2","3"]'),
        ({"toxic": True, "spam": False}, "toxic", '{"toxic":true,"spam":false}'),
        ([], "[]", "[]"),
        ({"a": float("inf")}, "a", None),
        (["\ud800"], "b", None),
    ],
)
def test_what_is_an_object_or_a_list_itself_stays_one(tmp_path: Path, gold: Any, said: str, kept: str | None) -> None:
    _, warehouse = taken(tmp_path, rows_of(gold_label=gold, completion=said))
    (listed,) = set(column(warehouse, "select reference_answers from raw.samples"))
    assert kept is None or json.loads(listed)[0].replace(" ", "") == kept


@pytest.mark.parametrize("labels", [["mW", "MW", "kW"], ["A*", "A", "B"], ["AA", "Aa", "aa"]])
def test_labels_that_answers_tell_apart_stay_apart(tmp_path: Path, labels: list[str]) -> None:
    _, warehouse = taken(tmp_path, rows_of(gold_label=lambda n: labels[n % 3], completion=lambda n: labels[n % 3]))
    assert column(warehouse, LABELS) == labels


def test_texts_that_differ_in_line_ends_and_forms_are_one(tmp_path: Path) -> None:
    files = rows_of(2, input="se\u00f1or\r\nhere"), rows_of(2, input="sen\u0303or\nhere", variant_index=1)
    result, _ = taken(tmp_path, *files, labels=("yes", "no"))
    assert result.n_landed == 4


def test_choices_that_are_no_list_are_told(tmp_path: Path) -> None:
    for place, choices in enumerate(("['w' 'x']", "w, x", "[" * 5000, "['w', __import__('os')]")):
        folder = tmp_path / str(place)
        folder.mkdir()
        result, _ = taken(folder, rows_of(gold_label=lambda n: YES_NO[n % 2], choices=choices))
        assert any("column 'choices'" in note and "is no list" in note for note in result.notes)


# ---------------------------------------------------------------- one sample, one text
@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ({"gold_label": "yes"}, {"gold_label": "no"}, r"gold labels \['yes', 'no'\]"),
        (
            {"input": "a"},
            {"input": "b"},
            r"f1\.jsonl row 1: input: sample 's0' has another one than in .*f0\.jsonl row 1",
        ),
        ({"references": ["a"]}, {"references": ["b"]}, "references: sample 's0'"),
        ({"choices": ["a", "b"]}, {"choices": ["a", "c"]}, "choices: sample 's0'"),
    ],
)
@pytest.mark.parametrize("apart", [{}, {"variant_index": 1}, {"model": "m2"}])
def test_rows_of_a_sample_agree_in_everything_beside_the_answer(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], named: str, apart: dict[str, Any]
) -> None:
    files = rows_of(2, **one, variant_index=0), rows_of(2, **other, **{"variant_index": 0, **apart})
    with pytest.raises(DataError, match=named):
        taken(tmp_path, *files, labels=("yes", "no"))


# ---------------------------------------------------------------- cells
def test_a_repetition_of_some_samples_is_no_hole(tmp_path: Path) -> None:
    rows = rows_of(repetition=1) + rows_of(3, repetition=2)
    result, warehouse = taken(tmp_path, rows, labels=("yes", "no"))
    assert (result.n_landed, result.n_missing) == (15, 0)
    grid = warehouse.read("select repetition, sample_ids from raw.grid")
    assert [(row["repetition"], sorted(row["sample_ids"])) for row in grid] == [(2, ["s0", "s1", "s2"])]


def test_a_wording_that_lacks_samples_still_lacks_them(tmp_path: Path) -> None:
    rows = rows_of(variant_index=0) + rows_of(9, variant_index=1)
    result, _ = taken(tmp_path, rows, labels=("yes", "no"))
    assert result.n_missing == 3


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["p1", "p2"], [(0, "p1"), (1, "p2")]),
        (["direct", "Role play"], [(0, "direct"), (1, "Role play")]),
        (["2", "0", "cot"], [(0, None), (2, None), (3, "cot")]),
    ],
)
def test_wordings_with_names_are_numbered(tmp_path: Path, names: list[str], numbers: list[Any]) -> None:
    rows = [row for name in names for row in rows_of(variant_index=name)]
    result, warehouse = taken(tmp_path, rows, labels=("yes", "no"))
    found = warehouse.read("select variant_index, instruction from raw.prompt_variants order by all")
    assert [tuple(row.values()) for row in found] == numbers
    assert any(f"{numbers[-1][0]} is '{names[-1]}'" in note for note in result.notes)


def test_the_original_of_named_wordings_is_the_first(tmp_path: Path) -> None:
    named = (("para", "false"), ("base", "true"))
    rows = [row for name, is_original in named for row in rows_of(variant_index=name, is_original=is_original)]
    _, warehouse = taken(tmp_path, rows, labels=("yes", "no"))
    found = warehouse.read("select variant_index, instruction, is_original from raw.prompt_variants order by all")
    assert [tuple(row.values()) for row in found] == [(0, "base", True), (1, "para", False)]


def test_instructions_are_numbered_where_they_are_wordings(tmp_path: Path) -> None:
    rows = [row for text in ("Is it?", "Say whether.") for row in rows_of(instruction=text)]
    _, warehouse = taken(tmp_path, rows, labels=("yes", "no"))
    found = warehouse.read("select variant_index, instruction from raw.prompt_variants order by all")
    assert [tuple(row.values()) for row in found] == [(0, "Is it?"), (1, "Say whether.")]
    for n_each, n in ((1, 12), (3, 4)):  # each holds a part of the material
        rows = rows_of(instruction=lambda place, n_each=n_each: f"Passage {place // n_each}.")
        with pytest.raises(DataError, match=f"{n} instructions but no column 'variant_index'"):
            taken(tmp_path, rows, labels=("yes", "no"))


# ---------------------------------------------------------------- places and tables
@pytest.mark.parametrize("path", ["parts.0.text", "parts.-1.text", "parts.*.text"])
def test_what_a_model_thought_is_no_answer(tmp_path: Path, path: str) -> None:
    thoughts = [
        {"type": "thinking", "thinking": "hm"},
        {"text": "hm", "thought": True},
        {"type": "reasoning", "text": "hm"},
    ]

    def parts(n: int) -> list[dict[str, Any]]:
        return [*thoughts[n % 4 : n % 4 + 1], {"type": "text", "text": YES_NO[n % 2]}]

    wanted = f"model=model,sample_id=sample_id,completion={path}"
    _, warehouse = taken(tmp_path, rows_of(parts=parts), labels=("yes", "no"), mapping=wanted)
    assert (
        column(warehouse, "select completion from raw.predictions order by length(sample_id), sample_id") == YES_NO * 6
    )


def test_another_message_is_no_answer(tmp_path: Path) -> None:
    first, last = {"role": "system", "content": "Answer yes or no."}, {"role": "assistant", "content": "yes"}
    rows = rows_of(messages=lambda n: [first, last if n else {"role": "assistant", "refusal": "No."}])
    wanted = "model=model,sample_id=sample_id,completion=messages.{}.content"
    _, warehouse = taken(tmp_path, rows, labels=("yes", "no"), mapping=wanted.format(-1))
    assert set(column(warehouse, "select completion from raw.predictions")) == {"yes"}
    for place in (5, -5):
        with pytest.raises(DataError, match="no column"):
            taken(tmp_path, rows, labels=("yes", "no"), mapping=wanted.format(place))


ROWS = rows_of(gold_label=lambda n: YES_NO[n % 2])
TABLES: dict[str, Any] = {
    "split": {"columns": list(ROWS[0]), "index": list(range(12)), "data": [list(row.values()) for row in ROWS]},
    "columns": {name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]},
    "two lists": {"testCases": ROWS, "metricsScores": [{"metric": "Exact", "scores": [1]}]},
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_lists_are_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLES[name]))
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    result = import_predictions(warehouse, [path], load_registry([]), ImportOptions())
    assert result.n_landed == 12
    assert column(warehouse, GOLDS) == YES_NO * 6


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "Results of May,,\n,,\nmodel,sample_id,completion\nm,1,yes\n",
            "line 1 has columns without a name; where line 3 names them",
        ),
        ("# mine\nmodel,sample_id,completion\nm,1,yes\n", "line 1 is no header; where line 2 names them"),
        ("Run,,Said,\nmodel,sample_id,completion,gold_label\nm,1,yes,no\n", "where line 2 names them"),
        ("model,sample_id,completion\rm,1,yes\rm,2,no\r", "its lines end with CR alone"),
    ],
)
def test_a_table_as_people_save_it_is_named_as_what_it_is(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(DataError, match=named):
        taken(tmp_path, text)


def test_an_index_without_a_name_is_no_title(tmp_path: Path) -> None:
    result, _ = taken(tmp_path, ",model,sample_id,completion\n0,m,one,yes\n1,m,two,no\n", labels=("yes", "no"))
    assert result.n_landed == 2


@pytest.mark.parametrize(
    ("name", "hint"), [("a.xls", "save its sheet as .xlsx or .csv"), ("a.csv.bz2", "unpack it first")]
)
def test_other_files_are_told_what_to_do(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / name).write_text("x")
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    with pytest.raises(DataError, match=hint):
        import_predictions(warehouse, [tmp_path / name], load_registry([]), ImportOptions())


# ---------------------------------------------------------------- other programs
@pytest.mark.parametrize(
    "logs",
    [
        [["1"], list("12345678")],
        [list("12345678"), ["1"]],
        [["9"], list("12345678")],
        [["1"], ["2"], ["3"]],
        [["1", "2"], list("12345678")],
    ],
)
def test_a_log_of_one_sample_is_of_the_template_that_it_fits(tmp_path: Path, logs: list[list[str]]) -> None:
    paths = [
        inspect_log(tmp_path / f"{number}.json", [even(int(name)) for name in samples], task_id=f"t{number}")
        for number, samples in enumerate(logs)
    ]
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    result = import_predictions(warehouse, paths, load_registry([]), ImportOptions(labels=("yes", "no")))
    assert column(warehouse, "select instruction from raw.prompt_variants") == ["Is {…} even?"]
    assert (result.n_landed, result.n_missing) == (sum(map(len, logs)), 0)


def even(number: int) -> dict[str, Any]:
    return inspect_sample(number, "yes", f"Is {number} even?", target="yes")


def test_a_log_of_one_sample_under_another_prompt_is_another_template(tmp_path: Path) -> None:
    other = inspect_sample(1, "yes", "Is 1 even? Think first. Is it even?", target="yes")
    paths = [
        inspect_log(tmp_path / "0.json", [even(n) for n in range(8)], task_id="t0"),
        inspect_log(tmp_path / "1.json", [other], task_id="t1"),
    ]
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    import_predictions(warehouse, paths, load_registry([]), ImportOptions(labels=("yes", "no")))
    assert column(warehouse, "select count(*) from raw.prompt_variants") == [2]


@pytest.mark.parametrize("mixed", [[(0, 0), (1, 1)], [(0, 0), (0, 1), (1, 1), (1, 0)]])
def test_wordings_of_logs_of_one_sample_stay_apart(tmp_path: Path, mixed: list[tuple[int, int]]) -> None:
    start, ends = "Read the review and take your time. " * 5, ("Is it positive?", "Tell the sentiment.")
    paths = []
    for file in (0, 1):
        samples = [
            inspect_sample(file, "yes", f"{start}Review: x{file}\n{ends[wording]}", epoch=place, target="yes")
            for place, (at, wording) in enumerate(mixed)
            if at == file
        ]
        paths.append(inspect_log(tmp_path / f"{file}.json", samples, task_id=f"t{file}"))
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    import_predictions(warehouse, paths, load_registry([]), ImportOptions(labels=("yes", "no")))
    found = column(warehouse, "select instruction from raw.prompt_variants")
    assert [sum(end in text for end in ends) for text in found] == [1, 1]


def test_sentences_of_a_few_samples_are_no_labels(tmp_path: Path) -> None:
    targets = ("use bound parameters", "use bound parameters", "encode the output")
    said = ("Use bound ones.", "Bind them.", "Encode what is shown.")
    samples = [inspect_sample(n, said[n], f"How {n}?", target=target) for n, target in enumerate(targets)]
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    import_predictions(warehouse, [inspect_log(tmp_path / "log.json", samples)], load_registry([]), ImportOptions())
    assert column(warehouse, "select kind from raw.tasks") == ["open_ended"]


def test_prompts_of_promptfoo_in_2023_are_told_apart_by_what_the_file_calls_them(tmp_path: Path) -> None:
    templates = ["Was {{year}}er a leap year?", "Leap year, {{year}}er?"]
    results = [
        {
            "provider": {"id": "lab:m"},
            "prompt": {"raw": text.replace("{{year}}", str(1984 + n)), "display": text},
            "vars": {"year": str(1984 + n)},
            "response": {"output": "yes"},
            "success": True,
            "gradingResult": {"componentResults": [{"assertion": {"type": "equals", "value": "yes"}}]},
        }
        for n in range(6)
        for text in (templates if n % 2 else templates[::-1])
    ]
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"results": {"version": 2, "results": results}}))
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    import_predictions(warehouse, [path], load_registry([]), ImportOptions(labels=("yes", "no")))
    assert sorted(column(warehouse, "select instruction from raw.prompt_variants")) == sorted(templates)


def test_a_record_of_oaieval_is_read(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"spec": {"completion_fns": ["gpt-x"], "eval_name": "even.dev.v0", "base_eval": "even"}}
    ]
    for n in range(12):
        prompt = [{"role": "system", "content": "Answer."}, {"role": "user", "content": f"Is {n} even?"}]
        said, at = YES_NO[n % 3 > 0], {"run_id": "R", "sample_id": f"even.{n}"}
        events.append({**at, "type": "sampling", "data": {"prompt": prompt, "sampled": [said]}})
        events.append({**at, "type": "match", "data": {"correct": said == YES_NO[n % 2], "expected": YES_NO[n % 2]}})
    events.append({"final_report": {"accuracy": 0.75}})
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in events))
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    result = import_predictions(warehouse, [path], load_registry([]), ImportOptions())
    assert result.n_landed == 12
    assert column(warehouse, GOLDS) == YES_NO * 6
    (row,) = warehouse.read(
        "select model_id, count(*) filter (is_match) as n from raw.verdicts, raw.models group by all"
    )
    assert row == {"model_id": "gpt-x", "n": sum((n % 3 > 0) == n % 2 for n in range(12))}
