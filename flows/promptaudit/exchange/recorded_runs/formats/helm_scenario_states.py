"""Reads HELM's `scenario_state.json`: a request state per instance, with references, request and completions.

Joint multiple choice has `output_mapping`, the letters with their options. Separate multiple choice asks once an
option, and the answer is the letter of the likeliest. A perturbation or another draw of examples is a prompt variant,
and the split of an instance goes with it. HELM's scores stand in `per_instance_stats.json` beside it, and the run's
name in `run_spec.json`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import (
    Answer,
    RecordedAnswers,
    Texts,
    letters_of,
    number_of,
    refuse_many_given,
    text_of,
)
from promptaudit.exchange.recorded_runs.formats.source import MAX_BESIDE, json_file
from promptaudit.registry.errors import DataError
from promptaudit.system.keys import as_json

PROGRAM = "helm"
CORRECT = "correct"
_METRICS = ("exact_match", "quasi_exact_match")
# instance, split, perturbation and draw of examples
_Key = tuple[str, str, str, str]
# for each instance and name of a perturbation, the score by the perturbation as a whole
_Scores = dict[_Key, dict[str, float]]


def is_of_helm(head: bytes) -> bool:
    """Checks whether a JSON document begins as a scenario state does."""
    return (
        head.lstrip().startswith(b"{")
        and b'"adapter_spec"' in head
        and (b'"request_states"' in head or b'"instructions"' in head)
    )


def as_recorded(path: Path) -> RecordedAnswers:
    """Reads the answers of a file. Raises DataError naming file and request."""
    document = json_file(path)
    states = document.get("request_states") if isinstance(document, dict) else None
    spec = document.get("adapter_spec") if isinstance(document, dict) else None
    if not isinstance(states, list) or not isinstance(spec, dict):
        msg = f"{path}: no adapter_spec and list request_states, so it is not HELM's scenario_state.json"
        raise DataError(msg)
    method = str(spec.get("method"))
    if method == "multiple_choice_separate_calibrated":
        msg = f"{path}: method {method} is not read; multiple_choice_joint, multiple_choice_separate_original and generation are"
        raise DataError(msg)
    beside = [path.with_name(name) for name in ("run_spec.json", "per_instance_stats.json")]
    kept = tuple(each for each in beside if each.is_file())
    task, scores = _task_of(path), _scores_of(beside[1])
    answers: list[Answer] = []
    texts = Texts(path)
    options: dict[tuple[str, _Key], list[tuple[str, Mapping[str, Any]]]] = {}
    for number, state in enumerate(states, start=1):
        place = f"{path} row {number}"
        try:
            if method == "multiple_choice_separate_original":
                options.setdefault((str(state["request"]["model"]), _key(state)), []).append((place, state))
            else:
                answers += texts.take(_answers_of(place, state, task, scores))
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise _not_a_state(place, error) from None
    for of_instance in options.values():
        try:
            answers += texts.take([_likeliest(of_instance, task, scores)])
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise _not_a_state(of_instance[0][0], error) from None
    return RecordedAnswers(program=PROGRAM, answers=answers, task=task, beside=kept)


def _not_a_state(place: str, error: Exception) -> DataError:
    return DataError(f"{place}: not a request state of HELM: {type(error).__name__} {str(error)[:80]}")


def _task_of(path: Path) -> str:
    # the run's name without its model, by run_spec.json or the folder
    beside = path.with_name("run_spec.json")
    spec = json_file(beside, MAX_BESIDE) if beside.is_file() else None
    name = (text_of(spec.get("name")) if isinstance(spec, dict) else None) or path.resolve().parent.name or path.stem
    scenario, _, arguments = name.partition(":")
    rest = ",".join(each for each in arguments.split(",") if each and not each.startswith("model"))
    return f"{scenario}:{rest}" if rest else scenario


def _scores_of(path: Path) -> _Scores:
    rows = json_file(path, MAX_BESIDE) if path.is_file() else []
    scores: _Scores = defaultdict(dict)
    for row in rows if isinstance(rows, list) else []:
        try:
            # by split: two may have an instance of one id
            means: dict[str, dict[str, float | None]] = defaultdict(dict)
            for stat in row["stats"]:
                means[str(stat["name"].get("split") or "")][stat["name"]["name"]] = number_of(stat.get("mean"))
            perturbation = row.get("perturbation")
            at = (_name_of(perturbation), str(row.get("train_trial_index", 0)))
            instance = str(row["instance_id"])
        except (KeyError, TypeError, AttributeError):
            continue
        for split, of_split in means.items():
            known = [score for name in _METRICS if (score := of_split.get(name)) is not None]
            if known:
                scores[instance, split, *at][_perturbed(perturbation)] = known[0]
    return scores


def _score_of(key: _Key, perturbation: Any, scores: _Scores) -> float | None:  # noqa: ANN401
    # the statistics may say less of a perturbation than its name, and no split
    instance, split, perturbed, trial = key
    for each in (split, ""):
        found = scores.get((instance, each, _name_of(perturbation), trial), {})
        if found:
            return found.get(perturbed, next(iter(found.values())) if len(found) == 1 else None)
    return None


def _perturbed(perturbation: Any) -> str:  # noqa: ANN401
    return "" if perturbation is None else as_json(perturbation)


def _name_of(perturbation: Any) -> str:  # noqa: ANN401
    return str(perturbation.get("name")) if isinstance(perturbation, dict) else _perturbed(perturbation)


def _key(state: Mapping[str, Any]) -> _Key:
    instance = state["instance"]
    perturbed, trial = _perturbed(instance.get("perturbation")), str(state.get("train_trial_index", 0))
    return str(instance["id"]), str(instance.get("split") or ""), perturbed, trial


def _common(place: str, state: Mapping[str, Any], task: str, scores: _Scores) -> dict[str, Any]:
    key, request, result = _key(state), state["request"], state.get("result") or {}
    seconds = number_of(result.get("request_time"))
    variant = ", ".join(
        part
        for part in (f"perturbation {key[2]}" if key[2] else "", f"examples {key[3]}" if key[3] != "0" else "")
        if part
    )
    return {
        "place": place,
        "model": str(request["model"]),
        "task": task,
        "sample_id": key[0],
        "prompt": text_of(request["prompt"]),
        "variant": variant or None,
        "input": text_of(state["instance"]["input"]["text"]),
        "score": _score_of(key, state["instance"].get("perturbation"), scores),
        "split": text_of(state["instance"].get("split")),
        "latency_ms": None if seconds is None else seconds * 1000,
    }


def _answers_of(place: str, state: Mapping[str, Any], task: str, scores: _Scores) -> Iterator[Answer]:
    # the score is of the completion with the largest log-probability, which HELM compares
    common = _common(place, state, task, scores)
    references = state["instance"].get("references") or []
    right = [str(each["output"]["text"]) for each in references if CORRECT in each.get("tags", ())]
    mapping = {str(letter): str(text) for letter, text in (state.get("output_mapping") or {}).items()}
    fields = {"input": common["input"], **mapping}
    if mapping:
        letters = letters_of(len(mapping))
        golds = [letter for letter, text in zip(letters, mapping.values(), strict=True) if text in right]
        common |= {
            "choices": list(mapping.values()),
            "option_signs": list(mapping),
            "gold_label": golds[0] if golds else None,
        }
    else:
        wrong = [str(each["output"]["text"]) for each in references if CORRECT not in each.get("tags", ())]
        common |= {"gold_label": right[0] if len(right) == 1 else None, "references": right}
        common |= {"labels": sorted([*right, *wrong]) if wrong else ()}
    given = (state.get("result") or {}).get("completions") or [{"text": None}]
    refuse_many_given(place, len(given))
    weights = [number_of(each.get("logprob")) or 0.0 for each in given]
    scored = weights.index(max(weights))
    score = common.pop("score")
    for number, each in enumerate(given):
        said = text_of(each["text"])
        yield Answer(**common, fields=fields, completion=said, score=score if number == scored else None)


def _likeliest(states: Sequence[tuple[str, Mapping[str, Any]]], task: str, scores: _Scores) -> Answer:
    place, first = states[0]
    common = _common(place, first, task, scores)
    options = [str(each["output"]["text"]) for each in first["instance"]["references"]]
    right = [n for n, each in enumerate(first["instance"]["references"]) if CORRECT in each.get("tags", ())]
    by_option: dict[int, float] = {}
    for place_of_state, state in states:
        index = state["reference_index"]
        if index in by_option:
            msg = f"{place_of_state}: option {index} of instance {common['sample_id']!r} is asked a second time"
            raise DataError(msg)
        by_option[index] = float(state["result"]["completions"][0]["logprob"])
    missing = [text for index, text in enumerate(options) if index not in by_option]
    if missing:
        msg = f"{place}: instance {common['sample_id']!r} has no request for its option {missing[0][:60]!r}"
        raise DataError(msg)
    nats = [by_option[index] for index in range(len(options))]
    letters = letters_of(len(options))
    return Answer(
        **{**common, "prompt": None},
        instruction="(each option as the reply)",
        choices=options,
        loglikelihoods=nats,
        completion=letters[nats.index(max(nats))],
        gold_label=letters[right[0]] if right else None,
    )
