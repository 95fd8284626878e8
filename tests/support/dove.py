"""Rows as the schema of the DOVE dataset has them, and a JSON Schema of what it demands, written from its field names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

TEXT: dict[str, Any] = {"type": "string"}


def record(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """An object with fields that must be there and fields that may."""
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def one_of(*values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


OPTION = record({"id": TEXT, "text": TEXT})
MODEL = record(
    {
        "model_info": record(
            {"name": TEXT},
            family=one_of("Llama", "Mistral", "OLMo", "gemma", "gpt", "palm", "claude", "falcon", "Qwen", None),
        ),
        "configuration": record({"context_window": {"type": "integer", "minimum": 1}}, hf_path=TEXT, revision=TEXT),
        "inference_settings": record(
            {
                "quantization": record(
                    {
                        "bit_precision": one_of("none", "int8", "int4", "float16", "float32"),
                        "method": one_of("None", "dynamic", "static"),
                    }
                )
            },
            generation_args=record(
                {},
                use_vllm={"type": "boolean"},
                temperature={"type": "number"},
                top_p={"type": "number"},
                top_k={"type": "number"},
                max_tokens={"type": "integer", "minimum": 1},
                stop_sequences={"type": "array", "items": TEXT},
            ),
        ),
    }
)
DIMENSIONS = record(
    {
        "instruction_phrasing": record({"name": TEXT, "text": TEXT}),
        "shots": {"type": "integer", "minimum": 0, "maximum": 10},
    },
    demonstrations={"type": "array"},
    mc_enumerator=one_of("capitals", "lowercase", "numbers", "roman", "keyboard", "greek"),
    mc_separator=one_of("\\s", "\n", ", ", "; ", " | ", " OR ", " or "),
    mc_choices_order=record({"method": TEXT, "description": TEXT}),
    table_serialization=record({}, method=one_of("csv", "json", "html", "markdown", "xml", "latex", "list_of_lists")),
    table_perturbation=record(
        {}, methods={"type": "array", "items": one_of("none", "shuffle_rows", "shuffle_columns", "transpose")}
    ),
)
RAW_INPUT = {
    "anyOf": [
        TEXT,
        {"type": "array", "items": record({"role": TEXT, "content": TEXT})},
        record({}, table=TEXT, question=TEXT),
    ]
}
SCHEMA = record(
    {
        "evaluation_id": TEXT,
        "model": MODEL,
        "prompt_config": record(
            {"prompt_class": one_of("MultipleChoice", "OpenEnded", "Completion", "Table"), "dimensions": DIMENSIONS}
        ),
        "instance": record(
            {
                "task_type": one_of("classification", "generation"),
                "raw_input": RAW_INPUT,
                "language": TEXT,
                "sample_identifier": record(
                    {
                        "dataset_name": TEXT,
                        "hf_repo": TEXT,
                        "hf_split": one_of("train", "test", "validation"),
                        "hf_index": {"type": "integer"},
                    }
                ),
            },
            classification_fields=record(
                {"question": TEXT, "choices": {"type": "array", "items": OPTION}, "ground_truth": OPTION}
            ),
        ),
        "output": record({"response": TEXT}, cumulative_logprob={"type": "number"}),
        "evaluation": record(
            {
                "ground_truth": TEXT,
                "evaluation_method": record({"method_name": TEXT, "description": TEXT}),
                "score": {"type": "number", "minimum": 0, "maximum": 1},
            }
        ),
    }
)
_VALIDATOR = Draft202012Validator(SCHEMA)


def without_nulls(value: Any) -> Any:
    """A value as JSON would have it: Parquet writes null where a field is absent."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def faults(row: Mapping[str, Any]) -> list[str]:
    """What the schema finds wrong with a row, by place."""
    return sorted(f"{error.json_path}: {error.message}" for error in _VALIDATOR.iter_errors(row))


