"""Gathers what scoring methods and judges made of a run's answers; nothing where the warehouse or the run has no such thing."""

from __future__ import annotations

from dataclasses import dataclass, field

from flows.display.figures import percent
from flows.report.queries import query
from flows.warehouse import Ask, Row
from flows.warehouse.schema import TABLES

NEEDED = {
    "marts.fct_scoring_sensitivity", "marts.rpt_rule_against_judge", "marts.fct_ranking_consistency",
    "marts.fct_judge_agreement", "marts.fct_judge_controls", "marts.fct_verdicts", "raw.judges",
}  # fmt: skip
LABELS = "label_match"


@dataclass(slots=True)
class Judged:
    """Rows of the marts of scoring and judging: what each is, the query of the same name says."""

    spreads: list[Row] = field(default_factory=list)
    comparisons: list[Row] = field(default_factory=list)
    rankings: list[Row] = field(default_factory=list)
    agreements: list[Row] = field(default_factory=list)
    controls: list[Row] = field(default_factory=list)
    judges: list[Row] = field(default_factory=list)
    rulings: list[Row] = field(default_factory=list)
    disagreements: list[Row] = field(default_factory=list)


def comparisons(ask: Ask) -> list[Row]:
    """Rule against judge of one run; empty for a warehouse of an older version."""
    return ask(query("comparisons")) if has_judging(ask) else []


def gather_judged(ask: Ask) -> Judged:
    """The rows of one run; empty for a warehouse of an older version, and where answers are only matched with labels."""
    if not has_judging(ask):
        return Judged()
    spreads = ask(query("spreads"))
    tasks = {row["task_id"] for row in spreads if row["scoring_method"] != LABELS}
    agreements = ask(query("agreements"))  # people may have ruled where no judge has
    tasks |= {row["task_id"] for row in agreements}
    if not tasks:
        return Judged()
    judges = ask(query("judges"))
    found = Judged(
        spreads=[row for row in spreads if row["task_id"] in tasks],
        rankings=[row for row in ask(query("rankings")) if row["task_id"] in tasks],
        agreements=agreements,
        judges=judges,
    )
    if judges:
        found.comparisons = ask(query("comparisons"))
        found.controls = ask(query("controls"))
        if ask(query("unscored_kind"))[0]["is_there"]:
            found.rulings = ask(query("rulings"))
            found.disagreements = ask(query("disagreements"))
    return found


def has_judging(ask: Ask) -> bool:
    """Whether the published copy has the marts of judging."""
    return {row["name"] for row in ask(TABLES)} >= NEEDED


def is_judge(method: str) -> bool:
    """Whether a scoring method is a judge."""
    return method.startswith("judge:")


def control_errors(controls: list[Row]) -> dict[tuple[str, str], str]:
    """For each task and judge how often it is wrong on each kind of control, in words."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in controls:
        rate = percent(row["error_rate"]) if row["n_scored"] else "none read"
        found.setdefault((row["task_id"], row["scoring_method"]), []).append(f"{row['kind']} {rate}")
    return {key: ", ".join(parts) for key, parts in found.items()}
