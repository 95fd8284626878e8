"""The section on agreement: between judges, people and rules, of templates on what is right, and of judges with controls."""

from __future__ import annotations

from flows.display.figures import number
from flows.report.blocks.blocks import Block, Section, Table, by_task, limited
from flows.report.blocks.cells import Cell, Printed, Traced
from flows.report.gather import Gathered
from flows.report.gather_judged import control_errors
from flows.warehouse import Row

_PAIR = 2
_REPEATED = " repetitions"
_BETWEEN = " | "


def agreement(found: Gathered) -> Section:
    """Kappas and agreement rates of who rules on answers, and how often judges err where the verdict is known."""
    section = Section(
        "agreement",
        "Agreement and controls",
        "How far judges, people and rules agree on the answers that all of them ruled on, how far templates agree on which "
        "answers are right, and how often each judge is wrong on controls: answers known to be right or wrong, blank ones, "
        "and wrong ones that tell the judge to call them right.",
    )
    judged = found.judged
    errors = control_errors(judged.controls)
    agreements, controls, spreads = by_task(judged.agreements), by_task(judged.controls), by_task(judged.spreads)
    for task_id in spreads:
        block = Block(task_id=task_id)
        section.blocks.append(block)
        if task_id in agreements:
            block.tables.append(_raters(agreements[task_id], errors))
        elif judged.judges:
            block.absent.append("No two of those who ruled, judges, people or rules, ruled on the same answer.")
        if task_id in controls:
            block.tables.append(_controls(controls[task_id], found.run["audit_run_id"]))
        elif judged.judges:
            block.absent.append("No controls were shown to the judges.")
        block.tables.append(_templates(spreads[task_id], errors))
    return section


def _raters(rows: list[Row], errors: dict[tuple[str, str], str]) -> Table:
    lines: list[tuple[Printed, ...]] = []
    for row in rows:
        of = Traced("fct_judge_agreement", row)
        lines.append(
            (row["raters"], row["kind"], _errors_of(row, errors), of.count("n_raters"), of.count("n_rated"),
             of.percent("agreement_rate"), of.percent("perfect_agreement_rate"),
             _kappa(of, "cohen_kappa") if row["n_raters"] == _PAIR else "of two alone", _kappa(of, "fleiss_kappa"))
        )  # fmt: skip
    kept, note = limited(lines)
    columns = (
        "Raters", "Kind", "Judge wrong on controls", "Raters", "Answers rated", "Agreement", "Perfect agreement",
        "Cohen's κ", "Fleiss' κ",
    )  # fmt: skip
    return Table(
        caption="Agreement of those who ruled",
        columns=columns,
        rows=kept,
        n_heads=2,
        n_figures=6,
        is_open=True,
        note=note,
    )


def _kappa(of: Traced, name: str) -> Cell:
    if of.row[name] is None and of.row["n_rated"]:
        return of.cell(name, "one verdict alone")
    return of.number(name)


def _errors_of(row: Row, errors: dict[tuple[str, str], str]) -> str:
    """What the controls say of each judge of a set."""
    named = [row["raters"].removesuffix(_REPEATED)] if row["kind"] == "repetitions" else row["raters"].split(_BETWEEN)
    known = [(name, errors[row["task_id"], name]) for name in named if (row["task_id"], name) in errors]
    return known[0][1] if len(known) == 1 else "; ".join(f"{name}: {said}" for name, said in known)


def _controls(rows: list[Row], audit_run_id: str) -> Table:
    lines: list[tuple[Printed, ...]] = []
    for row in rows:
        of = Traced("fct_judge_controls", row, audit_run_id)
        counts = map(of.count, ("n_controls", "n_scored", "n_wrong"))
        lines.append((row["scoring_method"], row["kind"], *counts, of.percent("error_rate")))
    kept, note = limited(lines)
    columns = ("Judge", "Controls", "Shown", "Verdicts read", "Wrong", "Error rate")
    return Table(
        caption="Judges on their controls", columns=columns, rows=kept, n_heads=2, n_figures=4, is_open=True, note=note
    )


def _templates(rows: list[Row], errors: dict[tuple[str, str], str]) -> Table:
    lines: list[tuple[Printed, ...]] = []
    for row in rows:
        of = Traced("fct_scoring_sensitivity", row)
        lines.append(
            (row["model_id"], row["scoring_method"], errors.get((row["task_id"], row["scoring_method"]), ""),
             of.count("n_variants"), of.count("n_samples_scored_everywhere"), of.percent("perfect_agreement_rate"),
             of.cell("fleiss_kappa", _fleiss(row)))
        )  # fmt: skip
    kept, note = limited(lines)
    columns = (
        "Model", "Scored by", "Judge wrong on controls", "Templates", "Samples scored under all", "Perfect agreement",
        "Fleiss' κ",
    )  # fmt: skip
    return Table(
        caption="Agreement of the templates on which answers are right",
        columns=columns,
        rows=kept,
        n_heads=2,
        n_figures=4,
        note=note,
    )


def _fleiss(row: Row) -> str:
    if row["fleiss_kappa"] is not None:
        return number(row["fleiss_kappa"])
    if not row["n_samples_scored_everywhere"]:
        is_graded = (row["accuracy_scored_mean"] is not None) and row["n_samples_accuracy_scored_corrected"]
        return "scores are shares" if is_graded else "no sample scored under all"
    return "needs two templates" if (row["n_variants"] or 0) < _PAIR else "all alike"
