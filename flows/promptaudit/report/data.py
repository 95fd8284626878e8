"""Holds what a report prints about one run, as plain rows of the published marts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptaudit.report.blocks.blocks import by
from promptaudit.system.display.figures import percent
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

if TYPE_CHECKING:
    from promptaudit.gate.outcome import GateResult
    from promptaudit.query.history.nights import Nights
    from promptaudit.report.gather_answers import GridAnswers
    from promptaudit.report.summary import Summary
    from promptaudit.system.display.policy import Texts


LABELS, PEOPLE = "label_match", "people"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingData:
    """Rows of the marts of scoring and judging. Each list comes from the query of the same name."""

    spreads: list[Row] = field(default_factory=list)
    comparisons: list[Row] = field(default_factory=list)
    rankings: list[Row] = field(default_factory=list)
    agreements: list[Row] = field(default_factory=list)
    controls: list[Row] = field(default_factory=list)
    anchors: list[Row] = field(default_factory=list)
    judges: list[Row] = field(default_factory=list)
    rulings: list[Row] = field(default_factory=list)
    disagreements: list[Row] = field(default_factory=list)

    @property
    def errors(self) -> dict[tuple[str, str], str]:
        """Maps each task and judge to a phrase on how often the judge is wrong on each kind of control."""
        rates: dict[tuple[str, str], list[str]] = {}
        for row in self.controls:
            rate = percent(row["error_rate"]) if row["n_scored"] else "none read"
            rates.setdefault((row["task_id"], row["scoring_method"]), []).append(f"{row['kind']} {rate}")
        return {key: ", ".join(parts) for key, parts in rates.items()}


def is_judge(method: str) -> bool:
    """Checks whether a scoring method is a judge."""
    return method.startswith("judge:")


def is_rule(method: str) -> bool:
    """Checks whether a scoring method is a rule: neither a judge nor the majority of the persons who ruled."""
    return method != PEOPLE and not is_judge(method)


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
