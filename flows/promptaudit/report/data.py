"""What a report says of one run, as plain rows of the published marts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptaudit.warehouse import Row

if TYPE_CHECKING:
    from promptaudit.gate.outcome import GateResult
    from promptaudit.query.history.nights import Nights
    from promptaudit.report.gather_answers import GridAnswers
    from promptaudit.report.gather_judging import JudgingData
    from promptaudit.report.summary import Summary
    from promptaudit.system.display.policy import Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """What several parts of the page read has a field of its own, each list of rows what the query of its name gives.

    What sections ask besides is `data["name"]`, by the name of the query.
    """

    run: Row
    texts: Texts
    gate: GateResult | None  # None: the run did not land
    summary: Summary
    judging: JudgingData
    answers: GridAnswers
    nights: Nights
    n_checks: int
    has_formats_page: bool
    models: list[Row] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)
    scorecard: list[Row] = field(default_factory=list)
    variants: list[Row] = field(default_factory=list)
    formats: list[Row] = field(default_factory=list)
    failed_checks: list[Row] = field(default_factory=list)
    top: list[Row] = field(default_factory=list)
    top_sensitivities: list[Row] = field(default_factory=list)
    top_labels: list[Row] = field(default_factory=list)
    top_examples: list[Row] = field(default_factory=list)
    changes: list[Row] = field(default_factory=list)
    references: list[Row] = field(default_factory=list)
    of_sections: Mapping[str, list[Row]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> list[Row]:
        """Returns the rows of a query that a section names; raises KeyError of one that none does."""
        return self.of_sections[name]
