"""Gathers what the report draws of single samples and of how answers were got: aggregates, and samples of a fixed size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flows.report import answer_queries, sample_queries
from flows.report.blocks import Row

Ask = Callable[[str], list[Row]]


@dataclass(slots=True)
class Sampled:
    """Rows about samples: what each is, `sample_queries.py` says under the same name."""

    references: list[Row] = field(default_factory=list)
    class_sensitivities: list[Row] = field(default_factory=list)
    clouds: list[Row] = field(default_factory=list)
    cloud_summaries: list[Row] = field(default_factory=list)
    telling: list[Row] = field(default_factory=list)
    consistency_quantiles: list[Row] = field(default_factory=list)
    consistency_bins: list[Row] = field(default_factory=list)
    pairs: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Answered:
    """Rows about answers: what each is, `answer_queries.py` says under the same name."""

    distinct_by_repetition: list[Row] = field(default_factory=list)
    distinct_by_temperature: list[Row] = field(default_factory=list)
    disagreements: list[Row] = field(default_factory=list)
    costs: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    asked_again: list[Row] = field(default_factory=list)


def gather_sampled(ask: Ask) -> Sampled:
    """The samples of one run."""
    return Sampled(**{name: ask(getattr(sample_queries, name.upper())) for name in Sampled.__slots__})


def gather_answered(ask: Ask) -> Answered:
    """The answers of one run."""
    return Answered(**{name: ask(getattr(answer_queries, name.upper())) for name in Answered.__slots__})
