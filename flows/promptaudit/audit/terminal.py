"""Writes runs, estimates and checks of cards as lines for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from promptaudit.marts.not_derived import lines_of as lines_of_missing
from promptaudit.system.display.figures import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptaudit.ask.wordings.unstable_prompts import UnstablePrompts
    from promptaudit.audit.run import RunResult
    from promptaudit.plan.estimate import Estimate, Line, Total
    from promptaudit.plan.least.design_plan import DesignCost, DesignPlan
    from promptaudit.plan.least.few_samples import FewSamples


def lines_of(result: RunResult) -> list[str]:
    """Writes what became of a run, its notes, and where it is published.

    A pilot, and a run without figures, is published nowhere.
    """
    if result.is_pilot or not result.is_derived:
        return [result.headline, *result.notes]
    lines = [result.headline, *result.notes, f"published  {result.published}", f"marts      {result.marts}"]
    if result.report is not None:
        lines.append(f"report     {result.report}")
    return lines + lines_of_missing(result.not_derived)


def line_of_unstable(unstable: UnstablePrompts) -> str:
    """Says which file the wordings with too low a PSS were written to, and which tasks of an audit may ask them."""
    if unstable.path is None:
        return (
            f"run {unstable.audit_run_id} has no PSS between wordings below {unstable.below_pss:g}: nothing is written"
        )
    tasks = ", ".join(unstable.tasks)
    return f"{unstable.n_variants} prompt variants of {tasks} in {unstable.path}; an audit of tasks: [{tasks}] may ask them"


def lines_of_check(check: dict[str, Any]) -> list[str]:
    """Writes the notes of a check of cards, what keeps `run` from beginning on this machine, and the summary."""
    return [*check["notes"], *_refusals(check["run_refuses"]), check["summary"]]


def lines_of_estimate(estimate: Estimate) -> list[str]:
    """Writes requests, tokens and USD as a table of 88 characters, with subsamples and other models, and the notes."""
    lines = [f"{'':32}{'requests':>12}{'prompt tokens':>16}{'answer tokens':>16}{'USD':>12}"]
    lines += [_line(f"{line.what} {line.name}", line) for line in estimate.lines]
    lines.append(_line("total", estimate.total))
    for own in estimate.subsamples:
        share = f"{own.share:.0%} of the samples"
        lines.append(f"{share:32}{own.requests:>12,}{'':16}{'':16}{_money(own.usd):>12}")
    lines += [_line(f"{line.what} {line.name}", line) for line in estimate.others]
    return [*lines, *estimate.notes, *_refusals(estimate.run_refuses)]


def lines_of_plan(plan: DesignPlan) -> list[str]:
    """Writes the least design of an audit, what it costs, and the width and the difference that it reaches."""
    design, source = plan.design, "pilot" if plan.is_pilot else "run"
    lines = [
        f"{plan.measure}, planned from {source} {plan.audit_run_id}",
        f"design     {_shape(design)}",
        f"cost       {_cost(design)}",
        f"width      {_width(plan)}",
        f"difference {_difference(plan)}",
        f"decided by {plan.decided_by}",
    ]
    if plan.measure == "sensitivity":
        bias = min(each.bias for each in plan.groups)
        lines.append(f"bias       the plain figure is up to {number(-bias)} below that of endless wordings")
    if plan.n_requests_twice is not None:
        lines.append(
            f"noise      with repetitions: {{variants: 1, twice: 0.2}} a fifth is asked twice: {plan.n_requests_twice:,} requests"
        )
    return [*lines, *plan.notes]


def lines_of_few_samples(few: FewSamples) -> list[str]:
    """Writes which difference two nights of few samples can find, on what assumption, and a table by wordings."""
    if few.audit_run_id is None:
        cells = "with answers that vary as much as they can"
    else:
        cells = f"with answers that vary as in run {few.audit_run_id}"
    enough = next((each for each in few.differences if each.detectable_difference <= few.detect), None)
    found = (
        f"not found under {few.differences[-1].n_wordings} wordings or fewer"
        if enough is None
        else f"found in about 9 of 10 cases from {enough.n_wordings} wordings on"
    )
    tested = f"{few.n_comparisons} being tested and cells changing one by one"
    lines = [
        f"{few.n_samples} samples are too few for a pilot: {few.measure} {cells} (variance {few.var_cell:.3g} a cell)",
        f"A difference of {few.detect:g} between two nights is {found}, {tested}.",
    ]
    if few.if_samples_move is not None:
        lines.append(
            f"Where a change moves all answers to a sample alike, no number of wordings finds less than "
            f"{number(few.if_samples_move)}."
        )
    lines.append(f"{'wordings':>8}{'samples':>10}{'requests':>14}{'difference':>12}")
    lines += [
        f"{each.n_wordings:>8}{each.n_samples:>10,}{each.n_requests:>14,}{number(each.detectable_difference):>12}"
        for each in few.differences
    ]
    return [*lines, *few.notes]


def _shape(design: DesignCost) -> str:
    asks = "1 ask" if design.n_repetitions == 1 else f"{design.n_repetitions} asks"
    return f"{design.n_samples:,} samples x {design.n_wordings} wordings x {asks}"


def _cost(design: DesignCost) -> str:
    hours = "in a time not known" if design.hours is None else f"{_duration(design.hours)} at that run's rate"
    usd = "USD unknown" if design.usd is None else f"{_money(design.usd)} USD"
    return f"{design.n_requests:,} requests a night, {usd}, {hours}"


def _duration(hours: float) -> str:
    if hours >= 1:
        return f"{hours:,.1f} hours"
    minutes = math.ceil(hours * 60)
    return "about a minute" if minutes <= 1 else f"{minutes} minutes"


def _difference(plan: DesignPlan) -> str:
    least = number(plan.detectable_difference)
    return f"{least} between two such nights is found in about 9 of 10 cases, {plan.n_comparisons} being tested"


def _width(plan: DesignPlan) -> str:
    return f"{number(plan.design.width)} expected, of the 95 % interval"


def _line(label: str, own: Line | Total) -> str:
    tokens = f"{own.prompt_tokens:>16,}{own.completion_tokens:>16,}"
    return f"{label[:31]:32}{own.requests:>12,}{tokens}{_money(own.usd):>12}"


def _refusals(reasons: Iterable[str]) -> list[str]:
    return [f"`run` is refused here: {reason}" for reason in reasons]


def _money(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:,.2f}"
