"""Writes the lines that a terminal shows about a sheet that was written, and about one that was taken in."""

from __future__ import annotations

import math

from promptaudit.exchange.annotation.take_sheet import TakenSheet
from promptaudit.exchange.annotation.width import Promise
from promptaudit.exchange.annotation.write_sheet import Sheet
from promptaudit.system.display.figures import number
from promptaudit.system.display.progress import visible


def lines_of_sheet(sheet: Sheet) -> list[str]:
    """Writes the lines about a sheet that was written: its rows, the widths that its rulings will reach, its strata."""
    what = "rewordings" if sheet.of_wordings else "distinct answers"
    head = f"{sheet.path}: {sheet.n_rows} of the {sheet.n_answers} {what} of run {sheet.audit_run_id}"
    if sheet.n_ruled:
        head += f", {sheet.n_ruled} of which people ruled on"
    strata = [f"  {each.n_rows} of {each.n_answers}  {name}" for name, each in sheet.strata.items()]
    return [head, *map(_promised, sheet.promises), *strata]


def _promised(promise: Promise) -> str:
    who = visible(f"{promise.task_id}: {promise.model_id} by {promise.judge}")
    least = f"about {number(promise.least_half_width)} with all answers ruled on"
    if math.isinf(promise.half_width):
        return f"  {who}: these are too few to rectify its accuracy ({least})"
    most = "" if promise.half_width_most <= promise.half_width else f", {number(promise.half_width_most)} at most"
    within = f"accuracy_rectified is known within about {number(promise.half_width)}{most}"
    return f"  {who}: once these are ruled on, {within} ({least})"


def lines_of_taken(taken: TakenSheet) -> list[str]:
    """Writes the lines about a sheet that was taken in, with the agreement of each set of raters."""
    by = f" by {', '.join(taken.annotators)}" if taken.annotators else ""
    lines = [f"run {taken.audit_run_id}: {taken.n_landed} rulings{by} landed, {taken.n_not_ruled} rows without one"]
    if taken.n_repeated:
        lines.append(f"{taken.n_repeated} rows repeat a ruling of their annotator and count once")
    if taken.n_known:
        lines.append(f"{taken.path.name}: these {taken.n_known} rulings are here already: nothing landed")
    for each in taken.agreement:
        who = visible(f"{each.task_id or 'all tasks'}: {each.raters}")
        kappa, rate = number(each.cohen_kappa), number(each.agreement_rate)
        lines.append(f"  {who}: kappa {kappa}, agreement {rate}, {each.n_rated} answers")
    if taken.published is not None:
        lines += [f"published  {taken.published}", f"report     {taken.report}"]
    return lines
