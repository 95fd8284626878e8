"""Computes content ids: equal content has the same id, on every machine and in every release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptaudit.registry.cards import ModelCard

NOT_SENT = {"limits", "price", "base_url", "api_key_env", "grid", "batch"}  # of a model card: these decide no answer
NOTHING = b"-"  # a missing part: shorter than any netstring, so never equal to one


def content_id(*parts: str | None) -> str:
    """Hashes the parts by `sha256_of` and keeps the first 32 hex digits."""
    return sha256_of(*parts)[:32]


def sha256_of(*parts: str | None) -> str:
    """Hashes the parts as netstrings to 64 hex digits of sha256, so that no two lists of parts run together."""
    strings = []
    for part in parts:
        raw = b"" if part is None else part.encode("utf-8", "backslashreplace")
        strings.append(NOTHING if part is None else b"%d:%b" % (len(raw), raw))
    return hashlib.sha256(b"".join(strings)).hexdigest()


def temperature_key(temperature: float | None) -> str | None:
    """Writes a paraphrase temperature as the shortest text that reads back the same, 1 and 1.0 alike."""
    return None if temperature is None else repr(float(temperature))


def prompt_variant_id(
    task_id: str,
    strategy: str,
    temperature: float | None,
    variant_index: int,
    instruction: str | None,
    answer_schema: str | None = None,
    own_of: str | None = None,
    setting: str | None = None,
) -> str:
    """Computes the id of a prompt variant, which is the same in every run.

    It depends on task, strategy, paraphrase temperature, index and wording; on the model, if the wording is a model's
    own; and on the setting, if the variant differs from the original in more than its wording.
    """
    wording = [instruction] if answer_schema is None else [instruction, answer_schema]
    owner = [] if own_of is None else ["own of", own_of]
    more = [] if setting is None else ["setting", setting]
    return content_id(
        "variant", task_id, strategy, temperature_key(temperature), str(variant_index), *wording, *owner, *more
    )


def prediction_id(
    audit_run_id: str, model_id: str, variant_id: str, sample_id: str, repetition: int, request_sha256: str
) -> str:
    """Computes the id of a prediction from its run, its cell and exactly what was sent."""
    return content_id("prediction", audit_run_id, model_id, variant_id, sample_id, str(repetition), request_sha256)


def verdict_id(audit_run_id: str, judge_id: str, judged_id: str, repetition: int, ask: int, request_sha256: str) -> str:
    """Computes the id of a verdict from its run, its judge, what it rules on, and exactly what was sent."""
    return content_id("verdict", audit_run_id, judge_id, judged_id, str(repetition), str(ask), request_sha256)


def as_json(value: object) -> str:
    """Writes a value as one line of JSON with sorted names; values that JSON has no form for become text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def sent_by(card: ModelCard) -> dict[str, object]:
    """Keeps the fields of a model card that reach the model and so affect its answers: no limits, price, host, key."""
    return card.model_dump(mode="json", exclude_defaults=True, exclude=NOT_SENT)


def request_sha256(
    sent: Mapping[str, object], messages: Sequence[tuple[str, str]], repetition: int, answer_schema: str | None = None
) -> str:
    """Hashes one request: the model's part, the messages, the repetition, and the schema of its answer."""
    parts = [sent, list(messages), repetition]
    body = json.dumps(parts if answer_schema is None else [*parts, answer_schema], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode("utf-8", "backslashreplace")).hexdigest()
