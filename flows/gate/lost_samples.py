"""Holds a night's samples against the rule that none is lost: right in all its asks before, wrong in all since."""

from __future__ import annotations

from promptaudit.flows.display.figures import NAME, cut
from promptaudit.flows.gate.night_rules import look_closer
from promptaudit.flows.gate.outcome import RuleResult, RuleRow
from promptaudit.flows.gate.source import Source
from promptaudit.flows.gate.value_rules import NAMES, selects
from promptaudit.models_registry.gate_rules import JUDGE, LostRule

MOST_NAMED = 5


def check_lost(rule: LostRule, source: Source) -> RuleResult:
    """Returns the samples that are lost, of those that the card calls critical where it does.

    It is unmeasured where too little of a model's task was answered, and passes on a first night.
    """
    states = [row for row in source.mart("rpt_night_states") if not row["model_id"].startswith(JUDGE)]
    states = [row for row in states if all(selects(each, row) for each in rule.conditions)]
    lost = [row for row in source.mart("fct_samples_lost") if all(selects(each, row) for each in rule.conditions)]
    n_rows, what = source.n_samples["n"], "samples"
    if source.n_samples["n_critical"]:
        n_rows, what = source.n_samples["n_critical"], "critical samples"
        lost = [row for row in lost if row["is_critical"]]
    text = str(rule)
    if lost:
        names = list(dict.fromkeys(cut(row["sample_id"], NAME) for row in lost))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        are = "is" if len(names) == 1 else "are"
        reason = f"{len(names)} of {n_rows} {what} {are} lost: {', '.join(names[:MOST_NAMED])}{more}"
        return RuleResult(
            rule=text,
            outcome="failed",
            reason=reason,
            n_rows=n_rows,
            rows=tuple(
                RuleRow(
                    state="failed",
                    measure=row["measure"],
                    **{name: row[name] for name in NAMES},
                    others={"sample_id": row["sample_id"]},
                    figure=0.0,
                    reason=f"right in all its asks on {_nights(row['n_nights_right'])}, wrong in all on "
                    f"{_nights(row['n_nights_wrong'])} since",
                )
                for row in lost
            ),
            look_closer=look_closer([row for row in source.night if row["measure"] == lost[0]["measure"]], source),
        )
    unknown = tuple(
        RuleRow(
            state="unmeasured",
            measure="samples lost",
            **{name: row[name] for name in NAMES},
            reason=f"{row['n_samples_counted']} of {row['n_samples']} samples were answered",
        )
        for row in states
        if row["n_samples_counted"] < 0.8 * row["n_samples"]
    )
    if unknown or not states:
        reason = "nothing is known of nights of this run" if not states else "too little was answered"
        return RuleResult(rule=text, outcome="unmeasured", reason=reason, n_rows=n_rows, rows=unknown)
    if all(row["state"] == "first_night" for row in states):
        reason = "no earlier night asked the same: there is nothing to hold this one against"
        return RuleResult(rule=text, outcome="first_night", reason=reason, n_rows=n_rows)
    return RuleResult(rule=text, outcome="passed", reason=f"none of {n_rows} {what} is lost", n_rows=n_rows)


def _nights(n: int) -> str:
    return "1 night" if n == 1 else f"{n} nights"
