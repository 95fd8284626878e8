"""The section on the format gate: the checks that failed, and the variants that break their format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.data import ReportData
from promptaudit.report.queries import MOST_ROWS
from promptaudit.report.sections.columns import LONG_WORDING, MODEL, Column, table, variant_number, words
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import count, cut
from promptaudit.warehouse import Row


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    block = section.add()
    variants = {row["prompt_variant_id"]: row for row in data.variants}
    number = Column("Variant", lambda of: variant_number(variants.get(of.row["prompt_variant_id"])))
    n_failed = data.failed_checks[0]["n_failed"] if data.failed_checks else 0
    if not data.n_checks:
        block.absent.append("No format check was made for this run.")
    else:
        block.notes.append(f"{count(n_failed)} of {count(data.n_checks)} checks failed.")
    n_missing = data["not_derived"][0]["n"]
    if n_missing:
        figures = "1 figure" if n_missing == 1 else f"{count(n_missing)} figures"
        block.notes.append(f"{figures} could not be derived; rpt_not_derived says which, and why.")
    if data.has_formats_page:
        link = f"reports/{quote(data.run['audit_run_id'], safe='')}.formats.html"
        block.links.append((link, "What was expected of the formats, by Great Expectations"))
    if n_failed:
        checks = (
            Column("Model", lambda of: of.row["model_id"] or "all"),
            Column("Task", lambda of: of.row["task_id"] or "all"),
            Column("Strategy", lambda of: _of_variant(of.row, variants, lambda row: row["strategy"])),
            Column("Variant", lambda of: _of_variant(of.row, variants, variant_number)),
            words("Check", "expectation"),
            Column("Found", lambda of: cut(of.row["reason"] or "")),
            words("Action", "action"),
        )
        note = "" if n_failed <= MOST_ROWS else f"The worst {MOST_ROWS} of {count(n_failed)}."
        block.tables.append(table("Checks that failed", checks, data.failed_checks, n_heads=4, is_open=True, note=note))
    breaking = [row for row in data.formats if row["is_breaking"]]
    if not breaking:
        block.absent.append("No variant breaks its format.")
        return
    columns = (
        MODEL,
        words("Task", "task_id"),
        words("Strategy", "strategy"),
        number,
        Column("Reason", lambda of: cut(of.row["breaking_reason"] or "")),
        Column(
            "Instruction",
            lambda of: cut((variants.get(of.row["prompt_variant_id"]) or {}).get("instruction") or "", LONG_WORDING),
        ),
    )
    caption = f"Variants that break their format: {len(breaking)}"
    block.tables.append(table(caption, columns, breaking, n_heads=4, is_open=True))


def _of_variant(check: Row, variants: Mapping[str, Row], said: Callable[[Row], str]) -> str:
    """Returns what is said of the variant that a check is of: "all" for a check of all answers together."""
    if check["prompt_variant_id"] is None:
        return "all"
    variant = variants.get(check["prompt_variant_id"])
    return "?" if variant is None else said(variant)


def _finding(data: ReportData) -> str:
    """Returns how many format checks failed, and under how many variants a model breaks its format."""
    if not data.n_checks:
        return ""
    n_failed = data.failed_checks[0]["n_failed"] if data.failed_checks else 0
    n_breaking = sum(bool(row["is_breaking"]) for row in data.formats)
    checks = (
        f"{count(n_failed)} of {count(data.n_checks)} format checks failed"
        if n_failed
        else f"All {count(data.n_checks)} format checks passed"
    )
    return f"{checks}, {count(n_breaking) if n_breaking else 'no'} variant{'s break' if n_breaking > 1 else ' breaks'} the format"


format_gate = Section(
    name="format_gate",
    title="Format checks",
    intro=(
        "These checks of the answers' formats were made before anything was measured. A variant that breaks its format is named, "
        "and its answers count in every figure."
    ),
    fill=_fill,
    finding=_finding,
    queries=("not_derived",),
)
