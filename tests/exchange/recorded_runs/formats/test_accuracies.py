"""What other programs wrote is imported as it stands, and each accuracy equals the one that the program printed.

../files/README.md says how they were written. Rows of DOVE are made here, after its own writer, which needs its data.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.audit.runs import close_run
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, ImportResult, import_predictions
from promptaudit.exchange.recorded_runs.program_scores import Scale, differences
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.inspect_logs import inspect_log, inspect_sample
from tests.support.shell import sql

FILES = Path(__file__).parents[1] / "files"
INSPECT, LM_EVAL, HELM, EEE = (FILES / name for name in ("inspect_ai", "lm_eval", "helm", "every_eval_ever"))
LM_DATE = "2026-11-25T17-23-33.021395"
SAMPLES = LM_EVAL / f"samples_question_type_{LM_DATE}.jsonl"
POLITE = LM_EVAL / f"samples_question_type_polite_{LM_DATE}.jsonl"
(FACTS,) = LM_EVAL.glob("samples_facts_*.jsonl")
QUESTIONS = (
    ("How many moons has Mars?", ("two", "one", "nine", "none"), 0),
    ("Where is the Eiffel Tower?", ("Rome", "Paris", "Oslo", "Bonn"), 1),
    ("Who wrote Hamlet?", ("Goethe", "Ibsen", "Shakespeare", "Dante"), 2),
)


def dove_row(question: int, variant: int, said: str) -> dict[str, Any]:
    """A row as DOVE's `SchemaConverter` makes it (its log-probabilities left out): signs and separator are the variant's."""
    text, choices, gold = QUESTIONS[question]
    signs, wording = (("A", "B", "C", "D"), ("α", "β", "γ", "δ"))[variant], ("Answer.", "Choose one.")[variant]
    options = [{"id": sign, "text": choice} for sign, choice in zip(signs, choices, strict=True)]
    listed = "\n".join(f"{each['id']}. {each['text']}" for each in options)
    score = 1.0 if said.split(".", maxsplit=1)[0].strip() == signs[gold] else 0.0
    return {
        "evaluation_id": f"e{question}{variant}",
        "model": {
            "model_info": {"name": "meta-llama/mock-7b", "family": "Llama"},
            "configuration": {"is_instruct": True},
        },
        "prompt_config": {
            "prompt_class": "MultipleChoice",
            "dimensions": {
                "instruction_phrasing": {"text": wording + " {question} {choices}", "name": f"w{variant}"},
                "separator": "\n",
                "enumerator": ("capitals", "greek")[variant],
                "choices_order": {
                    "method": "none",
                    "description": "Preserves the original order of choices as provided",
                },
                "shots": 0,
                "demonstrations": [],
            },
        },
        "instance": {
            "task_type": "classification",
            "raw_input": f"{wording} {text}\n{listed}",
            "language": "en",
            "sample_identifier": {
                "dataset_name": "mmlu.facts",
                "hf_repo": "cais/mmlu",
                "hf_index": question,
                "hf_split": "test",
            },
            "classification_fields": {"question": text, "choices": options, "ground_truth": options[gold]},
        },
        "output": {"response": said, "cumulative_logprob": -0.1},
        "evaluation": {
            "ground_truth": f"{signs[gold]}. {choices[gold]}",
            "evaluation_method": {"method_name": "content_similarity", "description": "…"},
            "score": score,
        },
    }


def eee_row(sample: int, said: str, is_correct: bool) -> dict[str, Any]:
    """An instance-level row of the schema every_eval_ever: yes is right for even samples."""
    asked = {"raw": f"Is {sample} even?", "reference": [("yes", "no")[sample % 2]]}
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "model_id": "m",
        "evaluation_name": "t",
        "sample_id": str(sample),
        "interaction_type": "single_turn",
        "input": asked,
        "output": {"raw": [said]},
        "answer_attribution": [],
        "evaluation": {"score": float(is_correct), "is_correct": is_correct},
    }


def without_prompt(question: int) -> dict[str, Any]:
    """A sample of lm-eval under acc_mutual_info, each option weighed with the prompt and without; "A" is the likeliest."""
    asked = [(prompt, f" {option}") for prompt in (f"Question {question}?", "") for option in QUESTIONS[0][1]]
    nats = [-2.0, -9.0, -8.0, -7.0, -3.0, -1.0, -0.5, -4.0]
    return {
        "doc_id": question,
        "doc": {"question": f"Question {question}?"},
        "target": str(question % 2),
        "filter": "none",
        "arguments": {f"gen_args_{n}": {"arg_0": prompt, "arg_1": option} for n, (prompt, option) in enumerate(asked)},
        "resps": [[[str(each), "False"]] for each in nats],
        "acc": float(question % 2 == 0),
        "acc_mutual_info": 0.0,
    }


def with_other_assertions() -> dict[str, Any]:
    """What promptfoo wrote, with assertions that say nothing of what is right."""
    document = json.loads((FILES / "promptfoo/out.json").read_text())
    for result in document["results"]["results"]:
        result["testCase"]["assert"] = [{"type": "llm-rubric", "value": "is right"}]
        result["gradingResult"] = None
    return document


def shuffled(options: str, said: Sequence[str]) -> list[dict[str, Any]]:
    """Questions whose options are letters of a word in its order, of which "x" is right; the answers name options."""
    samples = []
    for n, option in enumerate(said):
        letter, target = ("ABC"[options.index(each)] for each in (option, "x"))
        sample = inspect_sample(
            n, f"ANSWER: {letter}", f"Q{n}? {' '.join(options)}", uuid=f"{options} {n}", target=target
        )
        samples.append({**sample, "choices": list(options)})
    return samples


def graded(values: Sequence[Any]) -> list[dict[str, Any]]:
    """Samples of which each has a score of its own."""
    samples = [inspect_sample(n, f"answer {n}", target=f"what {n} is") for n in range(len(values))]
    return [{**each, "scores": {"judge": {"value": value}}} for each, value in zip(samples, values, strict=True)]


GRADES: dict[str, tuple[list[Any], float | None, int, str]] = {
    "partial": (["C"] * 4 + ["P"] * 4 + ["I"] * 2, 0.6, 10, "grades from 0 to 1 with mean 0.6: no verdicts"),
    "f1": ([0.625, 1.0, 0.5], 0.708333, 3, "grades from 0.5 to 1 with mean 0.708: no verdicts"),
    "one_to_ten": ([1, 1, 1, 5, 10, 10], None, 0, "grades from 1 to 10 with mean 4.67: on that scale"),
    "percent": ([0, 55, 100], None, 0, "grades from 0 to 100 with mean 51.7: on that scale"),
    "verdicts": (["C", "I", "C", "C"], 0.75, 4, ""),
    # shares of 9 steps: (0 + 0 + 0 + 4 + 9 + 9)/9/6; 5 is the worst of five: (1 + 0 + .5)/3
    "declared": ([1, 1, 1, 5, 10, 10], 22 / 54, 6, "is their mean as shares of the scale 1 to 10"),
    "reversed": ([1, 5, 3], 0.5, 3, "is their mean as shares of the scale 5 to 1"),
    "all_worst": ([1, 1], 0.0, 2, "is their mean as shares of the scale 1 to 10"),
}
SCALES = {"declared": "1,10", "reversed": "5,1", "all_worst": "1,10"}
"""Of each set of scores the accuracy, how many answers it is of, and the note."""

DOVE = [
    dove_row(0, 0, "A. two"),
    dove_row(1, 0, "C"),
    dove_row(2, 0, "C"),
    dove_row(0, 1, "β"),
    dove_row(1, 1, "β."),
    dove_row(2, 1, "α"),
]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, ImportResult]]:
    """Every file as a run of one warehouse, whose marts are built once."""
    folder = tmp_path_factory.mktemp("formats")
    warehouse = Warehouse(folder / "warehouse/audit.duckdb")
    warehouse.apply_schema()
    (folder / "dove.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DOVE))
    pl.DataFrame(DOVE).write_parquet(folder / "dove.parquet")
    # a program that takes "Yes, it is." for yes, as `includes` of inspect_ai would
    said = ("yes", "no", "Yes, it is.", "no", "no")
    lenient = [eee_row(n, text, text.lower().startswith("yes" if n % 2 == 0 else "no")) for n, text in enumerate(said)]
    (folder / "lenient.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lenient))
    (folder / "mutual.jsonl").write_text("".join(json.dumps(without_prompt(n)) + "\n" for n in range(4)))
    own = [
        {"model": m, "task": t, "sample_id": f"{t}{n}", "completion": "a", "gold_label": "ab"[n % 2]}
        for m, t in (("m", "t1"), ("n", "t2"))
        for n in range(6)
    ]
    pl.DataFrame(own).write_csv(folder / "own_tasks.csv")
    (folder / "assertions.json").write_text(json.dumps(with_other_assertions()))
    files: dict[str, Sequence[Path]] = {
        **{name: [inspect_log(folder / f"{name}.json", graded(each))] for name, (each, *_) in GRADES.items()},
        "mutual_information": [folder / "mutual.jsonl"],
        "shuffled": [inspect_log(folder / f"{word}.json", shuffled(word, "xxyx")) for word in ("xyz", "zxy")],
        "own_tasks": [folder / "own_tasks.csv"],
        "assertions": [folder / "assertions.json"],
        "inspect_ai": [INSPECT / "question_type_plain.eval", INSPECT / "question_type_polite.eval"],
        "inspect_ai_json": [INSPECT / "facts.json"],
        "lm_eval": [SAMPLES, POLITE],
        "lm_eval_facts": [FACTS],
        "promptfoo": [FILES / "promptfoo/out.json"],
        "helm_mcqa": [HELM / "simple_mcqa/scenario_state.json"],
        "helm_classification": [HELM / "simple_classification/scenario_state.json"],
        "every_eval_ever": [EEE / "question_type_polite_samples.jsonl"],
        "lenient": [folder / "lenient.jsonl"],
        "dove": [folder / "dove.jsonl"],
        "dove_parquet": [folder / "dove.parquet"],
    }
    results = {}
    registry = load_registry()
    for name, paths in files.items():
        task = "questions" if name == "lm_eval" else None
        model = "m" if name == "mutual_information" else None
        reader = "exact" if name == "inspect_ai" else None  # as its scorer; the shipped card of that name reads more
        scale = Scale.of(SCALES[name]) if name in SCALES else None
        options = ImportOptions(audit=name, task=task, model=model, reader=reader, scale=scale, resamples=20)
        results[name] = import_predictions(warehouse, paths, registry, options)
    runs = [result.audit_run_id for result in results.values()]
    transform(warehouse, runs, "up_to_formats")
    for run in runs:
        close_run(warehouse, run, "complete")
    transform(warehouse, runs, "after_formats")
    publish(warehouse, runs)
    return folder, results


def accuracies(imported: tuple[Path, dict[str, ImportResult]], name: str, method: str) -> list[float]:
    """The accuracy of each prompt variant, in their order."""
    folder, results = imported
    rows = sql(
        folder,
        "select accuracy from marts.fct_variant_accuracy inner join marts.dim_prompt_variants using (audit_run_id, "
        f"prompt_variant_id) where audit_run_id = '{results[name].audit_run_id}' and scoring_method = '{method}' "
        "order by variant_index",
    )
    return [row["accuracy"] and pytest.approx(row["accuracy"]) for row in rows]


def instructions(imported: tuple[Path, dict[str, ImportResult]], name: str) -> list[str]:
    folder, results = imported
    run = results[name].audit_run_id
    rows = sql(
        folder, f"select instruction from marts.dim_prompt_variants where audit_run_id = '{run}' order by variant_index"
    )
    return [row["instruction"] for row in rows]


def printed_by_inspect(name: str) -> float:
    """The accuracy in the log: of a zip, read by the pipe's own reader of members."""
    from promptaudit.exchange.recorded_runs.formats.source import ZipMembers

    path = INSPECT / name
    log = json.loads(path.read_text()) if path.suffix == ".json" else ZipMembers(path).json("header.json")
    metrics = log["results"]["scores"][0]["metrics"]
    return metrics.get("accuracy", metrics.get("mean"))["value"]


