"""Gathers what the report draws of single samples and of how answers were got: aggregates, and samples of a fixed size."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from flows.report.queries import query
from flows.warehouse import Ask, Row
from flows.warehouse.schema import TABLES

_TABLE = re.compile(r"\b(?:marts|raw)\.\w+")


@dataclass(slots=True)
class Sampled:
    """Rows about samples: what each is, the query of the same name says."""

    references: list[Row] = field(default_factory=list)
    class_sensitivities: list[Row] = field(default_factory=list)
    sample_spreads: list[Row] = field(default_factory=list)
    clouds: list[Row] = field(default_factory=list)
    telling: list[Row] = field(default_factory=list)
    consistency_bins: list[Row] = field(default_factory=list)
    pairs: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Answered:
    """Rows about answers: what each is, the query of the same name says."""

    distinct_answers: list[Row] = field(default_factory=list)
    prompt_variants: list[Row] = field(default_factory=list)
    accuracy_spreads: list[Row] = field(default_factory=list)
    answer_totals: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    stabilities_by_share: list[Row] = field(default_factory=list)


def gather_sampled(ask: Ask) -> Sampled:
    """The samples of one run."""
    return Sampled(**_asked(ask, Sampled))


def gather_answered(ask: Ask) -> Answered:
    """The answers of one run."""
    return Answered(**_asked(ask, Answered))


def _asked(ask: Ask, rows: type[Any]) -> dict[str, list[Row]]:
    """What each query gives; nothing where a warehouse of an older version lacks one of its tables."""
    known = {row["name"] for row in ask(TABLES)}
    wanted = {name: query(name) for name in rows.__slots__}
    return {name: ask(text) if known.issuperset(_TABLE.findall(text)) else [] for name, text in wanted.items()}
