"""Holds a night's samples against the rule that none is lost: right in all its asks before, wrong in all since."""

from __future__ import annotations

from promptaudit.flows.display.figures import NAME, cut
from promptaudit.flows.gate.night_rules import look_closer
from promptaudit.flows.gate.outcome import RuleResult, RuleRow
from promptaudit.flows.gate.source import Source
from promptaudit.flows.gate.value_rules import selects
from promptaudit.models_registry.gate_rules import JUDGE, LostRule

MOST_NAMED = 5


def check_lost(rule: LostRule, source: Source) -> RuleResult:
    """Returns the samples that are lost, of those that the card calls critical where it does.

    It is unmeasured where too little of a model's task was answered, and passes on a first night.
    """
    states = [state for state in source.night_states if not state.model_id.startswith(JUDGE)]
    states = [state for state in states if all(selects(each, state._asdict()) for each in rule.conditions)]
    lost = [each for each in source.samples_lost if all(selects(on, each._asdict()) for on in rule.conditions)]
    (n_rows, n_critical), what = source.n_samples, "samples"
    if n_critical:
        n_rows, what = n_critical, "critical samples"
        lost = [each for each in lost if each.is_critical]
    text = str(rule)
    if lost:
        names = list(dict.fromkeys(cut(each.sample_id, NAME) for each in lost))
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
                    measure=each.measure,
                    model_id=each.model_id,
                    task_id=each.task_id,
                    strategy=each.strategy,
                    others={"sample_id": each.sample_id},
                    figure=0.0,
                    reason=f"right in all its asks on {_nights(each.n_nights_right)}, wrong in all on "
                    f"{_nights(each.n_nights_wrong)} since",
                )
                for each in lost
            ),
            look_closer=look_closer([figure for figure in source.night if figure.measure == lost[0].measure], source),
        )
    unknown = tuple(
        RuleRow(
            state="unmeasured",
            measure="samples lost",
            model_id=state.model_id,
            task_id=state.task_id,
            strategy=state.strategy,
            reason=f"{state.n_samples_counted} of {state.n_samples} samples were answered",
        )
        for state in states
        if state.n_samples_counted < 0.8 * state.n_samples
    )
    if unknown or not states:
        reason = "nothing is known of nights of this run" if not states else "too little was answered"
        return RuleResult(rule=text, outcome="unmeasured", reason=reason, n_rows=n_rows, rows=unknown)
    if all(state.state == "first_night" for state in states):
        reason = "no earlier night asked the same: there is nothing to hold this one against"
        return RuleResult(rule=text, outcome="first_night", reason=reason, n_rows=n_rows)
    return RuleResult(rule=text, outcome="passed", reason=f"none of {n_rows} {what} is lost", n_rows=n_rows)


def _nights(n: int) -> str:
    return "1 night" if n == 1 else f"{n} nights"