def printed_by_lm_eval(task: str, metric: str) -> float:
    (path,) = [each for each in LM_EVAL.glob("results_*.json") if task in json.loads(each.read_text())["results"]]
    return json.loads(path.read_text())["results"][task][f"{metric},none"]


def printed_by_helm(run: str) -> float:
    stats = json.loads((HELM / run / "stats.json").read_text())
    (mean,) = [each["mean"] for each in stats if each["name"] == {"name": "exact_match", "split": "test"}]
    return mean


@pytest.mark.slow
@pytest.mark.timeout(600)
class TestAccuracies:
    """Ours, by the task's own rule, and the program's, kept as its verdicts, both equal what it printed."""

    def test_inspect_ai(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        printed = [printed_by_inspect("question_type_plain.eval"), printed_by_inspect("question_type_polite.eval")]
        assert printed == [0.75, 0.625]
        assert accuracies(imported, "inspect_ai", "label_match") == printed
        assert accuracies(imported, "inspect_ai", "judge:inspect_ai") == printed

    def test_inspect_ai_multiple_choice_of_two_epochs(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        printed = [printed_by_inspect("facts.json")]
        assert printed == [0.5]
        assert accuracies(imported, "inspect_ai_json", "option_letter") == printed
        assert accuracies(imported, "inspect_ai_json", "judge:inspect_ai") == printed

    def test_lm_eval(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        printed = [printed_by_lm_eval(task, "exact_match") for task in ("question_type", "question_type_polite")]
        assert printed == [0.875, 0.625]
        assert accuracies(imported, "lm_eval", "label_match") == printed
        assert accuracies(imported, "lm_eval", "judge:lm_eval") == printed

    def test_lm_eval_by_loglikelihoods(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        acc, acc_norm = (printed_by_lm_eval("facts", metric) for metric in ("acc", "acc_norm"))
        assert (acc, acc_norm) == (0.2, 0.6)
        assert accuracies(imported, "lm_eval_facts", "option_letter") == [acc]
        assert accuracies(imported, "lm_eval_facts", "option_loglikelihood") == [acc]
        assert accuracies(imported, "lm_eval_facts", "option_loglikelihood_per_character") == [acc_norm]

    def test_lm_eval_under_mutual_information(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        for method in ("option_letter", "option_loglikelihood", "judge:lm_eval"):
            assert accuracies(imported, "mutual_information", method) == [0.5]

    def test_options_shuffled_anew_are_the_same_options(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        assert (
            accuracies(imported, "shuffled", "option_letter")
            == accuracies(imported, "shuffled", "judge:inspect_ai")
            == [0.75]
        )
        folder, results = imported
        run = results["shuffled"].audit_run_id
        (row,) = sql(folder, f"select pss_intra, n_repetitions from marts.rpt_audit where audit_run_id = '{run}'")
        assert row == {"pss_intra": 1.0, "n_repetitions": 2}

    def test_a_model_has_rows_of_the_tasks_that_it_answered(
        self, imported: tuple[Path, dict[str, ImportResult]]
    ) -> None:
        folder, results = imported
        run = results["own_tasks"].audit_run_id
        query = f"select model_id, task_id, n_planned, n_landed from marts.rpt_audit where audit_run_id = '{run}' order by all"
        assert [tuple(row.values()) for row in sql(folder, query)] == [("m", "t1", 6, 6), ("n", "t2", 6, 6)]
        assert results["own_tasks"].n_missing == 0

    def test_promptfoo(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        prompts = json.loads((FILES / "promptfoo/out.json").read_text())["results"]["prompts"]
        printed = [each["metrics"]["testPassCount"] / 6 for each in prompts]
        assert printed == [5 / 6, 4 / 6]
        assert accuracies(imported, "promptfoo", "label_match") == printed
        assert accuracies(imported, "promptfoo", "judge:promptfoo") == printed

    def test_promptfoo_by_its_verdicts_alone(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        assert accuracies(imported, "assertions", "judge:promptfoo") == [5 / 6, 4 / 6]
        assert accuracies(imported, "assertions", "token_f1") == [None, None]

    @pytest.mark.parametrize("name", GRADES)
    def test_scores_keep_their_scale(self, imported: tuple[Path, dict[str, ImportResult]], name: str) -> None:
        folder, results = imported
        values, accuracy, n_scored, note = GRADES[name]
        query = (
            "select accuracy, n_scored from marts.fct_variant_accuracy "
            f"where audit_run_id = '{results[name].audit_run_id}' and scoring_method = 'judge:inspect_ai'"
        )
        (row,) = sql(folder, query)
        assert row["n_scored"] == n_scored
        assert row["accuracy"] == (accuracy if accuracy is None else pytest.approx(accuracy, abs=1e-6))
        assert (
            any(note in each for each in results[name].notes)
            if note
            else not any("grades" in each for each in results[name].notes)
        )
        query = f"select grade, score from marts.fct_verdicts where audit_run_id = '{results[name].audit_run_id}'"
        kept = sorted(float(each["grade"]) for each in sql(folder, query) if each["grade"] is not None)
        grades = {"C": 1.0, "P": 0.5, "I": 0.0}
        assert kept == ([] if not note else sorted(float(grades.get(str(each), each)) for each in values))

    def test_helm(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        assert accuracies(imported, "helm_mcqa", "option_letter") == [printed_by_helm("simple_mcqa")] == [0.5]
        assert accuracies(imported, "helm_mcqa", "judge:helm") == [0.5]
        printed = [printed_by_helm("simple_classification")]
        assert accuracies(imported, "helm_classification", "label_match") == printed == [0.5]

    def test_every_eval_ever(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        aggregate = json.loads((EEE / "question_type_polite.json").read_text())
        printed = [aggregate["evaluation_results"][0]["score_details"]["score"]]
        assert printed == [0.625]
        assert accuracies(imported, "every_eval_ever", "label_match") == printed
        assert accuracies(imported, "every_eval_ever", "judge:every_eval_ever") == printed

    @pytest.mark.parametrize("name", ["dove", "dove_parquet"])
    def test_dove(self, imported: tuple[Path, dict[str, ImportResult]], name: str) -> None:
        scores = [statistics.mean(row["evaluation"]["score"] for row in DOVE[n : n + 3]) for n in (0, 3)]
        assert scores == [2 / 3, 1 / 3]
        assert accuracies(imported, name, "option_letter") == scores  # each variant by the signs of its own options
        assert accuracies(imported, name, "judge:dove") == scores

    def test_templates_are_the_prompts_less_the_samples(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        plain = "Classify the question by the type of its answer. Reply with number, location or person alone.\n\n"
        assert instructions(imported, "inspect_ai")[0] == plain + "{input}"
        assert instructions(imported, "lm_eval")[0] == plain + "{question}\nType:"
        assert instructions(imported, "promptfoo")[0] == plain + "{{question}}"
        (letters,) = instructions(imported, "inspect_ai_json")
        assert letters.startswith("Answer the following multiple choice question. The entire content of your response ")
        assert letters.endswith("LETTER is one of A,B,C,D.\n\n{input}\n\nA) {A}\nB) {B}\nC) {C}\nD) {D}")
        (asked,) = instructions(imported, "every_eval_ever")
        assert asked == "Please say whether the answer is a number, a location or a person.\nQuestion: {…}?\nAnswer:"

    def test_notes_say_what_was_recognised_and_inferred(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        _, results = imported
        notes = results["lm_eval"].notes
        assert notes[0] == f"{SAMPLES}: read as samples of lm-evaluation-harness: 8 answers"
        assert any(
            note.startswith("task 'questions' has 2 prompt variants; variant 0 is the first, of ") for note in notes
        )
        assert notes[-1] == (
            "task 'questions' is read as classification by the labels number, location, person, its gold labels; "
            "--labels says others"
        )
        assert results["lm_eval_facts"].notes[-1] == (
            "task 'facts' is read as multiple choice, by the letters A to D, and by the log-likelihoods of the options"
        )

    def test_tokens_cost_and_latency_are_kept(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        folder, results = imported
        run = results["promptfoo"].audit_run_id
        (row,) = sql(
            folder,
            "select sum(prompt_tokens) as n, sum(cost_usd) as usd, count(latency_ms) as timed from marts.fct_predictions "
            f"where audit_run_id = '{run}'",
        )
        assert (row["n"], row["timed"]) == (240, 12)
        assert row["usd"] == pytest.approx(0.0012)

    def test_nothing_is_scored_differently(self, imported: tuple[Path, dict[str, ImportResult]]) -> None:
        folder, results = imported
        warehouse = Warehouse(folder / "warehouse/audit.duckdb")
        for name, result in results.items():
            if name not in ("lenient", "verdicts"):
                assert differences(warehouse, result.audit_run_id) == [], name

    def test_what_a_program_scores_otherwise_is_said_and_kept(
        self, imported: tuple[Path, dict[str, ImportResult]]
    ) -> None:
        folder, results = imported
        (note,) = differences(Warehouse(folder / "warehouse/audit.duckdb"), results["lenient"].audit_run_id)
        assert note == (
            "1 of 5 answers are scored differently than by every_eval_ever, the first: task 't', sample '2', right there and not "
            "right here: 'Yes, it is.'; its scores stand beside ours as scoring method judge:every_eval_ever"
        )
        # 0 yes, 1 no, 3 no are right here; 2 is so there too, and 4 nowhere
        assert accuracies(imported, "lenient", "label_match") == [3 / 5]
        assert accuracies(imported, "lenient", "judge:every_eval_ever") == [4 / 5]
