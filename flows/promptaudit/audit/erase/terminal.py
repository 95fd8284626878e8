"""Draws an erasure for a terminal."""

from __future__ import annotations

from promptaudit.audit.erase.erase import Erasure
from promptaudit.evidence.blanks import LEAST
from promptaudit.system.display.figures import shown


def lines_of(erasure: Erasure) -> list[str]:
    """Writes the lines about an erasure: what was erased, what still quotes it, and what is out of reach."""
    rows = ", ".join(f"{n} of {table}" for table, n in erasure.n_rows.items())
    head = f"erased the texts of sample {erasure.sample_id!r} in {len(erasure.audit_run_ids)} runs: {rows}"
    short = f"texts of fewer than {LEAST} characters, or spelt otherwise, were not looked for in other rows"
    if erasure.still_quoting is None:
        left = [f"files were not looked through: no text of {LEAST} characters is left here to look for"]
    else:
        left = [f"still quotes it, or cannot be read: {shown(path)}" for path in erasure.still_quoting]
    beyond = [f"beyond reach: {shown(each)}" for each in erasure.beyond_reach]
    return [head, short, *left, *beyond, f"published  {erasure.published}"]
