"""A file is recognised by its content, read by a map, or refused in one line that says what to give."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.exchange.recorded_runs import import_run
from promptaudit.exchange.recorded_runs.check_rows import typed
from promptaudit.exchange.recorded_runs.formats import format_of, source
from promptaudit.exchange.recorded_runs.formats.answers import Answer, PromptVariant, RecordedAnswers, letter_of
from promptaudit.exchange.recorded_runs.formats.inspect_logs import as_recorded
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.exchange.recorded_runs.map_columns import guessed_map, read_map
from promptaudit.exchange.recorded_runs.prompt_templates import template_of, variants_of_answers
from promptaudit.exchange.recorded_runs.prompt_variations import is_setting
from promptaudit.exchange.recorded_runs.read_files import DERIVED, OPTIONAL, REQUIRED, read_recordings
from promptaudit.exchange.recorded_runs.shared_text import GAP, joined
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.inspect_logs import inspect_log, inspect_sample
from tests.support.shell import promptaudit

FILES = Path(__file__).parent / "files"
NAMES = (*REQUIRED, *OPTIONAL)
RUNS = "select audit_run_id from raw.audit_runs"


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# ---------------------------------------------------------------- by content
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("inspect_ai/question_type_plain.eval", "a log of inspect_ai"),
        ("inspect_ai/facts.json", "a log of inspect_ai"),
        ("promptfoo/out.json", "results of promptfoo"),
        ("helm/simple_mcqa/scenario_state.json", "a scenario state of HELM"),
        ("every_eval_ever/question_type_polite_samples.jsonl", "rows of every_eval_ever"),
    ],
)
def test_a_format_is_recognised_whatever_the_file_is_called(tmp_path: Path, file: str, name: str) -> None:
    form = format_of(Path(shutil.copy(FILES / file, tmp_path / "answers")))
    assert form is not None
    assert form.name == name


@pytest.mark.parametrize("text", ["", "model,sample_id,completion\nm,1,a\n", "{}", "[]", '{"a": 1}\n', "\x00\x01"])
def test_any_other_content_is_of_no_format(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    assert format_of(tmp_path / "x") is None


def test_samples_of_lm_eval_need_a_model(tmp_path: Path) -> None:
    (samples,) = FILES.glob("lm_eval/samples_facts_*.jsonl")
    alone = Path(shutil.copy(samples, tmp_path / "samples_facts_2026-11-25T17-24-10.970454.jsonl"))
    with pytest.raises(
        DataError, match=r"name no model, and results_2026.*\.json, which does, is not beside it; --model NAME"
    ):
        read_recordings([alone])
    frame = read_recordings([alone], model="mock-7b").frame
    assert frame["model"].unique().to_list() == ["mock-7b"]
    assert frame["completion"].to_list() == ["D", "C", "C", "B", "A"]  # the letters of the largest log-likelihoods


def test_a_second_file_of_a_program_that_names_no_answer_repeats_each(tmp_path: Path) -> None:
    (samples,) = FILES.glob("lm_eval/samples_facts_*.jsonl")
    frame = read_recordings([samples, Path(shutil.copy(samples, tmp_path / samples.name))], model="m").frame
    assert sorted(frame["repetition"]) == ["1"] * 5 + ["2"] * 5
    assert set(frame["variant_index"]) == {"0"}


# ---------------------------------------------------------------- variants
def eee(sample: int, prompt: str, said: str) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "model_id": "m",
        "evaluation_name": "t",
        "sample_id": str(sample),
        "interaction_type": "single_turn",
        "input": {"raw": prompt, "reference": ["yes"]},
        "output": {"raw": [said]},
        "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
    }


def test_two_templates_of_one_file_are_told_apart_where_samples_have_both(tmp_path: Path) -> None:
    texts = ("red wine", "blue sky", "a bus")
    rows = [eee(n, f"Is it so: {text}? Say yes.", "yes") for n, text in enumerate(texts)]
    rows += [eee(n, f"{text}: true? One word.", "no") for n, text in enumerate(texts)]
    read = read_recordings([write(tmp_path / "rows.jsonl", *rows)])
    variants = read.frame.select("variant_index", "instruction").unique(maintain_order=True).rows()
    assert variants == [("0", "Is it so: {…}? Say yes."), ("1", "{…}: true? One word.")]
    assert any("has 2 prompt variants; variant 0 is the first" in note for note in read.notes)


# ---------------------------------------------------------------- by a map
NESTED = [
    {"id": 7, "meta": {"engine": "gpt-x"}, "response": {"choices": [{"text": "yes"}]}, "answer": "yes"},
    {"id": 8, "meta": {"engine": "gpt-x"}, "response": {"choices": [{"text": "no"}]}, "answer": "yes"},
]


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet", "inside"])
def test_a_map_names_columns_places_inside_them_and_constants(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"answers.{'json' if form == 'inside' else form}"
    if form == "jsonl":
        write(path, *NESTED)
    elif form == "parquet":
        pl.DataFrame(NESTED).write_parquet(path)
    else:
        path.write_text(json.dumps(NESTED if form == "json" else {"version": 1, "rows": NESTED}))
    mapping = "model=meta.engine,sample_id=id,completion=response.choices.0.text,gold_label=answer,task='t, u'"
    frame = read_recordings([path], mapping=mapping).frame
    assert frame.select("model", "sample_id", "completion", "gold_label", "task").rows() == [
        ("gpt-x", "7", "yes", "yes", "t, u"),
        ("gpt-x", "8", "no", "yes", "t, u"),
    ]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("modl=a", "--map modl=; nearest: model"),
        ("model", "--map 'model': NAME=COLUMN or NAME='CONSTANT' is wanted"),
        ("model=a,sample_id=id,model=b", "--map model: it is named twice, by 'a' and 'model=b'"),
        ("model=", "--map 'model=': NAME=COLUMN or NAME='CONSTANT' is wanted"),
        ("model='x", "--map .*: no column"),
    ],
)
def test_a_map_of_another_form_is_refused(tmp_path: Path, mapping: str, message: str) -> None:
    with pytest.raises((UsageError, DataError), match=message):
        read_recordings([write(tmp_path / "a.jsonl", *NESTED)], mapping=mapping)


def test_a_map_to_no_column_names_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *NESTED)
    with pytest.raises(
        DataError, match=r"no column 'meta\.engin'; nearest: meta\.engine; its columns: id, meta\.engine, "
    ):
        read_recordings([path], mapping="model=meta.engin,sample_id=id,completion=answer")


def test_a_file_without_a_map_is_told_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("id,question,output,expected\n1,Is it?,yes,yes\n")
    ended = promptaudit(tmp_path, "import", "log.csv")
    assert ended.code == 2
    assert ended.one_line() == (
        "DataError: log.csv: no column 'model'; its columns: id, question, output, expected; perhaps "
        "--model NAME --map sample_id=id,completion=output,gold_label=expected,input=question"
    )
    guess = guessed_map(["id", "question", "output", "expected"], REQUIRED)
    read = read_recordings([path], model="m", mapping=guess.removeprefix("--model NAME --map "))
    assert read.frame.select("model", "sample_id", "completion").rows() == [("m", "1", "yes")]


def test_a_constant_may_hold_what_separates_parts() -> None:
    assert read_map("model='a,b=c', sample_id=x.y", NAMES) == {"model": ("a,b=c", True), "sample_id": ("x.y", False)}


def test_model_names_the_model_of_a_file_without_one_and_of_one_with_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sample_id,completion\n1,a\n")
    assert read_recordings([path], model="m").frame["model"].to_list() == ["m"]
    path.write_text("model,sample_id,completion\na,1,a\nb,1,a\n")
    with pytest.raises(UsageError, match=r"--model m: .*a\.csv has answers of 2 models already: a, b"):
        read_recordings([path], model="m")


# ---------------------------------------------------------------- what is broken
def log(
    path: Path, *, member: bytes = b"", name: str = "samples/x_epoch_1.json", method: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m", "task": "t"}}))
        archive.writestr(name, member)
    return path


def test_a_log_is_not_unpacked_to_disk_and_a_path_is_no_sample(tmp_path: Path) -> None:
    path = log(tmp_path / "log.eval", member=b"{}", name="../../samples/x_epoch_1.json")
    assert as_recorded(path).answers == []
    assert list(tmp_path.iterdir()) == [path]


def test_a_member_larger_than_the_limit_is_refused_while_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_MEMBER", 1_000_000)
    path = log(tmp_path / "bomb.eval", member=b" " * 50_000_000)
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match=r"bomb\.eval samples/x_epoch_1\.json: more than 1,000,000 bytes when unpacked"):
        as_recorded(path)


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (b"{", r"log\.eval samples/x_epoch_1\.json: not JSON"),
        (b"[" * 100_000, r"log\.eval samples/x_epoch_1\.json: (JSON nested too deep to be read|not JSON)"),
        (b"[]", r"log\.eval samples/x_epoch_1\.json: an object is wanted, found list"),
        (
            b'{"id": 1, "message_refs": 3}',
            r"log\.eval samples/x_epoch_1\.json: input: a value is wanted, found nothing",
        ),
        (b"{}", r"log\.eval samples/x_epoch_1\.json: id: a value is wanted, found nothing"),
        (b'{"id": 1, "input": "a", "output": []}', r"log\.eval: no answers|not a sample of inspect_ai"),
        (
            b'{"id": 1, "input": "a", "output": {"choices": [3]}}',
            r"samples/x_epoch_1\.json: not a sample of inspect_ai",
        ),
    ],
)
def test_a_broken_sample_of_a_log_is_named(tmp_path: Path, member: bytes, message: str) -> None:
    if member.endswith(b'"output": []}'):
        assert as_recorded(log(tmp_path / "log.eval", member=member)).answers[0].completion is None
        return
    with pytest.raises(DataError, match=message):
        as_recorded(log(tmp_path / "log.eval", member=member))


def test_a_damaged_zip_is_one_line(tmp_path: Path) -> None:
    path = log(tmp_path / "log.eval", member=b'{"id": 1}')
    content = bytearray(path.read_bytes())
    place = content.rindex(b"samples/x_epoch_1.json", 0, content.index(b"PK\x01\x02")) + len("samples/x_epoch_1.json")
    content[place : place + 4] = struct.pack("<I", 0xFFFFFFFF)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"log\.eval samples/x_epoch_1\.json: (cannot be unpacked|its bytes are not)"):
        as_recorded(path)
    path.write_bytes(content[:60])
    with pytest.raises(DataError, match=r"log\.eval: not a readable zip"):
        read_recordings([path])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "samples_t_2026-01-01T00-00-00.jsonl",
            '{"doc_id": 1, "doc": {}, "arguments": [], "resps": []}\n',
            r"row 1: not a sample of lm-evaluation-harness: IndexError",
        ),
        (
            "out.json",
            '{"evalId": "e", "results": {"results": [3]}}',
            r"out\.json row 1: not a result of promptfoo: TypeError",
        ),
        (
            "out.json",
            '{"evalId": "e", "results": []}',
            r"no list results\.results, so it is not what `promptfoo eval -o` writes",
        ),
        (
            "scenario_state.json",
            '{"adapter_spec": {"method": "generation"}, "request_states": [{}]}',
            r"row 1: not a request state of HELM: KeyError 'instance'",
        ),
        (
            "rows.jsonl",
            json.dumps(
                dict.fromkeys(("evaluation_id", "model", "prompt_config", "instance", "output", "evaluation"), "x")
            ),
            r"rows\.jsonl row 1: not a row of DOVE: AttributeError",
        ),
        (
            "rows.jsonl",
            json.dumps({**eee(1, "p", "s"), "input": 3}),
            r"rows\.jsonl row 1: not a row of every_eval_ever",
        ),
        ("rows.jsonl", json.dumps(eee(1, "p", "s")) + "\n{oops\n", r"rows\.jsonl row 2: not JSON"),
        ("rows.json", "3", r"rows\.json"),
    ],
)
def test_a_malformed_file_is_one_line_that_names_file_and_row(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_recordings([tmp_path / name], model="m")


def test_a_letter_is_found_by_letter_or_text() -> None:
    assert letter_of("b", ["x", "y"]) == "B"
    assert letter_of("y", ["x", "y"]) == "B"
    assert letter_of("z", ["x", "y"]) is None
    assert letter_of("x", ["x", "x"]) is None


def test_a_file_larger_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_FILE", 100)
    with pytest.raises(DataError, match=r"rows\.jsonl: \d+ bytes, at most 100 are read; split it"):
        read_recordings([write(tmp_path / "rows.jsonl", eee(1, "p", "s"))])


# ---------------------------------------------------------------- what else the formats hold
def test_a_log_in_chunks_says_the_same() -> None:
    whole, in_chunks = (
        read_recordings([FILES / f"inspect_ai/{name}.eval"]).frame.drop("file", "place")
        for name in ("question_type_plain", "question_type_plain_in_chunks")
    )
    assert in_chunks.sort("sample_id").equals(whole.sort("sample_id"))


def helm(path: Path, change: Any) -> Path:
    """The scenario state that HELM wrote, changed."""
    document = json.loads((FILES / "helm/simple_mcqa/scenario_state.json").read_text())
    change(document)
    path.mkdir()
    (path / "scenario_state.json").write_text(json.dumps(document))
    return path / "scenario_state.json"


def test_a_perturbation_of_helm_is_a_variant_of_the_same_samples(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        again = json.loads(json.dumps(document["request_states"]))
        for state in again:
            state["instance"]["perturbation"] = {"name": "typos", "prob": 0.1}
            state["instance"]["input"]["text"] = state["instance"]["input"]["text"].upper()
        document["request_states"] += again

    frame = read_recordings([helm(tmp_path / "run", change)]).frame
    variants = frame.select("variant_index", "instruction").unique(maintain_order=True)["instruction"].to_list()
    assert len(variants) == 2
    assert variants[1].endswith('\n(perturbation {"name": "typos", "prob": 0.1})')
    assert frame.group_by("variant_index").agg(pl.col("sample_id").n_unique())["sample_id"].to_list() == [6, 6]
    assert set(frame["repetition"]) == {"1"}


def test_an_option_asked_alone_in_helm_is_chosen_where_it_is_the_likeliest(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["adapter_spec"]["method"] = "multiple_choice_separate_original"
        (first, *_) = document["request_states"]
        document["request_states"] = []
        for index, logprob in enumerate((-3.5, -1.25)):
            state = json.loads(json.dumps({**first, "reference_index": index}))
            state.pop("output_mapping")
            state["result"]["completions"][0]["logprob"] = logprob
            document["request_states"].append(state)

    frame = read_recordings([helm(tmp_path / "run", change)]).frame
    assert frame.select("completion", "choices").rows() == [("B", '["Even", "Odd"]')]
    assert [each["nats"] for each in json.loads(frame["option_loglikelihoods"][0])] == [-3.5, -1.25]


def test_another_order_of_options_in_dove_is_mapped_back_and_other_options_are_a_task_of_their_own(
    tmp_path: Path,
) -> None:
    def row(order: str, choices: list[str]) -> dict[str, Any]:
        options = [{"id": sign, "text": text} for sign, text in zip("AB", choices, strict=True)]
        return {
            "evaluation_id": order,
            "model": {"model_info": {"name": "m"}},
            "prompt_config": {
                "dimensions": {"instruction_phrasing": {"text": "Choose."}, "choices_order": {"method": order}}
            },
            "instance": {
                "raw_input": "Q",
                "sample_identifier": {"dataset_name": "facts", "hf_index": 1},
                "classification_fields": {
                    "question": "Q",
                    "choices": options,
                    "ground_truth": {"id": "x", "text": "Paris"},
                },
            },
            "output": {"response": "A"},
            "evaluation": {"score": 1.0},
        }

    path = write(
        tmp_path / "d.jsonl",
        row("none", ["Paris", "Rome"]),
        row("reverse_alphabetical", ["Rome", "Paris"]),
        row("other", ["Oslo", "Paris"]),
    )
    read = read_recordings([path])
    assert read.frame.select("task", "gold_label", "choices", "option_order").rows() == [
        ("facts", "A", '["Paris", "Rome"]', None),
        ("facts", "A", '["Paris", "Rome"]', "[1, 0]"),  # its A was the second of the first row
        ("facts (options: other)", "B", '["Oslo", "Paris"]', None),
    ]
    assert any("1 rows have other options than the first of their sample" in note for note in read.notes)


# ---------------------------------------------------------------- in what prompts differ
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"option_order": "[0, 0]"},
            r"row 1: option_order: the options' places in the data are wanted, from 0, each once, found '\[0, 0\]'",
        ),
        ({"option_order": "[2, 1, 0]"}, r"row 1: option_order: the options' places in the data are wanted"),
        (
            {"variation": "option_orders"},
            r"variant 0 of task 'q': variation: 'option_orders' is none; nearest: option_order",
        ),
        ({"setting": r'{"format": "\ud800"}'}, r"variant 0 of task 'q': setting: .* is none"),
        ({"setting": '{"mood": 1}'}, r"variant 0 of task 'q': setting: .* is none; a JSON object by kind is wanted"),
        *(
            (
                {"option_loglikelihoods": text},
                r"row 1: option_loglikelihoods: a JSON list is wanted with an object an option",
            )
            for text in (
                "{oops",
                "[]",
                '[{"nats": -1}]',
                '[{"nats": "low", "n_characters": 1}]',
                "[1, 2]",
                '[{"nats": -1, "n_characters": 1}]',
                '[{"nats": -1}, {"nats": -2}]',
                '[{"n_characters": 1}, {"n_characters": 1}]',
                '[{"nats": Infinity, "n_characters": 1}, {"nats": -1, "n_characters": 1}]',
                '[{"nats": true, "n_characters": 1}, {"nats": -1, "n_characters": 1}]',
                '[{"nats": -1, "n_characters": 1.5}, {"nats": -1, "n_characters": 1}]',
            )
        ),
        (
            {
                "option_loglikelihoods": '[{"nats": -1, "n_characters": 1}, {"nats": null, "n_characters": 1}]',
                "scoring": ["option_letter", "option_loglikelihood_per_token"],
                "kind": "multiple_choice",
                "labels": ["A", "B"],
            },
            r"nats \(0 or less\), n_characters, n_tokens; found '\[\{\"nats\": -1",
        ),
    ],
)
def test_what_no_prompt_can_differ_in_is_refused(tmp_path: Path, columns: dict[str, str], message: str) -> None:
    row = {"model": "m", "task": "q", "sample_id": "1", "completion": "A", "choices": ["x", "y"], "gold_label": "B"}
    row |= dict.fromkeys(DERIVED, "")  # as an export has them, whose columns are believed
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    with pytest.raises(DataError, match=message):
        import_predictions(
            warehouse, [write(tmp_path / "a.jsonl", {**row, **columns})], load_registry(), ImportOptions()
        )


def test_an_order_of_options_is_landed_beside_the_variants_kind(tmp_path: Path) -> None:
    row = {"model": "m", "task": "q", "sample_id": "1", "completion": "A", "choices": ["x", "y"], "gold_label": "B"}
    varied = {"variation": "option_order", "setting": '{"option_order": "reversed"}', "option_order": [1, 0]}
    path = write(tmp_path / "a.jsonl", {**row, "variant_index": 0}, {**row, "variant_index": 1, **varied})
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    import_predictions(warehouse, [path], load_registry(), ImportOptions())
    assert warehouse.read("select sample_id, option_order from raw.option_orders") == [
        {"sample_id": "1", "option_order": [1, 0]}
    ]
    assert warehouse.read("select variation, setting from raw.prompt_variants order by variant_index") == [
        {"variation": None, "setting": None},
        {name: varied[name] for name in ("variation", "setting")},
    ]


def test_settings_of_a_runs_variants_are_settings() -> None:
    for text in ("{}", '{"template": 1}', '{"wording": 2, "format": {"casing": "upper"}}', '{"system": null}'):
        assert is_setting(text)
    for text in ("", "[]", "1", '{"mood": 1}', "[" * 100_000):
        assert not is_setting(text)


def test_variants_that_differ_in_their_setting_alone_are_others_in_every_run(tmp_path: Path) -> None:
    row = {"model": "m", "task": "q", "sample_id": "1", "completion": "A", "choices": ["x", "y"], "gold_label": "B"}
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    for name in ("reversed", "seeded 1", "reversed"):
        varied = {"variation": "option_order", "setting": json.dumps({"option_order": name}), "variant_index": 1}
        path = write(tmp_path / "a.jsonl", {**row, "variant_index": 0, "completion": name}, {**row, **varied})
        import_predictions(
            warehouse, [path], load_registry(), ImportOptions(audit=name, seed=len(warehouse.read(RUNS)))
        )
    query = "select count(distinct prompt_variant_id) as n from raw.prompt_variants where variant_index = "
    assert [warehouse.read(f"{query}{index}")[0]["n"] for index in (0, 1)] == [1, 2]
    assert len(warehouse.read(RUNS)) == 3


# ---------------------------------------------------------------- files whose names clash
def promptfoo(path: Path, *questions: str, **changes: Any) -> Path:
    """What promptfoo wrote, with one result a question, the provider's columns and the file's config as given."""
    document = json.loads((FILES / "promptfoo/out.json").read_text())
    first = document["results"]["results"][0]
    columns = changes.pop("columns", (0,))
    document["results"]["results"] = [
        {**first, "testIdx": n, "promptIdx": column, "vars": {"question": question}}
        for n, question in enumerate(questions)
        for column in columns
    ]
    path.write_text(json.dumps({**document, **changes}))
    return path


def test_other_questions_of_a_second_file_are_other_samples_and_equal_ones_the_same(tmp_path: Path) -> None:
    first = promptfoo(tmp_path / "a.json", "a", "b", config={"description": "t"})
    second = promptfoo(tmp_path / "b.json", "c", "a", config={"description": "t"})
    read = read_recordings([first, second])
    ids = read.frame["sample_id"].to_list()
    assert (ids[0], ids[1], ids[3]) == ("0", "1", "0")  # the second file's "a" is the first's
    assert ids[2].startswith("0~")
    assert any(f"{second}: 1 samples have ids that other samples of {first} have" in note for note in read.notes)
    assert read.frame["repetition"].to_list() == ["1", "1", "1", "2"]
    assert any(f"{second}: 1 answers are to prompts and samples that an earlier file" in note for note in read.notes)


def test_documents_of_lm_eval_that_differ_are_other_samples(tmp_path: Path) -> None:
    rows = [lm_eval(doc={"question": question}) for question in ("a", "b")]
    files = [write(tmp_path / f"{row['doc']['question']}.jsonl", row) for row in rows]
    ids = read_recordings(files, model="m", task="t").frame["sample_id"].to_list()
    assert ids[0] == "1"
    assert ids[1].startswith("1~")


def test_a_provider_named_twice_is_two_models(tmp_path: Path) -> None:
    read = read_recordings([promptfoo(tmp_path / "a.json", "a", "b", columns=(0, 1))])
    assert read.frame["model"].to_list() == ["mock-7b", "mock-7b (provider 2)"] * 2
    assert set(read.frame["repetition"]) == {"1"}
    assert any("model 'mock-7b' answered at 2 settings" in note for note in read.notes)


def test_a_config_of_promptfoo_that_is_no_object_names_no_task(tmp_path: Path) -> None:
    assert read_recordings([promptfoo(tmp_path / "a.json", "q", config=[1])]).frame["task"].to_list() == ["a"]


def test_rows_of_dove_are_told_apart_by_split_and_quantization(tmp_path: Path) -> None:
    def row(split: str, bits: str) -> dict[str, Any]:
        return {
            "evaluation_id": "e",
            "model": {"model_info": {"name": "m"}, "inference_settings": {"quantization": {"bit_precision": bits}}},
            "prompt_config": {"dimensions": {}},
            "instance": {
                "raw_input": "Q",
                "sample_identifier": {"dataset_name": "d", "hf_index": 1, "hf_split": split},
            },
            "output": {"response": "A"},
            "evaluation": {"score": 1.0, "ground_truth": "A"},
        }

    rows = [row("test", "4bit"), row("test", "8bit"), row("train", "8bit")]
    frame = read_recordings([write(tmp_path / "d.jsonl", *rows)]).frame
    assert frame["model"].to_list() == ["m (4bit)", "m (8bit)", "m (8bit)"]
    assert frame["sample_id"].n_unique() == 2
    assert set(frame["repetition"]) == {"1"}


# ---------------------------------------------------------------- what is right, as programs write it
def lm_eval(**changes: Any) -> dict[str, Any]:
    row = {
        "doc_id": 1,
        "doc": {"question": "Q"},
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {}}},
        "resps": [["a"]],
    }
    return {**row, "target": "a", "filter": "none", **changes}


def weighed(target: str, acc: float, *options: str, **changes: Any) -> dict[str, Any]:
    """A question whose first option is the likeliest."""
    asked = {f"gen_args_{n}": {"arg_0": "Q", "arg_1": f" {option}"} for n, option in enumerate(options)}
    given = [[[str(-float(n)), "False"]] for n in range(len(options))]
    return lm_eval(arguments=asked, resps=given, target=target, acc=acc, **changes)


@pytest.mark.parametrize(
    ("row", "golds", "references"),
    [
        (lm_eval(target="['Paris', 'paris']"), None, '["Paris", "paris"]'),
        (lm_eval(target="[1, 2]"), "[1, 2]", '["[1, 2]"]'),  # the answer to a question may be written so
        (lm_eval(target="['Paris'"), "['Paris'", """["['Paris'"]"""),
        (weighed("[1]", 0.0, "x", "y"), "B", None),
        (weighed("[0, 2]", 1.0, "x", "y", "z"), None, None),
        (weighed("y", 0.0, "x", "y"), "B", None),
        (weighed("1", 1.0, "1", "2"), "A", None),  # right there, and the likeliest is the text 1
        (weighed("1", 0.0, "1", "2"), "B", None),
        (weighed("1", 0.0, "3", "2", "1"), None, None),
        (weighed("a", 0.0, "x", "y", "a"), "C", None),
    ],
)
def test_targets_of_lm_eval_may_be_lists_places_and_texts(
    tmp_path: Path, row: dict[str, Any], golds: str | None, references: str | None
) -> None:
    read = read_recordings([write(tmp_path / "s.jsonl", row)], model="m")
    assert read.frame.select("gold_label", "references").rows() == [(golds, references)]
    is_unsure = golds is None and references is None
    assert any("1 questions have no gold label" in note for note in read.notes) == is_unsure


def scores(*rows: dict[str, Any], path: Path) -> list[str | None]:
    return read_recordings([write(path, *rows)], model="m").frame["program_score"].to_list()


@pytest.mark.parametrize(
    ("filtered", "scored"),
    [
        (["a"], ["1.0", None, None]),  # take_first
        (["b"], [None, "1.0", None]),  # a majority: what it let through is scored, once
        (["A"], [None, None, None]),  # a part or another form of an answer is none of them
        ([["a", "b"]], [None, None, None]),
        (None, [None, None, None]),
    ],
)
def test_of_several_repeats_the_one_that_was_scored_has_the_score(
    tmp_path: Path, filtered: object, scored: list[str | None]
) -> None:
    row = lm_eval(resps=[["a", "b", "b"]], filtered_resps=filtered, exact_match=1.0)
    read = read_recordings([write(tmp_path / "s.jsonl", row)], model="m")
    assert read.frame["program_score"].to_list() == scored
    assert any("1 samples have several answers and one score" in note for note in read.notes) == (not any(scored))


def test_an_answer_alone_has_the_score_of_what_was_filtered_from_it(tmp_path: Path) -> None:
    row = lm_eval(resps=[["It is a."]], filtered_resps=["a"], exact_match=1.0)
    assert scores(row, path=tmp_path / "s.jsonl") == ["1.0"]


def test_rows_of_a_second_filter_repeat_answers_where_no_filter_is_named_too(tmp_path: Path) -> None:
    row = lm_eval(resps=[["a", "b"]], filtered_resps=["a"], exact_match=1.0)
    del row["filter"]
    read = read_recordings(
        [write(tmp_path / "s.jsonl", row, {**row, "filtered_resps": ["b"], "exact_match": 0.0})], model="m"
    )
    assert read.frame["completion"].to_list() == ["a", "b"]
    assert any("1 rows repeat the answers of others, as those of a second filter do" in note for note in read.notes)


@pytest.mark.parametrize("form", ["one line.json", "indented.jsonl", "lines.jsonl", "no suffix"])
def test_samples_of_lm_eval_may_be_one_list(tmp_path: Path, form: str) -> None:
    rows = [lm_eval(doc_id=n, arguments=[["Q" + "x" * 30_000, {"until": ["."]}]]) for n in range(3)]
    path = tmp_path / form
    lines = "\n".join(map(json.dumps, rows))
    path.write_text(lines if "lines" in form else json.dumps(rows, indent=2 if "indented" in form else None))
    read = read_recordings([path], model="m")
    assert read.notes[0] == f"{path}: read as samples of lm-evaluation-harness: 3 answers"
    assert read.frame["sample_id"].to_list() == ["0", "1", "2"]


@pytest.mark.parametrize("places", [(0, 1, 2, 3), (0, 2, 1, 3)])
def test_options_weighed_without_the_prompt_are_none(tmp_path: Path, places: tuple[int, ...]) -> None:
    asked = [{"arg_0": prompt, "arg_1": option} for prompt in ("Q", "") for option in (" x", " y")]
    given = [[["-9.0", "False"]], [["-8.0", "False"]], [["-1.0", "False"]], [["-6.0", "False"]]]
    row = lm_eval(
        arguments={f"gen_args_{n}": asked[place] for n, place in enumerate(places)},
        resps=[given[place] for place in places],
        target="1",
        acc=1.0,
        acc_mutual_info=0.0,
    )
    frame = read_recordings([write(tmp_path / "s.jsonl", row)], model="m").frame
    wanted = frame.select("completion", "gold_label", "choices", "program_score").row(0)
    assert wanted == ("B", "B", '["x", "y"]', "1.0")


def test_options_that_stand_in_the_prompt_are_weighed_once_under_mutual_information_too(tmp_path: Path) -> None:
    asked = [("Q x", " so"), ("Q y", " so"), ("", "x"), ("", "y")]
    arguments = {f"gen_args_{n}": {"arg_0": prompt, "arg_1": reply} for n, (prompt, reply) in enumerate(asked)}
    row = lm_eval(
        arguments=arguments, resps=[[[-1.0, False]], [[-2.0, False]], [[-3.0, False]], [[0.0, False]]], target="0"
    )
    assert read_recordings([write(tmp_path / "s.jsonl", row)], model="m").frame["choices"].to_list() == [
        '["Q x", "Q y"]'
    ]


def test_a_reply_that_was_weighed_alone_is_right_where_it_is_the_likeliest(tmp_path: Path) -> None:
    pairs = [[-0.5, True], ["-0.5", "True"], [-2.0, False], ["-2.0", "False"]]
    rows = [
        lm_eval(doc_id=n, arguments={"gen_args_0": {"arg_0": "Q", "arg_1": " a"}}, resps=[[pair]], acc=float(n < 2))
        for n, pair in enumerate(pairs)
    ]
    read = read_recordings([write(tmp_path / "s.jsonl", *rows)], model="m")
    assert read.frame["completion"].to_list() == ["likeliest"] * 2 + ["not likeliest"] * 2
    assert set(read.frame["gold_label"]) == {"likeliest"}
    assert any("4 samples have the log-likelihood of one reply and no answer" in note for note in read.notes)


@pytest.mark.parametrize("resps", [[[-532.5]], [["-532.5"]], [-532.5]])
def test_the_loglikelihood_of_a_whole_text_is_no_answer(tmp_path: Path, resps: list[Any]) -> None:
    row = lm_eval(arguments={"gen_args_0": {"arg_0": "A long text."}}, resps=resps, word_perplexity=12.0)
    with pytest.raises(
        DataError, match=r"s\.jsonl row 1: its task weighs whole texts \(output type loglikelihood_rolling\)"
    ):
        read_recordings([write(tmp_path / "s.jsonl", row)], model="m")


# ---------------------------------------------------------------- JSON logs of inspect_ai, older and sorted
@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_json_log_is_known_without_an_eval_id_and_in_any_order(tmp_path: Path, *, is_sorted: bool) -> None:
    path = inspect_log(
        tmp_path / "log",
        [inspect_sample(1, "yes")],
        eval_id=None,
        dataset={"sample_ids": [f"sample {n}" for n in range(10_000)]},
    )
    if is_sorted:
        path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    read = read_recordings([path])
    assert read.notes == (f"{path}: read as a log of inspect_ai: 1 answers",)


def test_a_score_of_the_first_logs_has_no_name(tmp_path: Path) -> None:
    sample = {**inspect_sample(1, "yes"), "scores": None, "score": {"value": "C"}}
    assert as_recorded(inspect_log(tmp_path / "log.json", [sample])).answers[0].score == 1.0


def scored(tmp_path: Path, results: object, *values: dict[str, Any]) -> tuple[list[float | None], list[str]]:
    samples = [
        {**inspect_sample(n, "yes"), "scores": {name: {"value": value} for name, value in each.items()}}
        for n, each in enumerate(values)
    ]
    path = inspect_log(tmp_path / "log.json", samples)
    path.write_text(json.dumps({**json.loads(path.read_text()), "results": results}))
    read = as_recorded(path)
    return [each.score for each in read.answers], [note.split(": ", 1)[1] for note in read.notes]


def test_scores_in_words_are_told(tmp_path: Path) -> None:
    assert scored(tmp_path, None, {"judge": "left"}, {"judge": "both"}, {"judge": {"tone": 3}}, {"judge": None}) == (
        [None] * 4,
        [
            "3 scores of 'judge' are no numbers ('left', 'both', '{\"tone\": 3}') and are not read: neither right nor wrong"
        ],
    )


def test_the_scorer_that_is_read_is_the_first_of_the_results_that_gives_numbers(tmp_path: Path) -> None:
    results = {"scores": [{"name": "tone"}, {"name": "match"}, {"name": "close"}]}
    assert scored(tmp_path, results, {"close": 0.2, "match": "C", "tone": "warm"}, {"close": 0.9, "match": "I"}) == (
        [1.0, 0.0],
        ["the scores of 'match' are read, those of tone, close are not"],
    )


# ---------------------------------------------------------------- assertions of promptfoo
EQUALS, REGEX, RUBRIC = ({"type": kind, "value": "yes"} for kind in ("equals", "regex", "llm-rubric"))


def asserted(path: Path, *tests: list[dict[str, Any]], **changes: Any) -> Path:
    """Results of tests with these assertions, of which the first passed."""
    document = json.loads(promptfoo(path, *(f"q{n}" for n in range(len(tests)))).read_text())
    for n, (result, assertions) in enumerate(zip(document["results"]["results"], tests, strict=True)):
        result |= {"testCase": {"vars": result["vars"], "assert": assertions}, "success": n == 0, **changes}
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("tests", [[[REGEX], [RUBRIC]], [[EQUALS], [REGEX], [EQUALS, RUBRIC], [RUBRIC]]])
def test_tests_of_promptfoo_that_assert_something_else_have_its_verdict(
    tmp_path: Path, tests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_run, "_ROWS_A_BATCH", 1)
    path = asserted(tmp_path / "a.json", *tests)
    frame = read_recordings([path]).frame
    assert frame["gold_label"].drop_nulls().to_list() == []  # the values of some are not the labels of all
    assert frame["program_score"].to_list() == ["1.0"] + ["0.0"] * (len(tests) - 1)
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    result = import_predictions(warehouse, [path], load_registry(), ImportOptions())
    assert warehouse.read("select kind from raw.tasks") == [{"kind": "open_ended"}]
    assert any("is read as open ended" in note for note in result.notes)
    verdicts = warehouse.read(
        "select is_match, sample_index = 0 as is_first, verdicts.landed_at = predictions.landed_at as is_at_once "
        "from raw.verdicts inner join raw.predictions using (audit_run_id, prediction_id) "
        "inner join raw.samples using (audit_run_id, task_id, sample_id) order by sample_index"
    )
    assert verdicts == [{"is_match": n == 0, "is_first": n == 0, "is_at_once": True} for n in range(len(tests))]


def test_a_test_without_assertions_and_one_that_could_not_be_graded_have_no_verdict(tmp_path: Path) -> None:
    frames = [
        read_recordings([asserted(tmp_path / "a.json", [], [], gradingResult=None)]).frame,
        read_recordings([asserted(tmp_path / "b.json", [RUBRIC], [RUBRIC], failureReason=2)]).frame,
    ]
    assert [frame["program_score"].to_list() for frame in frames] == [[None, None]] * 2


def test_results_of_version_2_have_their_assertions_in_the_grading(tmp_path: Path) -> None:
    path = asserted(tmp_path / "a.json", [EQUALS], [EQUALS])
    document = json.loads(path.read_text())
    del document["evalId"], document["results"]["prompts"]
    for result in document["results"]["results"]:
        for name in ("testCase", "testIdx", "promptIdx", "promptId", "failureReason"):
            result.pop(name, None)
        result["gradingResult"] = {"pass": True, "componentResults": [{"pass": True, "assertion": EQUALS}]}
    path.write_text(json.dumps({**document, "results": {**document["results"], "version": 2}}))
    frame = read_recordings([path]).frame
    assert frame.select("gold_label", "program_score").rows() == [("yes", "1.0"), ("yes", "0.0")]


def test_of_several_responses_of_every_eval_ever_none_has_the_score(tmp_path: Path) -> None:
    row = {**eee(1, "p", "s"), "output": {"raw": ["a", "b"]}}
    assert scores(row, path=tmp_path / "rows.jsonl") == [None, None]


def test_every_repeat_of_lm_eval_is_read_and_a_row_without_a_filter_among_others_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", lm_eval(resps=[["a"], ["b"]]))
    assert read_recordings([path], model="m").frame["completion"].to_list() == ["a", "b"]
    write(path, lm_eval(), {"doc_id": 1})
    with pytest.raises(DataError, match=r"s\.jsonl row 2: filter: this row has none, and others have one"):
        read_recordings([path], model="m")


def test_a_number_too_large_for_any_machine_is_no_score(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(lm_eval(acc=0.5)).replace("0.5", "9" * 400) + "\n")
    assert read_recordings([path], model="m").frame["program_score"].to_list() == [None]


def test_a_sample_that_only_another_metric_scores_is_read(tmp_path: Path) -> None:
    rows = [{**eee(n, f"p{n}", "s"), "evaluation_result_id": metric} for n, metric in ((1, "x"), (1, "y"), (2, "y"))]
    read = read_recordings([write(tmp_path / "rows.jsonl", *rows)])
    assert read.frame["sample_id"].to_list() == ["1", "2"]
    assert any("1 rows score the same answers by another metric" in note for note in read.notes)


def test_a_log_has_an_answer_a_choice_and_says_what_is_not_read(tmp_path: Path) -> None:
    choices = [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"} for text in ("A", "B")]
    sample = {
        "id": 1,
        "input": "Q",
        "choices": ["x", "y"],
        "target": ["A", "B"],
        "output": {"choices": choices},
        "scores": {"choice": {"value": "yes"}, "judge": {"value": 0}},
    }
    read = as_recorded(log(tmp_path / "log.eval", member=json.dumps(sample).encode()))
    assert [(each.completion, each.score, each.gold_label) for each in read.answers] == [
        ("A", 1.0, None),
        ("B", None, None),
    ]
    assert [note.split(": ", 1)[1] for note in read.notes] == [
        "the scores of 'choice' are read, those of judge are not",
        "1 samples have several right options, which are not read: they have no gold label",
    ]


@pytest.mark.parametrize(
    ("value", "score"), [("C", 1.0), ("1.0", 1.0), ("No", 0.0), ("true", 1.0), ("well", None), ("nan", None)]
)
def test_scores_of_inspect_are_read_as_it_reads_them(tmp_path: Path, value: str, score: float | None) -> None:
    sample = {"id": 1, "input": "Q", "scores": {"s": {"value": value}}, "output": {"completion": "a"}}
    (answer,) = as_recorded(log(tmp_path / "log.eval", member=json.dumps(sample).encode())).answers
    assert answer.score == score


def test_logs_at_other_settings_are_of_other_models(tmp_path: Path) -> None:
    paths = []
    for name, config in (("a", {}), ("b", {"temperature": 0.7})):
        document = json.loads((FILES / "inspect_ai/facts.json").read_text())
        document["eval"]["model_generate_config"] = config
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(document))
    models = read_recordings(paths).frame["model"].unique(maintain_order=True).to_list()
    assert models == ["mockllm/meta-llama/mock-7b", 'mockllm/meta-llama/mock-7b ({"temperature": 0.7})']


@pytest.mark.parametrize("is_whole", [True, False])
def test_options_asked_alone_in_helm_are_all_wanted_and_models_kept_apart(tmp_path: Path, *, is_whole: bool) -> None:
    def change(document: dict[str, Any]) -> None:
        document["adapter_spec"]["method"] = "multiple_choice_separate_original"
        (first, *_) = document["request_states"]
        document["request_states"] = []
        for model, logprobs in (("a", (-3.5, -1.25)), ("b", (-1.0, -2.0) if is_whole else (-1.0,))):
            for index, logprob in enumerate(logprobs):
                state = json.loads(json.dumps({**first, "reference_index": index}))
                state.pop("output_mapping")
                state["request"]["model"] = model
                state["result"]["completions"][0]["logprob"] = logprob
                document["request_states"].append(state)

    path = helm(tmp_path / "run", change)
    if is_whole:
        assert read_recordings([path]).frame.select("model", "completion").rows() == [("a", "B"), ("b", "A")]
        return
    with pytest.raises(DataError, match=r"row 3: instance 'id\d+' has no request for its option 'Odd'"):
        read_recordings([path])


def test_a_column_of_the_users_own_by_the_name_of_an_exports_is_not_read(tmp_path: Path) -> None:
    row = {"model": "m", "sample_id": "1", "completion": "a", "gold_label": "a"}
    own = {"kind": "hard", "variation": "v2", "setting": "warm"}
    path = write(tmp_path / "a.jsonl", {**row, **own})
    read = read_recordings([path])
    assert not own.keys() & set(read.frame.columns)
    assert read.notes[0] == (
        f"{path}: column 'kind' is not read: 'hard' is no kind of task (classification, multiple_choice, open_ended, extraction)"
    )
    # one that is a kind by chance does not make a task without labels a classification
    write(
        path, {**row, "kind": "classification"}, {**row, "sample_id": "2", "gold_label": "b", "kind": "classification"}
    )
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    assert import_predictions(warehouse, [path], load_registry(), ImportOptions()).n_landed == 2


def test_a_byte_order_mark_is_passed_over_in_documents(tmp_path: Path) -> None:
    for name in ("promptfoo/out.json", "inspect_ai/facts.json", "helm/simple_mcqa/scenario_state.json"):
        plain, marked = FILES / name, tmp_path / Path(name).name
        marked.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
        frames = [read_recordings([path]).frame for path in (plain, marked)]
        assert frames[1]["completion"].to_list() == frames[0]["completion"].to_list()


def test_a_table_of_another_kind_is_named_as_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    with pytest.raises(
        DataError, match=r"a\.xml: \.xml is not read; write it as \.csv, \.tsv, \.jsonl, \.json, \.xlsx or \.parquet"
    ):
        read_recordings([tmp_path / "a.xml"], mapping="model='m',sample_id=id,completion=out")


# ---------------------------------------------------------------- templates
def test_a_variant_that_one_of_several_models_answered_is_named(tmp_path: Path) -> None:
    rows = [{**eee(n, f"Is case {n}? Reply now.", "yes"), "model_id": "a"} for n in (1, 2, 4)]
    more = [{**eee(n, f"Was case {n}? Reply now.", "yes"), "model_id": "b"} for n in (31, 32)]
    notes = read_recordings([write(tmp_path / "a.jsonl", *rows), write(tmp_path / "b.jsonl", *more)]).notes
    assert any(
        "task 't': 2 prompt variants have answers of one model only, the first of 'a': 'Is case {…}" in n for n in notes
    )


def test_what_samples_of_one_file_share_makes_no_template_two(tmp_path: Path) -> None:
    def instructions(*prompts: list[str]) -> list[str]:
        files, sample = [], 0
        for number, of_file in enumerate(prompts):
            rows = [eee(sample + place, prompt, "yes") for place, prompt in enumerate(of_file)]
            sample += len(rows)
            files.append(write(tmp_path / f"{number}.jsonl", *rows))
        return read_recordings(files).frame["instruction"].unique(maintain_order=True).to_list()

    def asked(*cases: str, of: str = "Tell me of {}. Reply now.") -> list[str]:
        return [of.format(case) for case in cases]

    one = "Tell me of {…}. Reply now."
    assert instructions(asked("case 31", "case 32"), asked("dogs", "cats")) == [one]  # "case" was the samples' own
    assert instructions(asked("a", "b"), asked("31", "32"), asked("41 too", "42 too")) == [
        one
    ]  # parts of words, and an end
    # the words of another instruction are no sample's
    polite = asked("e", "f", of="Please tell me of {}. Reply now.")
    assert instructions(asked("a", "b"), polite) == [one, "Please tell me of {…}. Reply now."]
    # nor is a bare question the template of all others
    bare = asked("red", "blue", of="{}")
    assert instructions(asked("a", "b"), bare) == [one, "{…}"]


@pytest.mark.parametrize(
    ("prompt", "fields", "template"),
    [
        ("Is it so: a cat? a", {"x": "a cat", "y": "a"}, "Is it so: {x}? {y}"),
        ("cats and a cat_1", {"x": "cat"}, "cats and a cat_1"),  # parts of longer words
        ("(cat), cat!", {"x": "cat"}, "({x}), {x}!"),
        ("1 + 1 = 2?", {"x": "+ 1", "y": "1"}, "{y} {x} = 2?"),
        ("x {y} y", {"x": "{y}", "y": "y"}, "x {x} {y}"),  # a name that was put in is not replaced again
        ("all of it", {"x": "all of it"}, "all of it"),
    ],
)
def test_a_template_has_names_in_place_of_whole_texts(prompt: str, fields: dict[str, str], template: str) -> None:
    assert template_of(prompt, fields) == template


def test_a_thousand_long_prompts_are_told_apart_in_a_second() -> None:
    answers = [
        Answer(
            place="",
            model="m",
            sample_id=str(n),
            completion="",
            task="t",
            prompt=f"Say: {'word ' * 400}{n} so.",
            fields={"question": f"{'word ' * 400}{n}"},
        )
        for n in range(1000)
    ]
    begun = time.process_time()
    (variants,) = variants_of_answers([RecordedAnswers(program="p", answers=answers, task="t")])
    assert time.process_time() - begun < 1.0
    assert set(variants) == {PromptVariant(index=0, instruction="Say: {question} so.")}


# ---------------------------------------------------------------- tables of spreadsheets, half characters
def test_a_table_of_a_spreadsheet_with_decimal_commas_is_read(tmp_path: Path) -> None:
    lines = [
        "model;sample_id;completion;gold_label;latency_ms",
        "m;1;ja, gut;a;0,5",
        "m;2;nein;b;12,75",
        "m;3;a;a;1200",
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    frame = typed(read_recordings([tmp_path / "a.csv"]).frame, "simple", "t")
    assert frame["completion"].to_list() == ["ja, gut", "nein", "a"]
    assert frame["latency_ms"].to_list() == [0.5, 12.75, 1200]
    (tmp_path / "b.csv").write_text(lines[0] + "\nm;1;a;a;1,234\n")  # thousands, or not
    with pytest.raises(
        DataError, match=r"b\.csv row 1: latency_ms: a number from 0 or nothing is wanted, found '1,234'"
    ):
        typed(read_recordings([tmp_path / "b.csv"]).frame, "simple", "t")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("named", ["", "sep=;"])
def test_a_table_of_a_spreadsheet_is_read_whatever_stands_before_and_around_its_names(
    tmp_path: Path, encoding: str, end: str, named: str
) -> None:
    lines = [*([named] if named else []), "model; sample_id ;completion;é", "m;1; a ;x"]
    (tmp_path / "a.csv").write_bytes((end.join(lines) + end).encode(encoding))
    frame = read_recordings([tmp_path / "a.csv"]).frame
    assert frame.select("model", "sample_id", "completion").rows() == [("m", "1", " a ")]


def test_a_name_that_stands_twice_but_for_blanks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,sample_id,completion, model\nm,1,a,n\n")
    with pytest.raises(DataError, match=r"a\.csv line 1: column 'model' stands twice"):
        read_recordings([tmp_path / "a.csv"])


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_is_recognised_by_a_long_first_row(tmp_path: Path, indent: int | None) -> None:
    row = {"doc_id": 0, "doc": {"q": "x" * 200_000}, "target": "a", "arguments": [["q"]], "resps": [["a"]]}
    (tmp_path / "a.json").write_text(json.dumps([row], indent=indent))
    form = format_of(tmp_path / "a.json")
    assert form is not None
    assert form.name == "samples of lm-evaluation-harness"


@pytest.mark.parametrize(
    ("said", "tokens"),
    [("1200", 1200), ("1.0", 1), ("", None), ("1.234", "1.234"), ("1,5", "1,5"), ("1,234", "1,234"), ("-1", "-1")],
)
def test_a_count_of_tokens_is_a_whole_number(tmp_path: Path, said: str, tokens: int | str | None) -> None:
    (tmp_path / "a.csv").write_text(f"model;sample_id;completion;prompt_tokens\nm;1;a;{said}\n")
    frame = read_recordings([tmp_path / "a.csv"]).frame
    if not isinstance(tokens, str):
        assert typed(frame, "simple", "t")["prompt_tokens"].to_list() == [tokens]
        return
    with pytest.raises(
        DataError, match=rf"prompt_tokens: a whole number from 0 or nothing is wanted, found '{tokens}'"
    ):
        typed(frame, "simple", "t")


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
@pytest.mark.parametrize("mapping", [None, r"model='m',sample_id=sample_id,completion=half\ud800"])
def test_half_a_character_in_a_key_is_no_defect(tmp_path: Path, name: str, mapping: str | None) -> None:
    text = json.dumps(
        {"model": "m", "sample_id": "1", "completion": "a", "half\ud800": "a\udfff", "in": {"\ud800": [1]}}
    )
    (tmp_path / name).write_text(f"[{text}]" if name.endswith(".json") else text)
    read = read_recordings([tmp_path / name], mapping=mapping)
    assert read.frame["completion"].to_list() == ["a" if mapping is None else r"a\udfff"]
    for note in read.notes:
        note.encode()


def test_a_field_that_nearly_stands_in_its_prompt_a_million_times_is_not_looked_for() -> None:
    began = time.process_time()
    with pytest.raises(DataError, match=r"stand so often in its prompts.* split it"):
        template_of("a" * 2_000_000, {"text": "a" * 1_000_000})
    assert time.process_time() - began < 30  # 2 s on an idle core; without the limit it is hours


@pytest.mark.parametrize("texts", [["a" * n for n in range(1, 11)], [f"b{n}" for n in range(1000)]])
def test_the_steps_of_all_prompts_of_a_file_are_counted_together(texts: list[str]) -> None:
    fields = {f"v{n}": text for n, text in enumerate(texts)}
    answers = [
        Answer(
            place=f"f row {n}", model="m", sample_id=str(n), completion="", prompt="a" * 50_000 + str(n), fields=fields
        )
        for n in range(1000)
    ]
    began = time.process_time()
    with pytest.raises(DataError, match=r"f row \d+: the texts of its samples stand so often"):
        variants_of_answers([RecordedAnswers(program="p", answers=answers, task="t")])
    assert time.process_time() - began < 30


def test_templates_of_one_file_are_not_compared_with_each_other() -> None:
    found = {f"{n} {GAP}": {0: {str(n)}} for n in range(30_000)}
    began = time.process_time()
    assert joined(found) == {text: text for text in found}
    assert time.process_time() - began < 5  # of 450 million pairs


def test_answers_to_one_prompt_look_for_its_texts_once() -> None:
    fields = {f"v{n}": "a" * n for n in range(1, 11)}
    answers = [
        Answer(place="", model="m", sample_id="1", completion="", prompt="a" * 50_000, fields=fields)
        for _ in range(1000)
    ]
    (variants,) = variants_of_answers([RecordedAnswers(program="p", answers=answers, task="t")])
    assert len(set(variants)) == 1


# ---------------------------------------------------------------- ends
def test_the_word_for_the_end_of_an_answer_becomes_openais_and_an_error_is_no_answer(tmp_path: Path) -> None:
    words = {
        "eos": "stop",
        "MaxTokens": "length",
        "token_limit": "length",
        "max_output": "length",
        "context_length": "length",
        "null": None,
        "": None,
        "never heard of": "never heard of",
        "error": "error",
        "ABORT": "ABORT",
    }
    rows = [
        {"model": "m", "sample_id": str(n), "completion": "ye", "gold_label": "yes", "finish_reason": word}
        for n, word in enumerate(words)
    ]
    read = read_recordings([write(tmp_path / "a.jsonl", *rows)])
    assert read.frame["finish_reason"].to_list() == list(words.values())
    assert read.frame["completion"].to_list() == ["ye"] * 8 + [None] * 2
    note = f"{tmp_path / 'a.jsonl'}: 2 answers ended by ABORT, error, which is an error, and have no answer"
    assert note in read.notes
    one = read_recordings([write(tmp_path / "b.jsonl", {**rows[0], "finish_reason": None})])
    assert one.frame["completion"].to_list() == ["ye"]


# ---------------------------------------------------------------- labels and readers
def test_labels_of_a_file_are_one_in_whatever_unicode_form_they_are(tmp_path: Path) -> None:
    golds = ["n\u00e3o", "na\u0303o", "sim", "sim"] * 2
    rows = [
        {"model": "m", "sample_id": f"s{n}", "completion": gold, "gold_label": gold} for n, gold in enumerate(golds)
    ]
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    import_predictions(warehouse, [write(tmp_path / "a.jsonl", *rows)], load_registry(), ImportOptions())
    (labels,) = warehouse.read("select list(label order by label_index) as labels from raw.task_labels")
    assert labels["labels"] == ["n\u00e3o", "sim"]
    kept = warehouse.read("select distinct gold_label from raw.samples order by all")
    assert [row["gold_label"] for row in kept] == ["n\u00e3o", "sim"]
    said = warehouse.read("select distinct completion from raw.predictions order by all")
    assert [row["completion"] for row in said] == sorted(set(golds))  # verbatim


@pytest.mark.parametrize(
    ("columns", "options", "reader"),
    [
        ({}, ImportOptions(), "label"),
        ({}, ImportOptions(labels=("yes", "no")), "label"),
        ({}, ImportOptions(reader="exact"), "exact"),
        ({"kind": "classification", "labels": '["yes", "no"]'}, ImportOptions(), "label"),
        ({"kind": "classification", "labels": '["yes", "no"]', "reader": '"exact"'}, ImportOptions(), "exact"),
    ],
)
def test_a_fresh_task_is_read_by_label_unless_something_names_a_reader(
    tmp_path: Path, columns: dict[str, str], options: ImportOptions, reader: str
) -> None:
    rows = [
        {"model": "m", "sample_id": f"s{n}", "completion": "Yes.", "gold_label": gold, **columns}
        for n, gold in enumerate(["yes", "no"] * 3)
    ]
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    import_predictions(warehouse, [write(tmp_path / "a.jsonl", *rows)], load_registry(), options)
    assert warehouse.read("select reader from raw.tasks") == [{"reader": json.dumps(reader)}]


# ---------------------------------------------------------------- packed files
@pytest.mark.parametrize("mapping", [None, "model=model,sample_id=sample_id,completion=completion"])
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
def test_a_packed_file_says_what_it_says_unpacked(tmp_path: Path, ending: str, mapping: str | None) -> None:
    rows = [{"model": "m", "sample_id": "1", "completion": "None"}, {"model": "m", "sample_id": "2", "completion": ""}]
    texts = {
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "json": json.dumps({"rows": rows}),
        "csv": "model,sample_id,completion,mine\nm,1,None,x\nm,2,,x\n",
    }
    plain, packed = tmp_path / f"a.{ending}", tmp_path / f"a.{ending}.gz"
    plain.write_text(texts[ending])
    packed.write_bytes(gzip.compress(texts[ending].encode()))
    read, again = (read_recordings([path], mapping=mapping) for path in (plain, packed))
    assert again.frame.drop("file").equals(read.frame.drop("file"))
    assert set(again.frame["file"]) == {str(packed)}
    assert again.notes == tuple(note.replace(str(plain), str(packed)) for note in read.notes)


def test_a_packed_log_of_another_program_is_known_by_what_it_holds(tmp_path: Path) -> None:
    source_file = FILES / "helm/simple_mcqa/scenario_state.json"
    packed = tmp_path / "simple_mcqa" / "scenario_state.json.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(source_file.read_bytes()))
    read = read_recordings([packed])
    assert read.notes[0].startswith(f"{packed}: read as a scenario state of HELM")
    assert set(read.frame["task"]) == {"simple_mcqa"}
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"model": "m", "sample_id": 1}\n'))
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: no column 'completion'"):
        read_recordings([tmp_path / "a.jsonl.gz"])


def test_a_spreadsheet_is_read_by_its_columns_and_by_a_map(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["model", "sample_id", "completion"], ["m", 1, "None"], ["m", 2, None]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    for mapping in (None, "model=model,sample_id=sample_id,completion=completion"):
        frame = read_recordings([tmp_path / "a.xlsx"], mapping=mapping).frame
        assert frame.select("sample_id", "completion").rows() == [("1", "None"), ("2", "")]
