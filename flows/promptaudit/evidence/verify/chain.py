"""Checks the chain of seals: each is the hash of what it says and of the one before it, and none is missing between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from promptaudit.evidence.verify.differences import Kind, SealDifference
from promptaudit.marts.seal import BY_COMPARING, Seal, SealedRows, n_sealed, seal_of
from promptaudit.registry.errors import UsageError
from promptaudit.warehouse.duckdb_file import Connection

MEASURED = ("predictions", "failed_predictions", "verdicts", "judges", "judge_controls", "tasks", "format_checks")
"""The tables of raw whose later rows may change a run's marts."""
RULINGS = ("verdicts", "judges", "judge_controls")
"""Those of them that people and judges add to a run that is complete."""
LEAST_DIGITS = 12  # of a seal given by hand


def check_chain(chain: Sequence[Seal], where: str) -> list[SealDifference]:
    """Returns the first place where the chain breaks; what comes after it proves nothing and is not looked at."""
    previous: str | None = None
    for place, seal in enumerate(chain, start=1):
        if seal.seal_index != place:
            return [SealDifference(kind="gone", where=where, what="seal", which=str(place))]
        if seal.previous_seal != previous:
            return [_of_seal("broken", seal, where, f"it does not follow seal {place - 1}")]
        if seal_of(seal) != seal.seal:
            return [_of_seal("broken", seal, where, "it is not the hash of its manifest")]
        previous = seal.seal
    return []


def check_digests(con: Connection, chain: Sequence[Seal], where: str) -> list[SealDifference]:
    """Returns the seal that is missing at the end of the chain and whose rows' digests are still there."""
    row = con.execute("select max(seal_index) from raw.row_digests").fetchone()
    newest = 0 if row is None or row[0] is None else int(row[0])
    return [SealDifference(kind="gone", where=where, what="seal", which=str(newest))] if newest > len(chain) else []


def check_copy(chain: Sequence[Seal], copy: Sequence[Seal], where: str) -> list[SealDifference]:
    """Returns the first seal of a copy that is not the chain's; a copy has the beginning of the chain, and nothing else."""
    for own, other in zip(chain, copy, strict=False):
        if own != other:
            return [_of_seal("changed", other, where, "the warehouse has another")]
    if len(copy) > len(chain):
        return [_of_seal("gone", copy[len(chain)], "the warehouse", f"{where} has it")]
    return []


def _of_seal(kind: Kind, seal: Seal, where: str, detail: str) -> SealDifference:
    which = f"{seal.seal_index} of run {seal.audit_run_id}"
    return SealDifference(
        kind=kind, where=where, what="seal", which=which, detail=detail, audit_run_id=seal.audit_run_id
    )


def resealed(chain: Sequence[Seal], kept: Seal) -> list[SealDifference]:
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
    differences = _views_otherwise(kept, chain[-1])
    for run, before in then.items():
        after = now[run]
        differences += _otherwise(run, "", before.entries["marts"], after.entries["marts"], before, after, why[run])
        for comparison, old in sorted(before.entries["comparisons"].items()):
            new = after.entries["comparisons"].get(comparison, {})
            differences += _otherwise(run, comparison, old, new, before, after, of_any)
    return differences


def _views_otherwise(kept: Seal, newest: Seal) -> list[SealDifference]:
    """Returns views that the same project makes otherwise than it did; another project's next build seals its own."""
    if kept.entries["views_by"] != newest.entries["views_by"]:
        return []
    detail = f"seal {newest.seal_index} has it otherwise than seal {kept.seal_index}: same code"
    before, after = kept.entries["views"], newest.entries["views"]
    return [
        SealDifference(kind="changed", where="the warehouse", what=f"view {name}", detail=detail)
        for name in sorted({*before, *after} - {BY_COMPARING})  # each comparing makes that one anew
        if before.get(name) != after.get(name)
    ]


def _otherwise(
    run: str,
    comparison: str,
    old: Mapping[str, SealedRows],
    new: Mapping[str, SealedRows],
    before: Seal,
    after: Seal,
    why: str,
) -> list[SealDifference]:
    detail = f"seal {after.seal_index} has it otherwise than seal {before.seal_index}: {why or 'same rows, same code'}"
    return [
        SealDifference(
            kind="unsealed" if why else "changed",
            where="the warehouse",
            what=f"marts.{mart}",
            which=comparison,
            detail=detail,
            audit_run_id=run,
        )
        for mart in sorted(old)
        if old[mart] != new.get(mart)
    ]


def _why_otherwise(before: Seal, after: Seal) -> str:
    """Returns what honestly makes marts of one run differ between two seals; empty where nothing does."""
    if landed := _landed(before, after):
        return f"rows of {', '.join(f'raw.{table}' for table in landed)} landed in between"
    if before.entries["derived_by"] != after.entries["derived_by"]:
        return "other code derived it"
    return ""


def _landed(before: Seal, after: Seal) -> dict[str, int]:
    """Returns how many rows landed between two seals of a run in each table that its marts are made of."""
    counts = [{table: n_sealed(each.entries, table) for table in MEASURED} for each in (before, after)]
    return {table: counts[1][table] - n for table, n in counts[0].items() if counts[1][table] != n}


def landed_since(chain: Sequence[Seal], kept: Seal) -> dict[str, dict[str, int]]:
    """Returns how many rows of each table landed after `kept` in every run that the chain had sealed by then."""
    then = {each.audit_run_id: each for each in chain if each.seal_index <= kept.seal_index}
    now = {each.audit_run_id: each for each in chain}
    return {run: landed for run, before in then.items() if (landed := _landed(before, now[run]))}


def find_seal(chain: Sequence[Seal], text: str, audit_run_id: str | None) -> tuple[Seal | None, list[SealDifference]]:
    """Returns the seal of the chain that somebody kept, or None and a difference.

    Raises:
        UsageError: the text is no beginning of a seal.
    """
    wanted = text.strip().lower()
    if len(wanted) < LEAST_DIGITS or not set(wanted) <= set("0123456789abcdef"):
        msg = f"--seal {text[:80]!r}: {LEAST_DIGITS} to 64 digits of 0 to 9 and a to f are wanted, as the report prints them"
        raise UsageError(msg)
    for seal in chain:
        if seal.seal.startswith(wanted) and audit_run_id in (None, seal.audit_run_id):
            return seal, []
    of = "" if audit_run_id is None else f" for run {audit_run_id}"
    detail = f"no seal of the chain{of} is it: this is another history than the one it was copied from"
    return None, [
        SealDifference(
            kind="broken",
            where="the warehouse",
            what="seal",
            which=wanted[:LEAST_DIGITS],
            detail=detail,
            audit_run_id=audit_run_id,
        )
    ]
