"""One answer an ask, one task a split, one letter an option: what several logs of other programs would otherwise mix."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.exchange.recorded_runs.import_run import ImportOptions, ImportResult, import_predictions
from promptaudit.exchange.recorded_runs.read_files import Recordings, read_recordings
from promptaudit.registry.errors import DataError
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Row, Warehouse
from tests.support.inspect_logs import inspect_log, inspect_sample

FILES = Path(__file__).parent / "files"


def landed(tmp_path: Path, *files: Path) -> tuple[ImportResult, list[Row]]:
    """The files as a run of a new warehouse, and its answers."""
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    result = import_predictions(warehouse, files, load_registry(), ImportOptions())
    return result, warehouse.read("select * from raw.predictions order by model_id, task_id, sample_id, repetition")


# ---------------------------------------------------------------- retries
def done(number: int, epoch: int = 1, uuid: str | None = "same") -> dict[str, Any]:
    """A sample that ended well, with the uuid that a retry takes over."""
    uuid = f"{number}.{epoch}" if uuid == "same" else uuid
    return inspect_sample(number, "yes" if number % 2 else "no", epoch=epoch, uuid=uuid, target="yes")


def failed(number: int, *, uuid: str, said: str | None = None) -> dict[str, Any]:
    """A sample that ended in an error, before its answer or after it."""
    return {**inspect_sample(number, said, uuid=uuid, target="yes"), "error": {"message": "boom"}, "scores": None}


def counts(read: Recordings) -> list[tuple[str, str, str | None]]:
    return sorted(read.frame.select("sample_id", "repetition", "completion").rows())


@pytest.mark.parametrize("suffix", [".json", ".eval"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_logs_retried_several_times_have_an_answer_an_ask(tmp_path: Path, suffix: str, order: Sequence[int]) -> None:
    tries = [
        [done(1), done(2), failed(3, uuid="x")],
        [done(1), done(2), failed(3, uuid="y", said="ye"), done(4)],
        [done(1), done(2), done(3), done(4)],
    ]
    files = [inspect_log(tmp_path / f"{n}{suffix}", each, eval_id=f"e{n}") for n, each in enumerate(tries)]
    read = read_recordings([files[n] for n in order])
    assert counts(read) == [("1", "1", "yes"), ("2", "1", "no"), ("3", "1", "yes"), ("4", "1", "no")]
    assert any("asks ended in an error and were asked again" in note for note in read.notes)
    result, answers = landed(tmp_path, *files)
    assert (result.n_landed, result.n_missing, {row["repetition"] for row in answers}) == (4, 0, {1})


@pytest.mark.parametrize(
    "change", [{"model": "lab/other"}, {"model_generate_config": {"temperature": 1}}], ids=["model", "settings"]
)
def test_an_error_of_one_model_is_no_retry_of_another(tmp_path: Path, change: dict[str, Any]) -> None:
    first = inspect_log(tmp_path / "a.json", [done(1), done(2)])
    other = inspect_log(tmp_path / "b.json", [done(1, uuid="p"), failed(2, uuid="q")], **change)
    result, _ = landed(tmp_path, first, other)
    assert (result.n_landed, result.n_missing) == (3, 1)
    assert not any("asked again" in note for note in result.notes)


def test_of_copies_that_were_scored_anew_the_last_counts(tmp_path: Path) -> None:
    def scored(value: str | None) -> list[dict[str, Any]]:
        return [{**done(1), "scores": {"match": {"value": value}} if value else None}, done(2)]

    files = [inspect_log(tmp_path / f"{n}.json", scored(value)) for n, value in enumerate(["C", "C", "I", None])]
    read = read_recordings(files)
    assert sorted(read.frame.select("sample_id", "program_score", "file").rows()) == [
        ("1", "0.0", str(files[2])),
        ("2", "0.0", str(files[0])),
    ]
    note = f"{files[2]}: 1 answers are copies of those in {files[0]} with other scores, and only these count"
    assert note in read.notes
    assert sum("with other scores" in note for note in read.notes) == 1


def test_a_retry_of_several_epochs_keeps_them_as_repetitions(tmp_path: Path) -> None:
    epochs = [done(number, epoch) for number in (1, 2) for epoch in (1, 2, 3)]
    files = [inspect_log(tmp_path / "a.json", epochs[:4]), inspect_log(tmp_path / "b.json", epochs)]
    result, answers = landed(tmp_path, *files)
    assert [(row["sample_id"], row["repetition"]) for row in answers] == [(s, n) for s in "12" for n in (1, 2, 3)]
    assert result.n_missing == 0
    assert any(f"{files[1]}: 4 answers are copies of those in {files[0]}" in note for note in result.notes)


def test_a_copy_in_a_log_without_uuids_is_known_by_task_sample_epoch_and_answer(tmp_path: Path) -> None:
    old = [done(1, uuid=None), done(2, uuid=None)]
    one, retried = (inspect_log(tmp_path / f"{n}.json", old[: n + 1], eval_id=None) for n in range(2))
    other = inspect_log(tmp_path / "other.json", old, task_id="asked again")
    assert counts(read_recordings([one, retried])) == [("1", "1", "yes"), ("2", "1", "no")]
    assert [each[1] for each in counts(read_recordings([retried, other]))] == ["1", "2"] * 2


def test_each_choice_of_a_copied_output_is_copied(tmp_path: Path) -> None:
    sample = done(1)
    sample["output"]["choices"] *= 2
    files = [inspect_log(tmp_path / f"{n}.json", [sample], eval_id=f"e{n}") for n in range(2)]
    assert counts(read_recordings(files)) == [("1", "1", "yes"), ("1", "2", "yes")]


def test_an_error_that_was_not_asked_again_is_a_cell_without_an_answer(tmp_path: Path) -> None:
    first = inspect_log(tmp_path / "a.json", [done(1), failed(2, uuid="x")])
    result, _ = landed(tmp_path, first, inspect_log(tmp_path / "b.json", [done(1), failed(2, uuid="y")]))
    assert (result.n_landed, result.n_missing) == (1, 1)


def test_the_only_answer_of_two_runs_is_the_first_repetition(tmp_path: Path) -> None:
    first = inspect_log(tmp_path / "a.json", [done(1, uuid="p"), failed(2, uuid="q")])
    again = inspect_log(tmp_path / "b.json", [done(1, uuid="r"), done(2, uuid="s")], task_id="another")
    result, answers = landed(tmp_path, first, again)
    assert [(row["sample_id"], row["repetition"]) for row in answers] == [("1", 1), ("1", 2), ("2", 1)]
    assert result.n_missing == 1  # it was asked for twice


def test_a_retry_over_fewer_connections_is_of_the_same_model(tmp_path: Path) -> None:
    first = inspect_log(tmp_path / "a.json", [done(1)], model_generate_config={"temperature": 0, "max_connections": 20})
    again = inspect_log(tmp_path / "b.json", [done(2)], model_generate_config={"temperature": 0, "max_retries": 3})
    assert read_recordings([first, again]).frame["model"].unique().to_list() == ["lab/m"]


def test_figures_of_reduced_epochs_are_said_to_be_others(tmp_path: Path) -> None:
    log = inspect_log(tmp_path / "a.json", [done(1)], config={"epochs": 3, "epochs_reducer": ["mode", "at_least_2"]})
    assert any(
        "of epochs that it reduces by mode, at_least_2; here each answer counts" in n
        for n in read_recordings([log]).notes
    )
    mean = inspect_log(tmp_path / "b.json", [done(1)], config={"epochs": 3, "epochs_reducer": ["mean"]})
    assert len(read_recordings([mean]).notes) == 1


def test_a_log_without_samples_beside_others_is_no_error(tmp_path: Path) -> None:
    aborted = inspect_log(tmp_path / "a.eval", [])
    with pytest.raises(DataError, match=r"a\.eval: no answers"):
        read_recordings([aborted])
    assert counts(read_recordings([aborted, inspect_log(tmp_path / "b.eval", [done(1)])])) == [("1", "1", "yes")]


# ---------------------------------------------------------------- options in another order
def shuffled(number: int, options: Sequence[str], said: str, epoch: int = 1) -> dict[str, Any]:
    """A question whose right option is "Paris", with the options as the program showed them."""
    target = "ABC"[options.index("Paris")]
    listed = "\n".join(f"{letter}) {option}" for letter, option in zip("ABC", options, strict=True))
    uuid = f"{number} {epoch} {options}"
    asked = inspect_sample(number, f"ANSWER: {said}", f"Q{number}?\n{listed}", epoch=epoch, uuid=uuid, target=target)
    return {**asked, "choices": list(options)}


def meant(rows: Sequence[Row], options: Sequence[str]) -> list[str]:
    """The option that each answer means, by its letter as shown and the order of its options."""
    orders = [row["option_order"] or range(3) for row in rows]
    return [options[order["ABC".index(row["completion"][-1])]] for row, order in zip(rows, orders, strict=True)]


def test_choices_shuffled_anew_are_one_question_and_mapped_back(tmp_path: Path) -> None:
    one, two = ("Rome", "Paris", "Oslo"), ("Oslo", "Rome", "Paris")
    first = inspect_log(tmp_path / "a.json", [shuffled(1, one, "B"), shuffled(2, two, "A")])
    second = inspect_log(tmp_path / "b.json", [shuffled(1, two, "C"), shuffled(2, one, "C")])
    result, answers = landed(tmp_path, first, second)
    assert [(row["sample_id"], row["repetition"]) for row in answers] == [("1", 1), ("1", 2), ("2", 1), ("2", 2)]
    assert meant(answers[:2], one) == ["Paris", "Paris"]
    assert meant(answers[2:], two) == ["Oslo", "Oslo"]
    golds = Warehouse(tmp_path / "audit.duckdb").read("select gold_label from raw.samples order by sample_id")
    assert [row["gold_label"] for row in golds] == ["B", "C"]
    assert result.n_missing == 0


def test_choices_may_be_shuffled_in_each_epoch_of_one_log(tmp_path: Path) -> None:
    one, two, three = ("Rome", "Paris", "Oslo"), ("Paris", "Oslo", "Rome"), ("Rome", "Paris", "Oslo")
    epochs = [
        shuffled(1, order, said, epoch=n + 1) for n, (order, said) in enumerate([(one, "B"), (two, "A"), (three, "B")])
    ]
    _, answers = landed(tmp_path, inspect_log(tmp_path / "a.json", epochs))
    assert [row["option_order"] for row in answers] == [None, [1, 2, 0], None]
    assert meant(answers, one) == ["Paris"] * 3


@pytest.mark.parametrize(("place", "gold"), [(0, "A"), (26, None)])
def test_options_beyond_the_letters_are_mapped_back_without_one(tmp_path: Path, place: int, gold: str | None) -> None:
    options = [f"no {n}" for n in range(27)]
    first = inspect_sample(1, "A", target="A" if place == 0 else "")
    again = inspect_sample(1, "A", epoch=2, target="A")  # the first as shown
    shown = [options[place], *options[:place], *options[place + 1 :]]
    log = inspect_log(tmp_path / "a.json", [{**first, "choices": options}, {**again, "choices": shown}])
    frame = read_recordings([log]).frame
    assert frame["gold_label"].to_list() == ["A" if place == 0 else None, gold]
    assert frame["choices"].n_unique() == 1


def test_own_columns_with_choices_in_several_orders_are_refused(tmp_path: Path) -> None:
    row = {"model": "m", "sample_id": "1", "completion": "A", "choices": ["x", "y"], "gold_label": "A"}
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(json.dumps({**row, **more}) + "\n" for more in ({}, {"choices": ["y", "x"], "repetition": 2}))
    )
    with pytest.raises(DataError, match=r"row 2: choices: those of sample '1' stand in another order than in row 1"):
        landed(tmp_path, path)


def test_other_options_under_one_id_are_another_sample(tmp_path: Path) -> None:
    first = inspect_log(tmp_path / "a.json", [shuffled(1, ("Rome", "Paris", "Oslo"), "B")])
    other = inspect_log(tmp_path / "b.json", [shuffled(1, ("Rome", "Paris", "Bonn"), "B")], task_id="t2")
    ids = read_recordings([first, other]).frame["sample_id"].to_list()
    assert ids[0] == "1"
    assert ids[1].startswith("1~")


# ---------------------------------------------------------------- splits of HELM
def helm(tmp_path: Path, splits: Sequence[str | None]) -> Path:
    """The scenario state that HELM wrote, with an instance a split."""
    document = json.loads((FILES / "helm/simple_mcqa/scenario_state.json").read_text())
    states = document["request_states"][: len(splits)]
    for state, split in zip(states, splits, strict=True):
        state["instance"]["split"] = split
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps({**document, "request_states": states}))
    return path


def test_each_split_of_helm_is_a_task_and_that_of_test_has_its_name(tmp_path: Path) -> None:
    path = helm(tmp_path, ["test", "valid", "test", "train", None])
    read = read_recordings([path], task="quiz")
    assert read.frame["task"].to_list() == ["quiz", "quiz (split valid)", "quiz", "quiz (split train)", "quiz"]
    assert any(
        "1 answers are to samples of the split 'valid', which is measured by itself" in note for note in read.notes
    )
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    result = import_predictions(warehouse, [path], load_registry(), ImportOptions(task="quiz"))
    assert (result.n_landed, result.n_missing) == (5, 0)


def test_of_several_completions_the_likeliest_has_the_score_of_helm(tmp_path: Path) -> None:
    path = helm(tmp_path, ["test"])
    document = json.loads(path.read_text())
    state = document["request_states"][0]
    (said,) = state["result"]["completions"]
    state["result"]["completions"] = [{**said, "logprob": nats} for nats in (-3.0, -0.5, -0.5)]
    path.write_text(json.dumps(document))
    stats = [{"instance_id": state["instance"]["id"], "stats": [{"name": {"name": "exact_match"}, "mean": 1.0}]}]
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(stats))
    assert read_recordings([path]).frame["program_score"].to_list() == [None, "1.0", None]


def test_an_id_of_two_splits_has_the_score_of_each_and_a_perturbation_that_of_its_name(tmp_path: Path) -> None:
    path = helm(tmp_path, ["test", "valid", "test", "test"])
    document = json.loads(path.read_text())
    for state, typos in zip(document["request_states"], (None, None, 0.1, 0.2), strict=True):
        state["instance"]["id"] = "id1"
        if typos is not None:
            state["instance"]["perturbation"] = {"name": "typos", "prob": typos}
    path.write_text(json.dumps(document))

    def stats(**scores: float) -> list[dict[str, Any]]:
        return [{"name": {"name": "exact_match", "split": split}, "mean": score} for split, score in scores.items()]

    rows = [{"instance_id": "id1", "stats": stats(valid=0.0)}, {"instance_id": "id1", "stats": stats(test=1.0)}]
    short = {"instance_id": "id1", "perturbation": {"name": "typos"}, "stats": stats(test=0.5)}
    whole = [
        {**short, "perturbation": {"name": "typos", "prob": prob}, "stats": stats(test=prob)} for prob in (0.2, 0.1)
    ]
    for perturbed, scores in (([short], ["1.0", "0.0", "0.5", "0.5"]), (whole, ["1.0", "0.0", "0.1", "0.2"])):
        (tmp_path / "per_instance_stats.json").write_text(json.dumps([*rows[::-1], *perturbed]))
        assert read_recordings([path]).frame["program_score"].to_list() == scores


# ---------------------------------------------------------------- tasks of their own
OWN = [
    {
        "model": model,
        "task": task,
        "strategy": strategy,
        "sample_id": f"{task}{n}",
        "completion": "yes",
        "gold_label": "yes",
        "labels": '["yes","no"]',
    }
    for model, task, strategy in (
        ("a", "t1", "simple"),
        ("b", "t2", "simple"),
        ("a", "shared", "simple"),
        ("b", "shared", "simple"),
        ("b", "shared", "detail"),
    )
    for n in range(3)
]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_nothing_is_planned_for_a_model_that_has_no_answer_to_a_task(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"answers.{suffix}"
    frame = pl.DataFrame(OWN[:-1])  # one cell of a pair that occurs is missing
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[suffix](path)
    result, _ = landed(tmp_path, path)
    assert (result.n_landed, result.n_missing) == (14, 1)
    variants = Warehouse(tmp_path / "audit.duckdb").read(
        "select task_id, strategy, model_ids from raw.prompt_variants order by task_id, strategy"
    )
    assert [row["model_ids"] for row in variants] == [["b"], None, ["a"], ["b"]]
