"""What the format gate said."""

from __future__ import annotations

from flows.display.figures import count, cut
from flows.report.blocks.blocks import Block, Section, Table, limited
from flows.report.gather import Gathered
from flows.report.queries import MOST_ROWS
from flows.report.sections.answers import named


def gate(found: Gathered) -> Section:
    """The format checks that failed, and the variants they keep out."""
    section = Section(
        "gate",
        "Format checks",
        "Checks on what became of the answers before anything was measured, and the variants kept out.",
    )
    block = Block(task_id="")
    section.blocks.append(block)
    variants = {row["prompt_variant_id"]: row for row in found.variants}
    n_failed = found.failed_checks[0]["n_failed"] if found.failed_checks else 0
    if not found.n_checks:
        block.absent.append("No format check was made for this run.")
    else:
        block.notes.append(f"{count(n_failed)} of {count(found.n_checks)} checks failed.")
    if n_failed:
        lines = [
            (row["model_id"], row["task_id"], (variants.get(row["prompt_variant_id"]) or {}).get("strategy", "?"),
             named(variants.get(row["prompt_variant_id"])), row["expectation"], cut(row["reason"] or ""), row["action"])
            for row in found.failed_checks
        ]  # fmt: skip
        columns = ("Model", "Task", "Strategy", "Variant", "Check", "Found", "Action")
        note = "" if n_failed <= MOST_ROWS else f"The worst {MOST_ROWS} of {count(n_failed)}."
        block.tables.append(
            Table(caption="Checks that failed", columns=columns, rows=lines, n_heads=4, is_open=True, note=note)
        )
    out = [row for row in found.formats if row["is_quarantined"]]
    if not out:
        block.absent.append("No variant is quarantined.")
        return section
    listed, rest = limited(
        [
            (row["model_id"], row["task_id"], row["strategy"], named(variants.get(row["prompt_variant_id"])),
             cut(row["quarantine_reason"] or ""),
             cut((variants.get(row["prompt_variant_id"]) or {}).get("instruction") or "", 160))
            for row in out
        ]
    )  # fmt: skip
    headings = ("Model", "Task", "Strategy", "Variant", "Reason", "Instruction")
    block.tables.append(
        Table(
            caption=f"Quarantined variants: {len(out)}",
            columns=headings,
            rows=listed,
            n_heads=4,
            is_open=True,
            note=rest,
        )
    )
    return section
