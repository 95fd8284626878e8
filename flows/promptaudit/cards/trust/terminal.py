"""Draws what was trusted, taken back or listed for a terminal: a line for each pair and all code, and a closing one."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.cards.trust.command import CodeRow, ForgottenFolder, TrustedFolder, TrustList
from promptaudit.system.display.progress import visible

Cells = tuple[str, str, str, str]
DIGITS = 12  # of a sha256, as it is shown


def lines_of(result: TrustedFolder | ForgottenFolder | TrustList) -> list[str]:
    """Writes the lines about what was trusted, taken back or listed, safe to print."""
    path = result.trust_file
    passed_over: Sequence[str] = ()
    if isinstance(result, TrustedFolder):
        passed_over = result.passed_over
        pairs, code = _rows_of_folder(result)
        count = _counted([pair for pair in result.pairs if pair.is_new], [each for each in result.code if each.is_new])
        last = f"{count} recorded in {path}" if count else f"all trusted already, in {path}"
        if not pairs and not code:
            last = f"{result.registry}: no card of it sends a key to another machine or names code, nothing to trust"
    elif isinstance(result, ForgottenFolder):
        pairs = [("forgotten", pair.shown, pair.api_key_env, "") for pair in result.forgotten]
        code = [("forgotten", *_code(each), "") for each in result.forgotten_code]
        count = _counted(pairs, code)
        last = f"{count} taken out of {path}" if count else f"{result.registry}: nothing of it is trusted"
    else:
        pairs = [(pair.trusted_at, pair.shown, pair.api_key_env, pair.registry) for pair in result.trusted]
        code = [(each.trusted_at, *_code(each), each.registry) for each in result.code]
        count = _counted(pairs, code)
        last = f"{count} in {path}" if count else f"nothing is trusted yet, in {path}"
    return [visible(line) for line in (*passed_over, *_aligned(pairs), *_aligned(code), last)]


def _rows_of_folder(result: TrustedFolder) -> tuple[list[Cells], list[Cells]]:
    pairs = [
        ("new" if pair.is_new else "known", pair.shown, pair.api_key_env, ", ".join(pair.models))
        for pair in result.pairs
    ]
    return pairs, [("new" if each.is_new else "known", *_code(each), ", ".join(each.cards)) for each in result.code]


def _code(row: CodeRow) -> tuple[str, str]:
    return row.shown, "" if row.sha256 is None else f"sha256 {row.sha256[:DIGITS]}"


def _aligned(rows: Sequence[Cells]) -> list[str]:
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return ["  ".join([*map(str.ljust, row, widths), row[3]]).rstrip() for row in rows]


def _counted(pairs: Sequence[object], code: Sequence[object]) -> str:
    counts = ((len(pairs), "pair", "pairs"), (len(code), "piece of code", "pieces of code"))
    return " and ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)