SIGNS = {"capitals": "ABCD", "lowercase": "abcd", "numbers": "1234", "greek": "αβγδ"}
CHOICES = ("red", "green", "blue", "grey")
ORDERS = {"none": (0, 1, 2, 3), "reversed": (3, 2, 1, 0)}


def choice_row(
    sample: int,
    *,
    said: int,
    phrasing: str = "Choose.",
    enumerator: str = "capitals",
    order: str = "none",
    demonstrations: Sequence[Mapping[str, Any]] = (),
    model: str = "mock/mock-7b",
) -> dict[str, Any]:
    """A multiple-choice row in the names of the schema: `said` is the place in CHOICES of the option that is answered."""
    signs, shown = SIGNS[enumerator], ORDERS[order]
    options = [{"id": sign, "text": CHOICES[place]} for sign, place in zip(signs, shown, strict=True)]
    gold, given = shown.index(sample % 4), shown.index(said)
    text = f"{phrasing} What comes after {sample}?\n" + "\n".join(f"{each['id']}. {each['text']}" for each in options)
    return {
        "evaluation_id": f"{model} {sample} {phrasing} {enumerator} {order} {len(demonstrations)}",
        "model": {
            "model_info": {"name": model, "family": None},
            "configuration": {"context_window": 4096},
            "inference_settings": {"quantization": {"bit_precision": "none", "method": "None"}},
        },
        "prompt_config": {
            "prompt_class": "MultipleChoice",
            "dimensions": {
                "instruction_phrasing": {"name": "p", "text": f"{phrasing} {{question}}\n{{choices}}"},
                "shots": len(demonstrations),
                "demonstrations": list(demonstrations),
                "mc_enumerator": enumerator,
                "mc_separator": "\n",
                "mc_choices_order": {"method": order, "description": "as they were shown"},
            },
        },
        "instance": {
            "task_type": "classification",
            "raw_input": text,
            "language": "en",
            "sample_identifier": {
                "dataset_name": "colours",
                "hf_repo": "mock/colours",
                "hf_split": "test",
                "hf_index": sample,
            },
            "classification_fields": {
                "question": f"What comes after {sample}?",
                "choices": options,
                "ground_truth": options[gold],
            },
        },
        "output": {"response": f"{signs[given]}. {CHOICES[said]}", "cumulative_logprob": -0.25},
        "evaluation": {
            "ground_truth": options[gold]["id"],
            "score": float(given == gold),
            "evaluation_method": {"method_name": "label_only_match", "description": "By the sign of the option."},
        },
    }


def table_row(
    sample: int, *, serialization: str = "csv", perturbation: str = "none", said: str = "3"
) -> dict[str, Any]:
    """A row about a table, written in one of several ways."""
    lines = [["name", "n"], ["a", str(sample)], ["b", "3"]]
    table = str(lines) if serialization == "list_of_lists" else "\n".join(",".join(line) for line in lines)
    question = f"What is n of {'ab'[sample % 2]}?"
    row = choice_row(sample, said=0)
    row["evaluation_id"] = f"t{sample} {serialization} {perturbation}"
    row["prompt_config"] = {
        "prompt_class": "Table",
        "dimensions": {
            "instruction_phrasing": {"name": "t", "text": "{table}\n{question}"},
            "shots": 1,
            "demonstrations": [{"table": f"as {serialization}", "question": "How many rows?", "answer": "2"}],
            "table_serialization": {"method": serialization, "description": "how the table is written"},
            "table_perturbation": {"methods": [perturbation], "description": "what was changed in it"},
        },
    }
    row["instance"] = {
        "task_type": "generation",
        "raw_input": {"table": table, "question": question},
        "language": "en",
        "sample_identifier": {
            "dataset_name": "tables",
            "hf_repo": "mock/tables",
            "hf_split": "test",
            "hf_index": sample,
        },
    }
    row["output"] = {"response": said, "cumulative_logprob": None}
    row["evaluation"]["ground_truth"] = "3" if sample % 2 else str(sample)
    row["evaluation"]["score"] = float(said == row["evaluation"]["ground_truth"])
    return without_nulls(row)
