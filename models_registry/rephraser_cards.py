"""Defines the cards of rephrasers, and how an audit uses one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field

from models_registry.base import CODE_SHA256, Card, FunctionName, Name, Sha256
from models_registry.placeholders import placeholders
from models_registry.task_cards import PROTECT_LABELS

SELF = "self"
"""The model of a rephraser that has each audited model reword the prompts it is asked."""


class RephraserCard(Card):
    """A rephraser of instructions."""

    kind: Literal["rules", "model", "fixed", "python", "command"] = Field(description="how it rewords")
    seed: int = Field(0, description="rules: seed of its choices")
    model: Name | None = Field(
        None,
        description="model: the model card that is asked; `self`: each model of the audit rewords the prompts that it is asked "
        "itself, one that can reword nothing is asked those of the model that it perturbs, else those of the first that can",
    )
    instructions: str | None = Field(None, description="model: what it is told, with {instruction} and {n}")
    variants: dict[Name, tuple[str, ...]] | None = Field(None, description="fixed: task id to its rephrasings")
    function: FunctionName | None = Field(
        None,
        description="python: module:function, called with (text, n, temperature), which returns up to n rephrasings; the "
        "temperature is None without paraphrase temperatures",
    )
    command: tuple[Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")], ...] | None = Field(
        None,
        min_length=1,
        description="command: program and arguments, never a shell's, run in the registry folder; it reads one JSON object "
        "with task_id, instruction, n, temperature and round, and prints a JSON array of strings. What is trusted is these words "
        "and the files of the folder that they name",
    )
    timeout_s: float = Field(600, gt=0, description="command: seconds until it is ended and the run stops")
    code_sha256: Sha256 | None = Field(None, description=CODE_SHA256)
    protect_labels: bool | None = Field(None, description=PROTECT_LABELS)
    max_rounds: int = Field(
        3, ge=1, le=20, description="model, python, command: how often missing rephrasings are asked for again"
    )

    @property
    def is_given(self) -> bool:
        """Returns whether its rephrasings are a person's own words, sent as they are."""
        return self.kind == "fixed"

    @property
    def is_self(self) -> bool:
        """Returns whether each audited model rewords its own prompts."""
        return self.model == SELF

    def by(self, model_id: str) -> Self:
        """Returns the card with this model as the one that is asked."""
        return self.model_copy(update={"model": model_id})

    @property
    def asks_nobody(self) -> bool:
        """Returns whether it rewords by what ships and what the card lists alone."""
        return self.kind in ("rules", "fixed")

    def faults(self) -> Iterator[str]:
        """Gives what fields demand of each other and do not get."""
        for field, kind, verb in (
            ("model", "model", "asks"),
            ("variants", "fixed", "lists"),
            ("function", "python", "calls"),
            ("command", "command", "runs"),
        ):
            if (self.kind == kind) != (getattr(self, field) is not None):
                yield f"{field} is what a rephraser of kind {kind} {verb}, and no other"
        if self.code_sha256 is not None and self.kind not in ("python", "command"):
            yield f"code_sha256 has no meaning for a rephraser of kind {self.kind}"
        if self.instructions is not None and not {"instruction", "n"} <= set(placeholders(self.instructions)):
            yield "instructions must use {instruction} and {n}"


class Rephrasing(Card):
    """The number of wordings, and the rephraser that makes them."""

    rephraser: Name = Field(description="a rephraser card")
    variants: int | None = Field(None, ge=1, le=10_000, description="wordings, the original among them")
    temperatures: tuple[Annotated[float, Field(ge=0, le=100)], ...] | None = Field(
        None, description="paraphrase temperatures"
    )
    variants_per_temperature: int | None = Field(None, ge=1, le=10_000, description="wordings added to the original")
    templates: bool = Field(
        default=False,
        description="whether the first template of multiple_choice and open tasks is reworded too, its options, placeholders "
        "and form of the answer kept; the rewordings are asked beside the card's templates",
    )

    def faults(self) -> Iterator[str]:
        """Gives what fields demand of each other and do not get."""
        swept = self.temperatures is not None
        if swept != (self.variants_per_temperature is not None) or swept == (self.variants is not None):
            yield "rephrasing needs either variants, or temperatures with variants_per_temperature"
        if self.temperatures is not None and len(set(self.temperatures)) != len(self.temperatures):
            yield "a temperature stands twice"

    @property
    def wanted(self) -> int:
        """Returns the number of rephrasings that are wanted beside the original, for each temperature where there are some."""
        return self.variants_per_temperature or (self.variants or 1) - 1
