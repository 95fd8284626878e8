"""Cards of audits, and of the rephrasers and judges they name."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from models_registry.base import Card, Name, Names, Rate, listed
from models_registry.placeholders import placeholders

Policy = Literal["fail", "quarantine", "warn"]
Strategy = Literal["simple", "detail", "one_shot", "structured"]


class RephraserCard(Card):
    """What rewords an instruction."""

    kind: Literal["rules", "model", "fixed"] = Field(description="how it rewords")
    seed: int = Field(0, description="rules: seed of its choices")
    model: Name | None = Field(None, description="model: the model card that is asked")
    instructions: str | None = Field(None, description="model: what it is told, with {instruction} and {n}")
    variants: dict[Name, tuple[str, ...]] | None = Field(None, description="fixed: task id to its rephrasings")
    max_rounds: int = Field(3, ge=1, le=20, description="model: how often missing rephrasings are asked for again")

    @model_validator(mode="after")
    def _fits_kind(self) -> Self:
        if (self.kind == "model") != (self.model is not None):
            msg = "model is what a rephraser of kind model asks, and no other"
            raise ValueError(msg)
        if (self.kind == "fixed") != (self.variants is not None):
            msg = "variants is what a rephraser of kind fixed lists, and no other"
            raise ValueError(msg)
        if self.instructions is not None and not {"instruction", "n"} <= set(placeholders(self.instructions)):
            msg = "instructions must use {instruction} and {n}"
            raise ValueError(msg)
        return self


class JudgeCard(Card):
    """A model that rules on completions."""

    model: Name = Field(description="the model card that judges")
    rubric: str = Field(min_length=1, description="what it is told")
    repetitions: int = Field(1, ge=1, description="how often each completion is judged")


class Rephrasing(Card):
    """How many wordings are made, by whom."""

    rephraser: Name = Field(description="a rephraser card")
    variants: int | None = Field(None, ge=1, le=10_000, description="wordings, the original among them")
    temperatures: tuple[Annotated[float, Field(ge=0, le=100)], ...] | None = Field(
        None, description="paraphrase temperatures"
    )
    variants_per_temperature: int | None = Field(None, ge=1, le=10_000, description="wordings added to the original")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        swept = self.temperatures is not None
        if swept != (self.variants_per_temperature is not None) or swept == (self.variants is not None):
            msg = "rephrasing needs either variants, or temperatures with variants_per_temperature"
            raise ValueError(msg)
        if self.temperatures is not None and len(set(self.temperatures)) != len(self.temperatures):
            msg = "a temperature stands twice"
            raise ValueError(msg)
        return self


class Repetitions(Card):
    """How often each wording is asked."""

    original: int = Field(10, ge=1, le=10_000, description="the original wording")
    variants: int = Field(2, ge=1, le=10_000, description="each rephrasing; 2 separates wording from noise")


class Samples(Card):
    """Which rows are asked."""

    limit: int | None = Field(None, ge=1, description="at most so many; default: all")
    seed: int = Field(42, description="seed of the hash that orders the rows")
    balanced: bool = Field(default=True, description="the same number of every gold label, as far as they reach")


class FormatLimits(Card):
    """What a variant's answers must keep to, checked before anything is aggregated."""

    max_invalid_rate: Rate = Field(0.1, description="share of landed answers that are not valid")
    max_invalid_rate_at_first: Rate = Field(
        0.5,
        description="share of a model's first 50 answers that may be no label; more, and the run stops before the bill",
    )
    max_empty_rate: Rate = Field(1.0, description="share of landed answers that are blank")
    max_error_rate: Rate = Field(0.1, description="share of planned cells that ended in an error")
    max_distinct_completions: int | None = Field(None, ge=1, description="distinct completions a variant may have")
    policy: Policy = Field("quarantine", description="fail, quarantine or warn")


class Budget(Card):
    """Where a run stops."""

    max_usd: float | None = Field(None, ge=0, description="US dollars")
    max_requests: int | None = Field(None, ge=0, description="requests")


class AuditCard(Card):
    """A design: tasks × models × strategies × wordings × repetitions."""

    tasks: Names = Field(min_length=1, description="task cards")
    models: Names = Field(min_length=1, description="model cards")
    strategies: Annotated[tuple[Strategy, ...], BeforeValidator(listed)] = Field(
        ("simple",), min_length=1, description="how the instruction is dressed"
    )
    rephrasing: Rephrasing | None = Field(None, description="default: the original wording alone")
    repetitions: Repetitions = Field(default_factory=Repetitions, description="how often each wording is asked")
    samples: Samples = Field(default_factory=Samples, description="which rows are asked")
    format: FormatLimits = Field(default_factory=FormatLimits, description="limits on the answers' format")
    judges: Names = Field((), description="judge cards")
    budget: Budget = Field(default_factory=Budget, description="where a run stops")
    gate: tuple[str, ...] = Field((), description="conditions on the scorecard")
    schedule: str | None = Field(None, description="cron expression")
    seed: int = Field(20250601, description="seed of every resample of the measures")
    resamples: int = Field(1000, ge=0, le=100_000, description="resamples an interval")

    @model_validator(mode="after")
    def _no_doubles(self) -> Self:
        for field in ("tasks", "models", "strategies", "judges"):
            names: Any = getattr(self, field)
            if len(set(names)) != len(names):
                msg = f"{field} names one thing twice"
                raise ValueError(msg)
        return self
