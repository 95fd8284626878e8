"""Reads instance-level rows of the schema `every_eval_ever`: JSONL, one answer a line, with the right answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
from promptaudit.exchange.recorded_runs.formats.rows import rows_of
from promptaudit.exchange.recorded_runs.formats.source import first_row
from promptaudit.registry.errors import DataError

PROGRAM = "every_eval_ever"
FIELDS = (
    "schema_version",
    "evaluation_id",
    "model_id",
    "evaluation_name",
    "sample_id",
    "interaction_type",
    "evaluation",
)


def is_of_every_eval_ever(columns: Iterable[str]) -> bool:
    """Checks that rows have the fields that the schema demands."""
    return set(FIELDS) <= set(columns)


def begins_as_every_eval_ever(head: bytes) -> bool:
    """Checks that the first line of a JSONL file has the fields that the schema demands."""
    return is_of_every_eval_ever(first_row(head))


def as_recorded(path: Path) -> RecordedAnswers:
    """Reads the answers of a file. Where several metrics score one answer, the first metric of the sample counts."""
    answers: list[Answer] = []
    metrics: dict[tuple[str, str, str], str] = {}
    texts, n_more = Texts(path), 0
    for number, row in rows_of(path):
        place = f"{path} row {number}"
        try:
            key = (str(row["model_id"]), str(row["evaluation_name"]), str(row["sample_id"]))
            metric = str(row.get("evaluation_result_id"))
            if metrics.setdefault(key, metric) != metric:
                n_more += 1
                continue
            answers += texts.take(_answers_of(place, row))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            msg = f"{place}: not a row of every_eval_ever: {type(error).__name__} {str(error)[:80]}"
            raise DataError(msg) from None
    notes = (f"{path}: {n_more} rows score the same answers by another metric and are not read",) if n_more else ()
    return RecordedAnswers(program=PROGRAM, answers=answers, task=path.stem, notes=notes)


def _answers_of(place: str, row: Mapping[str, Any]) -> Iterator[Answer]:
    given, usage = row["input"], row.get("token_usage") or {}
    question = text_of(given["raw"]) or ""
    choices = [str(each) for each in given.get("choices") or []]
    references = [str(each) for each in given.get("reference") or []]
    gold = references[0] if len(references) == 1 else None
    latency = (row.get("performance") or {}).get("latency_ms")
    fields = {"input": question, **dict(zip(letters_of(len(choices)), choices, strict=False))}
    said = _said(row)
    refuse_many_given(place, len(said))
    score = (
        number_of(row["evaluation"].get("score")) if len(said) == 1 else None
    )  # with several answers nothing says which one was scored
    for completion in said:
        yield Answer(
            place=place,
            model=str(row["model_id"]),
            task=str(row["evaluation_name"]),
            sample_id=str(row["sample_id"]),
            completion=completion,
            prompt=text_of(given.get("formatted")) or question,
            fields=fields if given.get("formatted") else {},
            gold_label=letter_of(gold, choices, by_text=True) if choices else gold,
            references=[] if choices else references,
            input=question,
            choices=choices,
            score=score,
            prompt_tokens=whole_of(usage.get("input_tokens")),
            completion_tokens=whole_of(usage.get("output_tokens")),
            latency_ms=number_of(latency),
        )


def _said(row: Mapping[str, Any]) -> list[str | None]:
    # the responses of a single turn, or the model's last message of several
    output = row.get("output") or {}
    if output.get("raw"):
        raw = output["raw"]
        return [text_of(each) for each in (raw if isinstance(raw, list) else [raw])]
    said = [text_of(each.get("content")) for each in row.get("messages") or [] if each.get("role") == "assistant"]
    return said[-1:] or [None]
