"""Holds what a report prints about one run, as plain rows of the published marts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptaudit.report.blocks.blocks import by
from promptaudit.system.display.variant_names import word_for
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
    """Rows of one run.

    What several parts of the page read has its own field, filled by the query of the same name.

    Rows that only sections ask for are in `data["name"]`, by the name of their query.
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

    _by_task: dict[str, dict[str, list[Row]]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getitem__(self, name: str) -> list[Row]:
        """Looks up the rows of a query that a section names. Raises KeyError if no section names it."""
        return self.of_sections[name]

    def of_task(self, name: str, task_id: str) -> list[Row]:
        """Finds the rows of a section's query that are about a task."""
        if name not in self._by_task:
            self._by_task[name] = by(self[name], "task_id")
        return self._by_task[name].get(task_id, [])

    @property
    def reference_models(self) -> dict[str, str]:
        """Maps each model that answers by chance or errs on purpose to its kind: random or noisy."""
        return {row["model_id"]: row["kind"] for row in self.references}

    @property
    def by_variant(self) -> dict[str, Row]:
        """Maps the id of each prompt variant to its row."""
        return {row["prompt_variant_id"]: row for row in self.variants}

    @property
    def word(self) -> str:
        """The word for this run's variants in a sentence: wording or prompt."""
        return word_for(self.variants)
