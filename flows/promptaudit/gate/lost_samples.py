"""Checks a night against the rule that no sample is lost: right in all its asks before, wrong in all since."""

from __future__ import annotations

from functools import partial

from promptaudit.gate.night_rules import FIRST, look_closer
from promptaudit.gate.outcome import RuleResult, RuleRow, State
from promptaudit.gate.source import LostSample, Source
from promptaudit.gate.value_rules import selects
from promptaudit.registry.gate_rules import JUDGE, LostRule
from promptaudit.system.display.compared import names_of
from promptaudit.system.display.figures import listed, plural

MOST_NAMED = 5


def check_lost(rule: LostRule, source: Source) -> RuleResult:
    """Finds the samples that are lost, only among critical ones if the card names any.

    The rule is unmeasured where a sample may be lost, or too little of a model's task was answered, and passes on a
    first night.
    """
    states = [state for state in source.night_states if not state.model_id.startswith(JUDGE)]
    states = [state for state in states if selects(rule.conditions, state._asdict())]
    dropped = [each for each in source.samples_lost if selects(rule.conditions, each._asdict())]
    (n_rows, n_critical), what = source.n_samples, "samples"
    if n_critical:
        n_rows, what = n_critical, "critical samples"
        dropped = [each for each in dropped if each.is_critical]
    result = partial(RuleResult, rule=str(rule), n_rows=n_rows)
    if lost := [each for each in dropped if each.is_lost is not False]:
        names = list(dict.fromkeys(each.sample_id for each in lost))
        return result(
            outcome="failed",
            reason=f"{len(names)} of {n_rows} {what} {'is' if len(names) == 1 else 'are'} lost: {listed(names, MOST_NAMED)}",
            rows=tuple(_row(each, "failed") for each in lost),
            look_closer=look_closer([figure for figure in source.night if figure.measure == lost[0].measure], source),
        )
    if dropped:
        names = list(dict.fromkeys(each.sample_id for each in dropped))
        of = f"of {len(names)} of {n_rows} {what} it cannot be told yet whether they are lost"
        rows = tuple(_row(each, "unmeasured") for each in dropped)
        return result(outcome="unmeasured", reason=f"{of}: {listed(names, MOST_NAMED)}", rows=rows)
    unknown = tuple(
        RuleRow(
            state="unmeasured",
            measure="samples lost",
            **names_of(state),
            reason=f"{state.n_samples_counted} of {state.n_samples} samples were answered",
        )
        for state in states
        if state.n_samples_counted < 0.8 * state.n_samples
    )
    if unknown or not states:
        reason = "nothing is known of nights of this run" if not states else "too little was answered"
        return result(outcome="unmeasured", reason=reason, rows=unknown)
    if all(state.state == "first_night" for state in states):
        return result(outcome="first_night", reason=FIRST)
    return result(outcome="passed", reason=f"none of {n_rows} {what} is lost")


def _row(sample: LostSample, state: State) -> RuleRow:
    under = "" if sample.n_wordings is None else f" under {plural(sample.n_wordings, 'wording')}"
    return RuleRow(
        state=state,
        measure=sample.measure,
        **names_of(sample),
        others={"sample_id": sample.sample_id},
        figure=0.0 if sample.n_wordings is None else None,
        reason=f"right in all its asks on {plural(sample.n_nights_right, 'night')}, wrong in all on "
        f"{plural(sample.n_nights_wrong, 'night')} since{under}",
    )
