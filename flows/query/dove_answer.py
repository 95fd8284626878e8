"""What rows of DOVE say of an answer, as the rows of an export have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class DoveAnswer(NamedTuple):
    """An answer of an export with the columns of `dove_details.sql`; texts of sensitive tasks are NULL, JSON is text."""

    prediction_id: str
    model: str
    model_card: str | None
    sampling: str | None
    context_tokens: int | None
    task: str
    kind: str
    labels: Sequence[str] | None
    data: str | None
    strategy: str
    paraphrase_temperature: float | None
    variant_index: int
    variation: str | None
    setting: str | None
    instruction: str | None
    template: str | None
    option_signs: Sequence[str] | None
    sample_id: str
    sample_index: int
    input: str | None
    choices: Sequence[str] | None
    option_order: Sequence[int] | None
    references: Sequence[str] | None
    gold_label: str | None
    messages: str | None
    completion: str | None
    scoring_method: str
    score: float | None
