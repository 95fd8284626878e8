"""Reads logs of inspect_ai: `.eval` files, which are zips of JSON, and its JSON logs.

`inspect_ai.log` writes `header.json` (eval, plan, results) and one `samples/<id>_epoch_<n>.json` for each sample. A log
that was not finished has `_journal/start.json` instead of the header. A sample that was written in chunks has a folder
of its own: `sample.json`, whose `message_refs` are ranges of `messages/<start>.json`, and long texts in
`attachments/<start>.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import (
    Answer,
    RecordedAnswers,
    Texts,
    letter_of,
    letters_of,
    number_of,
    refuse_many_given,
    text_of,
    whole_of,
)
from promptaudit.exchange.recorded_runs.formats.source import ZipMembers, head_of, holds_all, json_file
from promptaudit.registry.errors import DataError
from promptaudit.registry.tables import MAX_TEXT
from promptaudit.system.keys import as_json

PROGRAM = "inspect_ai"
MOST_OF_A_SAMPLE = 4 * MAX_TEXT  # characters
MAX_SCORERS = 1000
_IN_CHUNKS = "/sample.json"
_ZIP = b"PK\x03\x04"
_SAMPLE = re.compile(r"samples/[^/]+(\.json|/sample\.json)")
_JSON_LOG = (rb'"eval"\s*:\s*\{', rb'"run_id"\s*:\s*"', rb'"task"\s*:\s*"', rb'"(samples|eval_id)"\s*:')
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # as inspect_ai's value_to_float reads them
# settings of how a request is sent, which do not change the answer; a retry may have others
_NOT_OF_THE_MODEL = (
    "max_retries",
    "timeout",
    "attempt_timeout",
    "max_connections",
    "adaptive_connections",
    "batch",
    "cache",
)


def is_of_inspect(path: Path, head: bytes) -> bool:
    """Recognises a zip with the members of a log, or a JSON log with its keys in any order."""
    if head.startswith(_ZIP):
        names = ZipMembers(path).names
        return "header.json" in names or "_journal/start.json" in names
    return head.lstrip().startswith(b"{") and holds_all(path, _JSON_LOG)


def as_recorded(path: Path) -> RecordedAnswers:
    """Reads the answers of a log. Raises DataError naming file and sample."""
    log, samples = _of_zip(path) if head_of(path).startswith(_ZIP) else _of_json(path)
    spec = _object(log.get("eval"), path, "eval")
    model, task = text_of(spec.get("model")), text_of(spec.get("task"))
    if not model or not task:
        msg = f"{path}: its header names no model and task: not a log of inspect_ai"
        raise DataError(msg)
    settings = {
        name: value
        for name, value in _fields(spec.get("model_generate_config")).items()
        if value is not None and name not in _NOT_OF_THE_MODEL
    }
    common = {"model": model, "task": task, "settings": as_json(settings) if settings else None}
    task_id = text_of(spec.get("task_id"))
    answers: list[Answer] = []
    texts = Texts(path)
    scores: list[dict[str, Any]] = []  # of every answer
    n_errors = n_several = 0
    for place, sample in samples:
        try:
            of_sample = texts.take(_answers_of(f"{path} {place}", sample, common, task_id))
            scores += [_values_of(sample), *[{} for _ in of_sample[1:]]]
            n_several += _has_several(sample)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            msg = f"{path} {place[:200]}: not a sample of inspect_ai: {type(error).__name__} {str(error)[:80]}"
            raise DataError(msg) from None
        n_errors += of_sample[0].completion is None
        answers += of_sample
    notes = [f"{path}: {n_errors} samples ended in an error and have no answer"] if n_errors else []
    read, more = _scored(path, scores, log)
    answers = [replace(each, score=score) for each, score in zip(answers, read, strict=True)]
    notes += [f"{path}: {note}" for note in more]
    reducers = _fields(spec.get("config")).get("epochs_reducer")
    if isinstance(reducers, list) and reducers not in ([], ["mean"]):
        named = ", ".join(str(each)[:40] for each in reducers)
        notes.append(f"{path}: the log's own figures are of epochs that it reduces by {named}; here each answer counts")
    if n_several:
        notes.append(
            f"{path}: {n_several} samples have several right options, which are not read: they have no gold label"
        )
    return RecordedAnswers(program=PROGRAM, answers=answers, task=task, notes=tuple(notes))


def _of_zip(path: Path) -> tuple[Mapping[str, Any], Iterator[tuple[str, Mapping[str, Any]]]]:
    members = ZipMembers(path)
    header = members.json("header.json" if "header.json" in members.names else "_journal/start.json")
    names = [name for name in members.names if _SAMPLE.fullmatch(name)]
    return _object(header, path, "header"), (
        (name, _whole_sample(members, name, _object(members.json(name), path, name))) for name in names
    )


def _whole_sample(members: ZipMembers, name: str, sample: Mapping[str, Any]) -> Mapping[str, Any]:
    if not name.endswith(_IN_CHUNKS):
        return sample
    folder = name.removesuffix(_IN_CHUNKS)
    try:
        messages = _sequence(members, f"{folder}/messages/")
        asked = _referred(messages, sample.get("message_refs") or ())
        texts = _sequence(members, f"{folder}/attachments/")
    except (TypeError, ValueError) as error:
        msg = f"{members.path} {name[:200]}: not a sample of inspect_ai: {str(error)[:80]}"
        raise DataError(msg) from None
    return {**sample, "messages": asked, "attachments": {str(place): text for place, text in enumerate(texts)}}


def _referred(messages: Sequence[Any], ranges: Sequence[Any]) -> list[Any]:
    # up to the model's first reply, after which nothing is read; ranges of a few bytes would make any number of
    # messages
    asked: list[Any] = []
    for start, stop in ranges:
        for message in messages[start:stop]:
            asked.append(message)
            if isinstance(message, dict) and message.get("role") == "assistant":
                return asked
        if len(asked) > 2 * len(messages):
            msg = f"message_refs: more than twice the {len(messages):,} messages that there are"
            raise ValueError(msg)
    return asked


def _sequence(members: ZipMembers, folder: str) -> list[Any]:
    chunks = {name: re.fullmatch(r"(\d{1,12})\.json", name.removeprefix(folder)) for name in members.under(folder)}
    numbered = sorted((int(found[1]), name) for name, found in chunks.items() if found)
    return [item for _, name in numbered for item in members.json(name)]


def _of_json(path: Path) -> tuple[Mapping[str, Any], Iterator[tuple[str, Mapping[str, Any]]]]:
    log = _object(json_file(path), path, "log")
    samples = log.get("samples") or []
    if not isinstance(samples, list):
        msg = f"{path} samples: a list is wanted, found {type(samples).__name__}"
        raise DataError(msg)
    return log, ((f"row {n}", _object(sample, path, f"row {n}")) for n, sample in enumerate(samples, start=1))


def _fields(value: Any) -> Mapping[str, Any]:  # noqa: ANN401
    return value if isinstance(value, dict) else {}


def _object(value: Any, path: Path, place: str) -> Mapping[str, Any]:  # noqa: ANN401
    if not isinstance(value, dict):
        msg = f"{path} {place[:200]}: an object is wanted, found {type(value).__name__}"
        raise DataError(msg)
    return value


def _targets_of(sample: Mapping[str, Any]) -> list[str]:
    targets = sample.get("target")
    texts = [str(each) for each in (targets if isinstance(targets, list) else [targets]) if each is not None]
    return [text for text in texts if text.strip()]  # a task without a target has a blank one


def _has_several(sample: Mapping[str, Any]) -> bool:
    return bool(sample.get("choices")) and len(_targets_of(sample)) > 1


def _answers_of(
    place: str, sample: Mapping[str, Any], common: Mapping[str, Any], task_id: str | None
) -> Iterator[Answer]:
    # Tokens, cost and score are of all choices together: the first answer has them. `inspect eval-retry` keeps a task's
    # id, and the uuid of the samples that were done; logs of 2024 have no uuid.
    for name in ("id", "input"):
        if sample.get(name) is None:
            msg = f"{place}: {name}: a value is wanted, found nothing"
            raise DataError(msg)
    attachments = _Attachments(sample.get("attachments") or {})
    output: Mapping[str, Any] = sample.get("output") or {}
    given: list[Mapping[str, Any]] = output.get("choices") or [{}]
    refuse_many_given(place, len(given))
    usage: Mapping[str, Any] = output.get("usage") or {}
    choices = [str(each) for each in sample.get("choices") or []]
    targets = _targets_of(sample)
    asked = _asked(sample, attachments)
    question = asked if isinstance(sample["input"], list) else _whole(str(sample["input"]), attachments)
    seconds = number_of(output.get("time"))
    gold = targets[0] if len(targets) == 1 else None
    # options that are all there once are the same in any order
    options = sorted(choices) if len(set(choices)) == len(choices) else choices
    ask = None if task_id is None else as_json([task_id, sample["id"], sample.get("epoch", 1)])
    first = Answer(
        **common,
        place=place,
        sample_id=str(sample["id"]),
        completion=_said(given[0], output, sample, attachments),
        prompt=asked,
        fields={"input": question, **dict(zip(letters_of(len(choices)), choices, strict=False))},
        gold_label=letter_of(gold, choices) if choices else gold,
        references=[] if choices else targets,
        input=question,
        choices=choices,
        sample_key=as_json([str(sample["id"]), options]) if choices else None,
        uuid=text_of(sample.get("uuid")),
        ask=ask,
        is_failed=bool(sample.get("error")),
        prompt_tokens=whole_of(usage.get("input_tokens")),
        completion_tokens=whole_of(usage.get("output_tokens")),
        cost_usd=number_of(usage.get("total_cost")),
        latency_ms=None if seconds is None else seconds * 1000,
        finish_reason=_stop_of(given[0]),
    )
    yield first
    for number, choice in enumerate(given[1:], start=2):
        yield replace(
            first,
            completion=_said(choice, {}, sample, attachments),
            finish_reason=_stop_of(choice),
            prompt_tokens=None,
            completion_tokens=None,
            cost_usd=None,
            latency_ms=None,
            uuid=first.uuid and f"{first.uuid} {number}",
            ask=first.ask and f"{first.ask} {number}",
        )


def _stop_of(choice: Mapping[str, Any]) -> str | None:
    reason = text_of(choice.get("stop_reason"))
    return None if reason == "unknown" else reason


def _asked(sample: Mapping[str, Any], attachments: _Attachments) -> str:
    asked = []
    for message in sample.get("messages") or []:
        if message.get("role") == "assistant":
            break
        asked.append(_content(message.get("content"), attachments))
    if not asked:
        given = sample["input"]
        asked = [_content(each.get("content"), attachments) for each in given] if isinstance(given, list) else [given]
    return "\n\n".join(asked)


def _said(
    choice: Mapping[str, Any], output: Mapping[str, Any], sample: Mapping[str, Any], attachments: _Attachments
) -> str | None:
    if sample.get("error") and not choice:
        return None
    content = (choice.get("message") or {}).get("content")
    if content is None:
        content = output.get("completion")
    return None if content is None else _content(content, attachments)


def _content(content: Any, attachments: _Attachments) -> str:  # noqa: ANN401
    # a message may also have parts of reasoning, images or calls of tools
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(_whole(str(text), attachments) for text in texts if text is not None)
    return _whole(text_of(content) or "", attachments)


def _whole(text: str, attachments: _Attachments) -> str:
    # a long text stands apart, with `attachment://…` in its place
    return attachments.whole(text) if text.startswith("attachment://") else text


class _Attachments:
    # together, a sample's answers have no more of these long texts than a few answers may have

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self._texts = texts
        self._left = MOST_OF_A_SAMPLE

    def whole(self, name: str) -> str:
        text = str(self._texts.get(name.removeprefix("attachment://"), name))
        self._left -= len(text)
        if self._left < 0:
            msg = f"attachments: they are put in so often that it is more than {MOST_OF_A_SAMPLE:,} characters"
            raise ValueError(msg)
        return text


def _values_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    # the first logs had one scorer, without its name
    scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
    return {str(name): each.get("value") if isinstance(each, dict) else None for name, each in scores.items()}


def _scored(
    path: Path, scores: Sequence[Mapping[str, Any]], log: Mapping[str, Any]
) -> tuple[list[float | None], list[str]]:
    # the first scorer that gives numbers counts, in the order of the log's results
    listed = _fields(log.get("results")).get("scores") or []
    order = [str(each.get("name")) for each in listed if isinstance(each, dict)]
    names = dict.fromkeys(name for of_answer in scores for name in of_answer)
    names = dict.fromkeys([*(name for name in order if name in names), *names])
    if not names:
        return [None] * len(scores), []
    if len(names) > MAX_SCORERS:
        msg = f"{path}: scores of {len(names)} scorers, at most {MAX_SCORERS} are read"
        raise DataError(msg)
    with_numbers = {name for of_answer in scores for name, said in of_answer.items() if _score(said) is not None}
    chosen = next((name for name in names if name in with_numbers), next(iter(names)))
    read = [_score(each.get(chosen)) for each in scores]
    notes = []
    others = [name for name in names if name != chosen]
    if others:
        notes.append(f"the scores of '{chosen}' are read, those of {', '.join(others)} are not")
    no_numbers = [
        of_answer[chosen]
        for of_answer, score in zip(scores, read, strict=True)
        if score is None and of_answer.get(chosen) is not None
    ]
    if no_numbers:
        shown = ", ".join(list(dict.fromkeys(repr(text_of(value))[:40] for value in no_numbers))[:3])
        notes.append(
            f"{len(no_numbers)} scores of '{chosen}' are no numbers ({shown}) and are not read: neither right nor wrong"
        )
    return read, notes


def _score(value: Any) -> float | None:  # noqa: ANN401
    if isinstance(value, str):
        return _VALUES.get(value, _number_in(value))
    return None if isinstance(value, Sequence) else number_of(value)


def _number_in(text: str) -> float | None:
    folded = text.strip().lower()
    if folded in ("yes", "true", "no", "false"):
        return 1.0 if folded in ("yes", "true") else 0.0
    try:
        return number_of(float(folded))
    except ValueError:
        return None
