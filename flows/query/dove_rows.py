"""Shapes answers as rows of the DOVE dataset: model, prompt_config, instance, output and evaluation, one inside the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

_TEXT = pl.String()
_OPTION = pl.Struct({"id": _TEXT, "text": _TEXT})
_METHODS = {
    "multiple_choice": ("label_only_match", "Compares only the choice identifier/label to evaluate the response."),
    "classification": ("label_only_match", "Compares only the choice identifier/label to evaluate the response."),
    "open_ended": ("token_f1", "Compares the words of the response with those of the references."),
}
_CLASSES = {"multiple_choice": "MultipleChoice", "classification": "Classification", "open_ended": "OpenEnded"}
SCHEMA: dict[str, pl.DataType] = {
    "evaluation_id": _TEXT,
    "model": pl.Struct({
        "model_info": pl.Struct({"name": _TEXT, "family": _TEXT}), "configuration": pl.Struct({"hf_path": _TEXT}),
    }),
    "prompt_config": pl.Struct({
        "prompt_class": _TEXT,
        "dimensions": pl.Struct({
            "instruction_phrasing": pl.Struct({"text": _TEXT, "name": _TEXT}),
            "enumerator": _TEXT,
            "choices_order": pl.Struct({"method": _TEXT, "description": _TEXT}),
            "paraphrase_temperature": pl.Float64(),
            "strategy": _TEXT,
            "variant_index": pl.Int64(),
            "variation": _TEXT,
            "setting": _TEXT,
        }),
    }),
    "instance": pl.Struct({
        "task_type": _TEXT, "raw_input": _TEXT, "language": _TEXT,
        "sample_identifier": pl.Struct({"dataset_name": _TEXT, "hf_repo": _TEXT, "hf_index": _TEXT, "hf_split": _TEXT}),
        "classification_fields": pl.Struct({"question": _TEXT, "choices": pl.List(_OPTION), "ground_truth": _OPTION}),
    }),
    "output": pl.Struct({"response": _TEXT, "cumulative_logprob": pl.Float64()}),
    "evaluation": pl.Struct({
        "ground_truth": _TEXT, "evaluation_method": pl.Struct({"method_name": _TEXT, "description": _TEXT}),
        "score": pl.Float64(),
    }),
}  # fmt: skip


def dove_rows(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Returns one nested row an answer; an answer without a completion is none of DOVE's and is left out."""
    nested = [_row(row) for row in rows if row["completion"] is not None or row["is_sensitive"]]
    return pl.DataFrame(
        {name: pl.Series(name, [row[name] for row in nested], dtype=dtype) for name, dtype in SCHEMA.items()}
    )


def _choices_order(row: dict[str, Any]) -> dict[str, str]:
    """Returns how the options of a variant were ordered, by the name that its setting has for it."""
    name = json.loads(row["setting"] or "{}").get("option_order")
    if name is None and not row["option_order"]:
        return {"method": "none", "description": "Preserves the original order of choices as provided"}
    return {"method": str(name or "reordered"), "description": "Choices stand as they were shown, in this order"}


def _raw_input(row: dict[str, Any]) -> str | None:
    """Returns the whole prompt as one text, a blank line between messages; where it is not recorded, the sample's input."""
    if row["messages"] is None:
        own: str | None = row["input"]
        return own
    return "\n\n".join(message["content"] for message in json.loads(row["messages"]))


def _row(row: dict[str, Any]) -> dict[str, Any]:
    labels = row["labels"] or []
    texts = row["choices"] or (labels if row["kind"] == "classification" else [])
    order = row["option_order"] if row["choices"] else None
    if order:
        texts = [texts[place] for place in order]
    signs = (row["option_signs"] or labels)[: len(texts)]
    options = [{"id": sign, "text": text} for sign, text in zip(signs, texts, strict=True)]
    place = labels.index(row["gold_label"]) if row["gold_label"] in labels else None
    if order and place in order:
        place = order.index(place)
    truth = options[place] if place is not None and place < len(options) else None
    gold = row["gold_label"] if truth is None else truth["id"]
    method, description = _METHODS[row["kind"]]
    return {
        "evaluation_id": row["prediction_id"],
        "model": {"model_info": {"name": row["model"], "family": None}, "configuration": {"hf_path": None}},
        "prompt_config": {
            "prompt_class": _CLASSES[row["kind"]],
            "dimensions": {
                "instruction_phrasing": {"text": row["instruction"], "name": f"variant {row['variant_index']}"},
                "enumerator": ", ".join(signs) or None,
                "choices_order": _choices_order(row),
                "paraphrase_temperature": row["paraphrase_temperature"], "strategy": row["strategy"],
                "variant_index": row["variant_index"], "variation": row["variation"], "setting": row["setting"],
            },
        },
        "instance": {
            "task_type": "classification" if labels else "generation", "raw_input": _raw_input(row), "language": None,
            "sample_identifier": {
                "dataset_name": row["task"], "hf_repo": None, "hf_index": row["sample_id"], "hf_split": None,
            },
            "classification_fields": {"question": row["input"], "choices": options, "ground_truth": truth},
        },
        "output": {"response": row["completion"], "cumulative_logprob": None},
        "evaluation": {
            "ground_truth": gold if labels else next(iter(row["references"] or []), None),
            "evaluation_method": {"method_name": method, "description": description},
            "score": None if row["is_correct"] is None else float(row["is_correct"]),
        },
    }  # fmt: skip
