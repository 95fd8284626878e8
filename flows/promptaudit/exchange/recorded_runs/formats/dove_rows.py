"""Reads rows of the DOVE dataset and of its schema: a prediction a row, with the dimensions of its prompt.

The rows are nested (`model.model_info.name`, `instance.sample_identifier`, `output.response`, `evaluation.score`), in
Parquet, JSONL or one JSON list. The signs of options differ between prompts, so each variant is read by its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import (
    LETTERS,
    Answer,
    RecordedAnswers,
    Texts,
    letters_of,
    number_of,
    text_of,
)
from promptaudit.exchange.recorded_runs.formats.dove_prompts import (
    demonstrations_of,
    dimensions_of,
    fields_of,
    input_of,
    question_of,
    variant_of,
)
from promptaudit.exchange.recorded_runs.formats.rows import rows_of
from promptaudit.exchange.recorded_runs.formats.source import first_row
from promptaudit.registry.errors import DataError
from promptaudit.system.keys import as_json

PROGRAM = "dove"
SECTIONS = ("evaluation_id", "model", "prompt_config", "instance", "output", "evaluation")


def is_of_dove(columns: Iterable[str]) -> bool:
    """Checks that rows have the sections of DOVE's schema."""
    return set(SECTIONS) <= set(columns)


def begins_as_dove(head: bytes) -> bool:
    """Checks that the first row of a JSONL or JSON document has the sections of DOVE's schema."""
    return is_of_dove(first_row(head)) or (
        head.lstrip().startswith((b"[", b"{")) and all(f'"{name}"'.encode() in head for name in SECTIONS)
    )


def as_recorded(path: Path) -> RecordedAnswers:
    """Reads the answers of a file. Raises DataError naming file, row and field."""
    answers, texts = list[Answer](), Texts(path)
    for number, row in rows_of(path):
        place = f"{path} row {number}"
        try:
            answers += texts.take([_answer(place, row)])
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            msg = f"{place}: not a row of DOVE: {type(error).__name__} {str(error)[:80]}"
            raise DataError(msg) from None
    return RecordedAnswers(program=PROGRAM, answers=answers, task=path.stem)


def _answer(place: str, row: Mapping[str, Any]) -> Answer:
    instance, config = row["instance"], row["prompt_config"]
    dimensions = config.get("dimensions") or {}
    identifier = instance.get("sample_identifier") or {}
    asked = instance.get("classification_fields") or {}
    given = asked.get("choices") or []
    choices = [str(each["text"]) for each in given]
    signs = [str(each["id"]) for each in given]
    if len(choices) > len(LETTERS) and choices != signs:
        msg = f"{len(choices)} options; at most {len(LETTERS)} have a letter"
        raise ValueError(msg)
    truth = asked.get("ground_truth") or {}
    labels: list[str] = []
    gold, letters = text_of(row["evaluation"].get("ground_truth")), letters_of(len(choices))
    if choices and choices == signs:  # a closed set of labels
        labels, choices, signs, gold = choices, [], [], text_of(truth.get("id"))
    elif choices:
        right = [n for n, sign in enumerate(signs) if sign == truth.get("id")] or [
            n for n, text in enumerate(choices) if text == truth.get("text")
        ]
        gold = letters[right[0]] if right else None
    raw = instance.get("raw_input")
    shown = input_of(raw)
    question = text_of(asked.get("question")) or question_of(raw) or text_of(asked.get("full_input")) or shown
    index = identifier.get("hf_index")
    sample_id = text_of(identifier.get("sample_id"))  # in rows that we exported
    if sample_id is None:
        sample_id = str(index) if index not in (None, -1) else str(question)[:200]
    source = [identifier.get(name) for name in ("hf_repo", "hf_split", "hf_index")]
    score = number_of(row["evaluation"].get("score"))
    return Answer(
        place=place,
        model=_model_of(row["model"]),
        task=str(identifier.get("dataset_name") or "dove"),
        strategy=text_of(dimensions.get("strategy")),
        sample_id=sample_id,
        sample_key=as_json([*source, question]),
        settings=_quantization_of(row["model"]),
        completion=text_of(row["output"].get("response")),
        prompt=shown,
        fields=fields_of(raw, question),
        instruction=_phrasing_of(dimensions),
        variant=variant_of(dimensions),
        dimensions=dimensions_of(dimensions),
        demonstrations=demonstrations_of(dimensions),
        variation=text_of(dimensions.get("variation")),
        setting=text_of(dimensions.get("setting")),
        gold_label=gold,
        references=[] if choices or labels or gold is None else [gold],
        labels=labels,
        input=shown if isinstance(raw, Mapping) else question,
        choices=choices,
        option_signs=signs,
        score=score,
    )


def _phrasing_of(dimensions: Mapping[str, Any]) -> str | None:
    phrasing = dimensions.get("instruction_phrasing") or {}
    return text_of(phrasing.get("text") if isinstance(phrasing, dict) else phrasing)


def _quantization_of(model: Any) -> str | None:  # noqa: ANN401
    # a model reduced to fewer bits is another model
    for name in ("inference_settings", "configuration"):
        section = model.get(name) if isinstance(model, dict) else None
        given = section.get("quantization") if isinstance(section, dict) else None
        bits = given.get("bit_precision") if isinstance(given, dict) else given
        if bits not in (None, "", "none"):
            return str(bits)
    return None


def _model_of(model: Any) -> str:  # noqa: ANN401
    return str(model["model_info"]["name"]) if isinstance(model, dict) else str(model)
