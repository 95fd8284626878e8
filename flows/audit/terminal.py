"""Runs, estimates and checks of cards as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.audit.run_audit import RunResult
    from flows.audit.unstable_prompts import UnstablePrompts


def lines_of(result: RunResult) -> list[str]:
    """Returns what became of a run, what there is to say of it, and where it is published."""
    lines = [result.headline, *result.notes, f"published  {result.published}", f"marts      {result.marts}"]
    if result.report is not None:
        lines.append(f"report     {result.report}")
    return lines


def line_of_unstable(unstable: UnstablePrompts) -> str:
    """Returns what was written of wordings whose PSS is too low, and the tasks of the audit that may ask them."""
    if unstable.path is None:
        return (
            f"run {unstable.audit_run_id} has no PSS between wordings below {unstable.below_pss:g}: nothing is written"
        )
    tasks = ", ".join(unstable.tasks)
    return f"{unstable.n_variants} prompt variants of {tasks} in {unstable.path}; an audit of tasks: [{tasks}] may ask them"


def lines_of_check(check: dict[str, Any]) -> list[str]:
    """Returns what there is to say of cards, what keeps `run` from beginning on this machine, and that they are sound."""
    return [*check["notes"], *_refusals(check), check["summary"]]


def lines_of_estimate(estimate: dict[str, Any]) -> list[str]:
    """Returns requests, tokens and USD in a table of 88 characters, also of subsamples and other models, and then the notes."""
    lines = [f"{'':32}{'requests':>12}{'prompt tokens':>16}{'answer tokens':>16}{'USD':>12}"]
    lines += [_line(row) for row in [*estimate["lines"], {"what": "", "name": "total", **estimate["total"]}]]
    for row in estimate["subsamples"]:
        share = f"{row['share']:.0%} of the samples"
        lines.append(f"{share:32}{row['requests']:>12,}{'':16}{'':16}{_money(row['usd']):>12}")
    lines += [_line(row) for row in estimate["others"]]
    return [*lines, *estimate["notes"], *_refusals(estimate)]


def _line(row: dict[str, Any]) -> str:
    label = f"{row['what']} {row['name']}".strip()[:31]
    return f"{label:32}{row['requests']:>12,}{row['prompt_tokens']:>16,}{row['completion_tokens']:>16,}{_money(row['usd']):>12}"


def _refusals(outcome: dict[str, Any]) -> list[str]:
    return [f"`run` is refused here: {line}" for line in outcome["run_refuses"]]


def _money(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:,.2f}"
