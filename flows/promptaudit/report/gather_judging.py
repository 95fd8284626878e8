"""Gathers what scoring methods and judges ruled on a run's answers. Empty if the run has neither."""

from __future__ import annotations

from dataclasses import dataclass, field

from promptaudit.report.queries import query
from promptaudit.system.display.figures import percent
from promptaudit.warehouse import Ask, Row

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


def comparisons(ask: Ask) -> list[Row]:
    """Asks for the comparisons of rules with judges in one run."""
    return ask(query("comparisons"))


def gather_judging(ask: Ask) -> JudgingData:
    """Gathers the rows of one run. They are empty if answers are only matched with labels."""
    spreads = ask(query("spreads"))
    tasks = {row["task_id"] for row in spreads if row["scoring_method"] != LABELS}
    agreements = ask(query("agreement"))  # people may have ruled where no judge has
    tasks |= {row["task_id"] for row in agreements if row["task_id"] is not None}
    if not tasks:
        return JudgingData()
    judges = ask(query("judges"))
    names = ("comparisons", "controls", "anchors", "rulings", "disagreements")
    return JudgingData(
        spreads=[row for row in spreads if row["task_id"] in tasks],
        rankings=[row for row in ask(query("rankings")) if row["task_id"] in tasks],
        agreements=agreements,
        judges=judges,
        **{name: ask(query(name)) for name in names if judges},
    )


def is_judge(method: str) -> bool:
    """Checks whether a scoring method is a judge."""
    return method.startswith("judge:")


def is_rule(method: str) -> bool:
    """Checks whether a scoring method is a rule: neither a judge nor the majority of the persons who ruled."""
    return method != PEOPLE and not is_judge(method)
