"""Draws what was trusted, taken back or listed for a terminal: a line a pair, and a closing one."""

from __future__ import annotations

from collections.abc import Sequence

from flows.display.progress import visible
from flows.trust.command import ForgottenFolder, TrustedFolder, TrustList

Cells = tuple[str, str, str, str]


def lines_of(result: TrustedFolder | ForgottenFolder | TrustList) -> list[str]:
    """Returns the lines about what was trusted, taken back or listed, safe to print."""
    path, rows = result.trust_file, _rows(result)
    if isinstance(result, TrustedFolder):
        n_new = sum(pair.is_new for pair in result.pairs)
        last = f"{_pairs(n_new)} recorded in {path}" if n_new else f"all trusted already, in {path}"
        if not rows:
            last = f"{result.registry}: no card of it sends a key to another machine, nothing to trust"
    elif isinstance(result, ForgottenFolder):
        last = f"{_pairs(len(rows))} taken out of {path}" if rows else f"{result.registry}: nothing of it is trusted"
    else:
        last = f"{_pairs(len(rows))} in {path}" if rows else f"nothing is trusted yet, in {path}"
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = ["  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() for row in rows]
    return [visible(line) for line in (*lines, last)]


def _rows(result: TrustedFolder | ForgottenFolder | TrustList) -> Sequence[Cells]:
    if isinstance(result, TrustedFolder):
        return [
            ("new" if pair.is_new else "known", pair.shown, pair.api_key_env, ", ".join(pair.models))
            for pair in result.pairs
        ]
    if isinstance(result, ForgottenFolder):
        return [("forgotten", pair.shown, pair.api_key_env, "") for pair in result.forgotten]
    return [(pair.trusted_at, pair.shown, pair.api_key_env, pair.registry) for pair in result.trusted]


def _pairs(n: int) -> str:
    return f"{n} pair{'' if n == 1 else 's'}"
