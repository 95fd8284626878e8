"""Checks a night against the rule that no sample is lost: right in all its asks before, wrong in all since."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.gate.night_rules import look_closer
from promptaudit.gate.outcome import RuleResult, RuleRow, State
from promptaudit.gate.source import LostSample, Source
from promptaudit.gate.value_rules import selects
from promptaudit.registry.gate_rules import JUDGE, LostRule
from promptaudit.system.display.figures import NAME, cut

MOST_NAMED = 5


def check_lost(rule: LostRule, source: Source) -> RuleResult:
    """Finds the samples that are lost, only among critical ones if the card names any.

    The rule is unmeasured where a sample may be lost, or too little of a model's task was answered, and passes on a
    first night.
    """
    states = [state for state in source.night_states if not state.model_id.startswith(JUDGE)]
    states = [state for state in states if all(selects(each, state._asdict()) for each in rule.conditions)]
    dropped = [each for each in source.samples_lost if all(selects(on, each._asdict()) for on in rule.conditions)]
    (n_rows, n_critical), what = source.n_samples, "samples"
    if n_critical:
        n_rows, what = n_critical, "critical samples"
        dropped = [each for each in dropped if each.is_critical]
    text = str(rule)
    if lost := [each for each in dropped if each.is_lost is not False]:
        are = "is" if len({each.sample_id for each in lost}) == 1 else "are"
        reason = f"{_counted(lost)} of {n_rows} {what} {are} lost: {_named(lost)}"
        return RuleResult(
            rule=text,
            outcome="failed",
            reason=reason,
            n_rows=n_rows,
            rows=tuple(_row(each, "failed") for each in lost),
            look_closer=look_closer([figure for figure in source.night if figure.measure == lost[0].measure], source),
        )
    if dropped:
        reason = (
            f"of {_counted(dropped)} of {n_rows} {what} it cannot be told yet whether they are lost: {_named(dropped)}"
        )
        rows = tuple(_row(each, "unmeasured") for each in dropped)
        return RuleResult(rule=text, outcome="unmeasured", reason=reason, n_rows=n_rows, rows=rows)
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


def _counted(samples: Sequence[LostSample]) -> int:
    return len({each.sample_id for each in samples})


def _named(samples: Sequence[LostSample]) -> str:
    names = list(dict.fromkeys(cut(each.sample_id, NAME) for each in samples))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _row(sample: LostSample, state: State) -> RuleRow:
    under = "" if sample.n_wordings is None else f" under {sample.n_wordings} wording{'s' * (sample.n_wordings > 1)}"
    return RuleRow(
        state=state,
        measure=sample.measure,
        model_id=sample.model_id,
        task_id=sample.task_id,
        strategy=sample.strategy,
        others={"sample_id": sample.sample_id},
        figure=0.0 if sample.n_wordings is None else None,
        reason=f"right in all its asks on {_nights(sample.n_nights_right)}, wrong in all on "
        f"{_nights(sample.n_nights_wrong)} since{under}",
    )


def _nights(n: int) -> str:
    return "1 night" if n == 1 else f"{n} nights"
