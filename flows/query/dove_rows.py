"""Shapes answers as rows of DOVE's schema: model, prompt_config, instance, output and evaluation, one inside the other.

The schema demands what a run may not know. An answer without a completion, or of which nothing says what is right or how it
scored, is no row. Where a sample is of no dataset on the hub its repository is empty, its split `test` and its index its place
in the task; the language is `und`, undetermined. All else that is not known is left out, which Parquet writes as null.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from typing import Any

import polars as pl

from promptaudit.flows.query.dove_answer import DoveAnswer
from promptaudit.flows.query.dove_dimensions import dimensions
from promptaudit.flows.query.dove_models import model_section

_TEXT, _WHOLE, _REAL = pl.String(), pl.Int64(), pl.Float64()
_OPTION = pl.Struct({"id": _TEXT, "text": _TEXT})
_SPLITS = ("train", "test", "validation")
_BY_SIGN = ("label_only_match", "Compares only the choice identifier/label to evaluate the response.")
_METHODS = {
    "label_match": _BY_SIGN,
    "option_letter": _BY_SIGN,
    "token_f1": ("token_f1", "Compares the words of the response with those of the references."),
    "math_equal": ("math_equal", "Compares the value of the response with that of the reference."),
    "math_boxed": ("math_boxed", "Compares the value in the response's last box with that of the reference."),
    "exact": ("exact", "Compares the response with the reference as it is."),
    "contains": ("contains", "Looks for the reference in the response."),
    "regex": ("regex", "Looks for the pattern of the reference in the response."),
    "number": ("number", "Compares the number of the response with that of the reference."),
    "all_fields": ("all_fields", "Compares each field of the response's JSON object with its reference."),
}
_BY_LIKELIHOOD = "Compares the option that the model finds likeliest with the right one."
_CLASSES = {
    "multiple_choice": "MultipleChoice",
    "classification": "MultipleChoice",
    "open_ended": "OpenEnded",
    "extraction": "OpenEnded",
}
SCHEMA: dict[str, pl.DataType] = {
    "evaluation_id": _TEXT,
    "model": pl.Struct(
        {
            "model_info": pl.Struct({"name": _TEXT}),
            "configuration": pl.Struct({"context_window": _WHOLE, "hf_path": _TEXT, "revision": _TEXT}),
            "inference_settings": pl.Struct(
                {
                    "quantization": pl.Struct({"bit_precision": _TEXT, "method": _TEXT}),
                    "generation_args": pl.Struct(
                        {
                            "use_vllm": pl.Boolean(),
                            "temperature": _REAL,
                            "top_p": _REAL,
                            "max_tokens": _WHOLE,
                            "stop_sequences": pl.List(_TEXT),
                        }
                    ),
                }
            ),
        }
    ),
    "prompt_config": pl.Struct(
        {
            "prompt_class": _TEXT,
            "dimensions": pl.Struct(
                {
                    "instruction_phrasing": pl.Struct({"name": _TEXT, "text": _TEXT}),
                    "shots": _WHOLE,
                    "demonstrations": pl.List(pl.Struct({"question": _TEXT, "answer": _TEXT})),
                    "mc_enumerator": _TEXT,
                    "mc_separator": _TEXT,
                    "mc_choices_order": pl.Struct({"method": _TEXT, "description": _TEXT}),
                    "strategy": _TEXT,
                    "paraphrase_temperature": _REAL,
                    "variant_index": _WHOLE,
                    "variation": _TEXT,
                    "setting": _TEXT,
                }
            ),
        }
    ),
    "instance": pl.Struct(
        {
            "task_type": _TEXT,
            "raw_input": _TEXT,
            "language": _TEXT,
            "sample_identifier": pl.Struct(
                {
                    "dataset_name": _TEXT,
                    "hf_repo": _TEXT,
                    "hf_split": _TEXT,
                    "hf_index": _WHOLE,
                    "sample_id": _TEXT,
                }
            ),
            "classification_fields": pl.Struct(
                {"question": _TEXT, "choices": pl.List(_OPTION), "ground_truth": _OPTION}
            ),
        }
    ),
    "output": pl.Struct({"response": _TEXT}),
    "evaluation": pl.Struct(
        {
            "ground_truth": _TEXT,
            "evaluation_method": pl.Struct({"method_name": _TEXT, "description": _TEXT}),
            "score": _REAL,
        }
    ),
}


def dove_rows(rows: Sequence[dict[str, Any]], instructions: dict[tuple[str, str | None], int]) -> pl.DataFrame:
    """Returns one nested row an answer, without those that are none of DOVE's.

    `instructions` numbers a task's instructions in the order in which they come, over all calls of one export.
    """
    nested = []
    for row in (DoveAnswer(*(row[name] for name in DoveAnswer._fields)) for row in rows):
        number = instructions.setdefault((row.task, row.instruction), len(instructions))
        if row.completion is not None and row.score is not None:
            nested.append(_row(row, f"instruction {number}"))
    kept = [each for each in nested if each["evaluation"]["ground_truth"] is not None]
    return pl.DataFrame(
        {name: pl.Series(name, [row[name] for row in kept], dtype=dtype) for name, dtype in SCHEMA.items()}
    )


def _row(row: DoveAnswer, instruction: str) -> dict[str, Any]:
    labels = row.labels or []
    signs, options, truth = _options(row, labels)
    right = truth["id"] if truth else row.gold_label or next(iter(row.references or []), None)
    method = row.scoring_method
    name, description = _METHODS.get(method, (method, _BY_LIKELIHOOD))
    asked = row.input or ""
    return {
        "evaluation_id": row.prediction_id,
        "model": model_section(row),
        "prompt_config": {
            "prompt_class": _CLASSES[row.kind],
            "dimensions": dimensions(row, signs, instruction),
        },
        "instance": {
            "task_type": "classification" if options else "generation",
            "raw_input": _raw_input(row, truth),
            "language": "und",
            "sample_identifier": _identifier(row),
            "classification_fields": {"question": asked, "choices": options, "ground_truth": truth} if truth else None,
        },
        "output": {"response": row.completion},
        "evaluation": {
            "ground_truth": right,
            "evaluation_method": {"method_name": name, "description": description},
            "score": row.score,
        },
    }


def _raw_input(row: DoveAnswer, truth: object) -> str:
    """The prompt as it was sent, a blank line between messages; the sample's input where no fields beside it have that."""
    if truth is None or row.messages is None:
        return row.input or ""
    return "\n\n".join(message["content"] for message in json.loads(row.messages))


def _options(
    row: DoveAnswer, labels: Sequence[str]
) -> tuple[Sequence[str], list[dict[str, str]], dict[str, str] | None]:
    """Returns the signs of the options as they were shown, the options under them, and the right one."""
    texts = row.choices or labels
    order = row.option_order if row.choices else None
    if order:
        texts = [texts[place] for place in order]
    own = row.option_signs or labels
    signs = [*own, *string.ascii_uppercase[len(own) :]][: len(texts)]
    options = [{"id": sign, "text": text} for sign, text in zip(signs, texts, strict=False)]
    place = labels.index(row.gold_label) if row.gold_label in labels else None
    if order and place in order:
        place = order.index(place)
    return signs, options, options[place] if place is not None and place < len(options) else None


def _identifier(row: DoveAnswer) -> dict[str, Any]:
    data = json.loads(row.data or "{}")
    hub, split, sample = data.get("hub"), data.get("split"), row.sample_id
    is_row = hub is not None and data.get("id") is None and sample.isdecimal()
    return {
        "dataset_name": row.task,
        "hf_repo": hub or "",
        "hf_split": split if hub and split in _SPLITS else "test",
        "hf_index": int(sample) if is_row else row.sample_index,
        "sample_id": sample,
    }
