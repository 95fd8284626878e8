"""Reads what lm-evaluation-harness writes under `--log_samples`: `samples_<task>_<date>.jsonl`, one answer a line.

`doc` is the sample, `arguments` what the model was given, `resps` what it gave, `filtered_resps` what of this was
scored, `target` what is right. The options of a multiple-choice question are separate requests, each with its
log-likelihood; the answer is the letter of the likeliest. The model's name stands in `results_<date>.json` beside the
file. Versions 0.4.0 to 0.4.2 wrote one JSON list with the rows of every filter, and did not name the filters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import (
    Answer,
    RecordedAnswers,
    Texts,
    letter_of,
    letters_of,
    number_of,
    refuse_many_fields,
    refuse_many_given,
    text_of,
)
from promptaudit.exchange.recorded_runs.formats.rows import rows_of
from promptaudit.exchange.recorded_runs.formats.source import MAX_BESIDE, first_row, json_file
from promptaudit.registry.cards import is_number
from promptaudit.registry.errors import DataError
from promptaudit.system.keys import as_json

PROGRAM = "lm_eval"
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+)")
_INDEX = re.compile(r"[0-9]{1,3}")
_MAX_TARGET = 20_000  # characters of a list of targets
_METRICS = ("acc", "exact_match")  # the first there is says what the harness counts as right
NOT_READ = "not read"
LIKELIEST, NOT_LIKELIEST = "likeliest", "not likeliest"
"""Labels of a task whose one reply was weighed (output type loglikelihood): whether it is the likeliest of all."""


def is_of_lm_eval(head: bytes) -> bool:
    """Checks that the first row has the keys of a logged sample."""
    return {"doc_id", "doc", "arguments", "resps"} <= first_row(head).keys()


def as_recorded(path: Path, model: str | None) -> RecordedAnswers:
    """Reads the answers of a file.

    `model` is the model's name; without it, `results_<date>.json` beside the file must name it. Raises DataError where
    none does.
    """
    named = _NAME.fullmatch(path.stem)
    task = named["task"] if named else path.stem
    beside = path.with_name(f"results_{named['date']}.json") if named else None
    has_results = beside is not None and beside.is_file()
    if model is None and beside is not None and has_results:
        results = json_file(beside, MAX_BESIDE)
        model = text_of(results.get("model_name")) if isinstance(results, dict) else None
        model = model or (text_of(results.get("model_source")) if isinstance(results, dict) else None)
    if not model:
        wanted = beside.name if beside is not None else "results_<date>.json"
        msg = f"{path}: samples of lm-evaluation-harness name no model, and {wanted}, which does, is not beside it; --model NAME"
        raise DataError(msg)
    rows, notes = _rows_of_one_filter(path)
    texts = Texts(path)
    read = [(row, texts.take(_answers_of(f"{path} row {number}", row, model, task))) for number, row in rows]
    counted = {
        f"samples have several answers and one score, which is of none of them alone: {NOT_READ}": sum(
            len(answers) > 1 and _score(row) is not None and all(each.score is None for each in answers)
            for row, answers in read
        ),
        "samples have the log-likelihood of one reply and no answer (output type loglikelihood): "
        f"their label is whether it is the {LIKELIEST}": sum(bool(answers[0].labels) for _, answers in read),
        "questions have no gold label, since their target is no option or several": sum(
            bool(answers[0].choices) and answers[0].gold_label is None and row.get("target") is not None
            for row, answers in read
        ),
    }
    notes += [f"{path}: {n} {what}" for what, n in counted.items() if n]
    return RecordedAnswers(
        program=PROGRAM,
        answers=[each for _, answers in read for each in answers],
        task=task,
        notes=tuple(notes),
        beside=(beside,) if beside is not None and has_results else (),
    )


def _rows_of_one_filter(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    # rows that give the same answers through another filter are left out
    filters: dict[str | None, int] = {}
    rows: dict[str, tuple[int, dict[str, Any]]] = {}
    n_again = 0
    for number, row in rows_of(path):
        name = text_of(row.get("filter"))
        filters[name] = filters.get(name, 0) + 1
        if None in filters and len(filters) > 1:
            msg = f"{path} row {number}: filter: this row has {name or 'none'}, and others have {'none' if name else 'one'}"
            raise DataError(msg)
        if name == next(iter(filters)):
            key = as_json([row.get("doc_id"), row.get("arguments"), row.get("resps")])
            n_again += key in rows
            rows.setdefault(key, (number, row))
    notes = [
        f"{path}: {n} rows of filter '{name}' repeat the answers of filter '{next(iter(filters))}' and are {NOT_READ}"
        for name, n in list(filters.items())[1:]
    ]
    if n_again:
        notes.append(
            f"{path}: {n_again} rows repeat the answers of others, as those of a second filter do, and are {NOT_READ}"
        )
    return list(rows.values()), notes


def _answers_of(place: str, row: Mapping[str, Any], model: str, task: str) -> Iterator[Answer]:
    try:
        requests = [[request[name] for name in sorted(request)] for request in _requests(row["arguments"])]
        responses = row["resps"]
        if len(requests[0]) == 1 and is_number(
            str(responses[0][0] if isinstance(responses[0], list) else responses[0])
        ):
            msg = f"{place}: its task weighs whole texts (output type loglikelihood_rolling), so there is no answer to measure"
            raise DataError(msg)
        doc = row["doc"] if isinstance(row["doc"], dict) else {"doc": row["doc"]}
        refuse_many_fields(place, doc)
        is_weighed = _is_weighed(responses)
        target = row.get("target")
        targets = _targets_of(target, wanted=int if is_weighed else str)
        # what is right may stand among the words of the instruction
        right = set(targets)
        fields = {name: value for name, value in doc.items() if isinstance(value, str) and value not in right}
        common: dict[str, Any] = {
            "place": place,
            "model": model,
            "task": task,
            "sample_id": str(row["doc_id"]),
            "sample_key": as_json([row["doc_id"], doc]),
            "prompt": text_of(requests[0][0]),
            "input": _input_of(fields, text_of(requests[0][0])),
        }
        score = _score(row)
        if is_weighed and len(requests) == 1:
            said = LIKELIEST if str(responses[0][0][1]) == "True" else NOT_LIKELIEST
            labels = (LIKELIEST, NOT_LIKELIEST)
            yield Answer(**common, fields=fields, completion=said, gold_label=LIKELIEST, labels=labels, score=score)
            return
        if is_weighed:
            asked = _with_prompt(requests, row)
            requests, responses = [requests[n] for n in asked], [responses[n] for n in asked]
            yield _chosen({**common, "score": score}, fields, requests, responses, targets, number_of(row.get("acc")))
            return
        gold = targets[0] if len(targets) == 1 else None
        given = [text_of(said) for each in responses for said in (each if isinstance(each, list) else [each])]
        refuse_many_given(place, len(given))
        scored = _scored(given, row.get("filtered_resps"))
        for number, completion in enumerate(given):
            yield Answer(
                **common,
                fields=fields,
                completion=completion,
                gold_label=gold,
                references=targets,
                score=score if number == scored else None,
            )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        msg = f"{place}: not a sample of lm-evaluation-harness: {type(error).__name__} {str(error)[:80]}"
        raise DataError(msg) from None


def _scored(given: Sequence[str | None], filtered: Any) -> int | None:  # noqa: ANN401
    # The first answer that the filter let through unchanged. A filter that takes the vote of several answers, or a part
    # of each, leaves a text that may be none of theirs.
    if len(given) == 1:
        return 0
    kept = filtered[0] if isinstance(filtered, list) and len(filtered) == 1 else None
    return given.index(kept) if isinstance(kept, str) and kept in given else None


def _with_prompt(requests: Sequence[Sequence[Any]], row: Mapping[str, Any]) -> list[int]:
    # under acc_mutual_info each option is asked for once more, without the prompt
    prompted = [n for n, request in enumerate(requests) if request[0]]
    if 2 * len(prompted) == len(requests):
        return prompted
    is_twice = not prompted and "acc_mutual_info" in row and len(requests) % 2 == 0
    return list(range(len(requests) // 2 if is_twice else len(requests)))


def _requests(arguments: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401
    # `gen_args_0: {arg_0, arg_1}`; older versions wrote lists
    if isinstance(arguments, dict):
        return [arguments[name] for name in sorted(arguments, key=lambda name: int(name.rsplit("_", 1)[1]))]
    return [{f"arg_{index}": value for index, value in enumerate(each)} for each in arguments]


def _targets_of(target: Any, wanted: type) -> list[str]:  # noqa: ANN401
    # several are a list of places or of references, or the text that the harness writes of this list
    if isinstance(target, str) and target.startswith("[") and len(target) <= _MAX_TARGET:
        try:
            listed = ast.literal_eval(target)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            listed = None
        if isinstance(listed, list) and listed and all(type(each) in (wanted, str) for each in listed):
            target = listed
    return [text_of(each) or "" for each in (target if isinstance(target, list) else [target]) if each is not None]


def _is_weighed(responses: Sequence[Any]) -> bool:
    # a weighed response is a pair: the log-likelihood, and whether the reply is the likeliest
    first = responses[0][0]
    return isinstance(first, list) and len(first) == 2  # noqa: PLR2004 - a pair


def _chosen(
    common: dict[str, Any],
    fields: Mapping[str, str],
    requests: list[list[Any]],
    responses: list[Any],
    targets: Sequence[str],
    accuracy: float | None,
) -> Answer:
    replies = [str(request[1]) for request in requests]
    if len(set(replies)) == 1:  # the options stand in the prompt, the reply is the same
        replies = [str(request[0]) for request in requests]
    choices = [reply.strip() for reply in replies]
    nats = [float(response[0][0]) for response in responses]
    letters = letters_of(len(choices))
    best = [letter for letter, value in zip(letters, nats, strict=True) if value == max(nats)]
    named = _named(targets[0], choices, letters) if len(targets) == 1 else []
    if len(named) > 1:  # a number that is the place of one option and the text of another
        named = [letter for letter in named if (letter == best[0]) == (accuracy == 1.0)] if accuracy is not None else []
    gold = named[0] if len(named) == 1 else None
    return Answer(
        **common,
        fields={**fields, **dict(zip(letters, choices, strict=True))},
        choices=choices,
        completion=best[0],
        gold_label=gold,
        loglikelihoods=nats,
    )


def _named(target: str, choices: Sequence[str], letters: Sequence[str]) -> list[str]:
    # a target is an option's place, from 0, or its text
    by_name = letter_of(target, choices, by_text=True)
    is_place = _INDEX.fullmatch(target) is not None and int(target) < len(choices)
    found = [letters[int(target)]] if is_place else []
    return list(dict.fromkeys([*found, *([by_name] if by_name is not None else [])]))


def _input_of(fields: Mapping[str, str], prompt: str | None) -> str | None:
    # the longest text of the sample that stands in the prompt
    return max((text for text in fields.values() if text and prompt and text in prompt), key=len, default=prompt)


def _score(row: Mapping[str, Any]) -> float | None:
    for name in (*_METRICS, *(row.get("metrics") or ())):
        value = number_of(row.get(name))
        if value is not None:
            return value
    return None
