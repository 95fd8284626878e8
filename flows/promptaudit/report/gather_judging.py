"""Gathers what scoring methods and judges made of a run's answers; nothing where the run has no such thing."""

from __future__ import annotations

from dataclasses import dataclass, field

from promptaudit.report.queries import query
from promptaudit.system.display.figures import percent
from promptaudit.warehouse import Ask, Row

LABELS, PEOPLE = "label_match", "people"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingData:
    """Rows of the marts of scoring and judging: each list is what the query of its name gives."""

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
        """Returns for each task and judge how often it is wrong on each kind of control, in words."""
        rates: dict[tuple[str, str], list[str]] = {}
        for row in self.controls:
            rate = percent(row["error_rate"]) if row["n_scored"] else "none read"
            rates.setdefault((row["task_id"], row["scoring_method"]), []).append(f"{row['kind']} {rate}")
        return {key: ", ".join(parts) for key, parts in rates.items()}


def comparisons(ask: Ask) -> list[Row]:
    """Returns rule against judge of one run."""
    return ask(query("comparisons"))


def gather_judging(ask: Ask) -> JudgingData:
    """Returns the rows of one run; none where answers are only matched with labels."""
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
    """Returns whether a scoring method is a judge."""
    return method.startswith("judge:")


def is_rule(method: str) -> bool:
    """Returns whether a scoring method is a rule: no judge, and not the majority of the persons who ruled."""
    return method != PEOPLE and not is_judge(method)
