"""Checks the chain of seals: each is the hash of what it says and of the one before it, and none is missing between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flows.evidence.verify.findings import Finding
from flows.marts.seal import BY_COMPARING, Seal, seal_of
from flows.warehouse.duckdb_file import Connection
from models_registry.errors import UsageError

MEASURED = ("predictions", "verdicts", "judges", "judge_controls", "tasks", "format_checks")
"""The tables of raw whose later rows may change a run's marts."""
RULINGS = ("verdicts", "judges", "judge_controls")
"""Those of them that people and judges add to a run that is complete."""
LEAST_DIGITS = 12  # of a seal given by hand


def check_chain(chain: Sequence[Seal], where: str) -> list[Finding]:
    """The first place where the chain breaks; what comes after it proves nothing and is not looked at."""
    previous: str | None = None
    for place, found in enumerate(chain, start=1):
        which = f"{found.seal_index} of run {found.audit_run_id}"
        if found.seal_index != place:
            return [Finding("gone", where, "seal", str(place), "", None)]
        if found.previous_seal != previous:
            return [Finding("broken", where, "seal", which, f"it does not follow seal {place - 1}", found.audit_run_id)]
        if seal_of(found) != found.seal:
            return [Finding("broken", where, "seal", which, "it is not the hash of its manifest", found.audit_run_id)]
        previous = found.seal
    return []


def check_digests(con: Connection, chain: Sequence[Seal], where: str) -> list[Finding]:
    """No seal is missing at the end of the chain whose rows' digests are still there."""
    row = con.execute("select max(seal_index) from raw.row_digests").fetchone()
    newest = 0 if row is None or row[0] is None else int(row[0])
    return [Finding("gone", where, "seal", str(newest))] if newest > len(chain) else []


def check_copy(chain: Sequence[Seal], copy: Sequence[Seal], where: str) -> list[Finding]:
    """A copy has the beginning of the chain, and nothing else."""
    for own, found in zip(chain, copy, strict=False):
        if own != found:
            which = f"{found.seal_index} of run {found.audit_run_id}"
            return [Finding("changed", where, "seal", which, "the warehouse has another", found.audit_run_id)]
    if len(copy) > len(chain):
        found = copy[len(chain)]
        which = f"{found.seal_index} of run {found.audit_run_id}"
        return [Finding("gone", "the warehouse", "seal", which, f"{where} has it", found.audit_run_id)]
    return []


def resealed(chain: Sequence[Seal], kept: Seal) -> list[Finding]:
    """Returns the marts that seals after `kept` have otherwise, of every run that the chain had sealed by then.

    Whoever can write the warehouse can alter a mart and have the package seal it, so a later seal is no excuse. Where a run's
    rows and the code are the same its marts are too, and one that is not has `changed`; where answers or rulings landed in
    between, texts were erased or other code derived it, it cannot be held against the older seal: `unsealed`.
    """
    then = {each.audit_run_id: each for each in chain if each.seal_index <= kept.seal_index}
    later = [each for each in chain if each.seal_index > kept.seal_index]
    now = {each.audit_run_id: each for each in chain}
    erased = {each.audit_run_id for each in later if each.reason == "erased"}
    why = {
        run: "texts were erased" if run in erased else _why_otherwise(before, now[run]) for run, before in then.items()
    }
    of_any = next(filter(None, why.values()), "")  # a comparison is of two runs
    found = _views_otherwise(kept, chain[-1])
    for run, before in then.items():
        after = now[run]
        found += _otherwise(run, "", before.held["marts"], after.held["marts"], before, after, why[run])
        for comparison, old in sorted(before.held["comparisons"].items()):
            new = after.held["comparisons"].get(comparison, {})
            found += _otherwise(run, comparison, old, new, before, after, of_any)
    return found


def _views_otherwise(kept: Seal, newest: Seal) -> list[Finding]:
    """Views that the same project makes otherwise than it did; another project makes others, which its next build seals."""
    if kept.held["views_by"] != newest.held["views_by"]:
        return []
    detail = f"seal {newest.seal_index} has it otherwise than seal {kept.seal_index}: same code"
    before, after = kept.held["views"], newest.held["views"]
    return [
        Finding("changed", "the warehouse", f"view {name}", "", detail)
        for name in sorted({*before, *after} - {BY_COMPARING})  # each comparing makes that one anew
        if before.get(name) != after.get(name)
    ]


def _otherwise(  # noqa: PLR0913 - what a finding says
    run: str, comparison: str, old: dict[str, Any], new: dict[str, Any], before: Seal, after: Seal, why: str
) -> list[Finding]:
    detail = f"seal {after.seal_index} has it otherwise than seal {before.seal_index}: {why or 'same rows, same code'}"
    return [
        Finding("unsealed" if why else "changed", "the warehouse", f"marts.{mart}", comparison, detail, run)
        for mart in sorted(old)
        if old[mart] != new.get(mart)
    ]


def _why_otherwise(before: Seal, after: Seal) -> str:
    """What honestly makes marts of one run differ between two seals; empty where nothing does."""
    if landed := _landed(before, after):
        return f"rows of {', '.join(f'raw.{table}' for table in landed)} landed in between"
    if before.held["derived_by"] != after.held["derived_by"]:
        return "other code derived it"
    return ""


def _landed(before: Seal, after: Seal) -> dict[str, int]:
    """How many rows landed between two seals of a run in each table that its marts are made of."""
    counts = [
        {table: each.held["raw"].get(table, {}).get("n_rows", 0) for table in MEASURED} for each in (before, after)
    ]
    return {table: counts[1][table] - n for table, n in counts[0].items() if counts[1][table] != n}


def landed_since(chain: Sequence[Seal], kept: Seal) -> dict[str, dict[str, int]]:
    """Returns how many rows of each table landed after `kept` in every run that the chain had sealed by then."""
    then = {each.audit_run_id: each for each in chain if each.seal_index <= kept.seal_index}
    now = {each.audit_run_id: each for each in chain}
    return {run: landed for run, before in then.items() if (landed := _landed(before, now[run]))}


def find_seal(chain: Sequence[Seal], text: str, audit_run_id: str | None) -> tuple[Seal | None, list[Finding]]:
    """The seal of the chain that somebody kept; raises UsageError where the text is no seal's beginning."""
    wanted = text.strip().lower()
    if len(wanted) < LEAST_DIGITS or not set(wanted) <= set("0123456789abcdef"):
        msg = f"--seal {text[:80]!r}: {LEAST_DIGITS} to 64 digits of 0 to 9 and a to f are wanted, as the report prints them"
        raise UsageError(msg)
    for found in chain:
        if found.seal.startswith(wanted) and audit_run_id in (None, found.audit_run_id):
            return found, []
    of = "" if audit_run_id is None else f" for run {audit_run_id}"
    detail = f"no seal of the chain{of} is it: this is another history than the one it was copied from"
    return None, [Finding("broken", "the warehouse", "seal", wanted[:LEAST_DIGITS], detail, audit_run_id)]
