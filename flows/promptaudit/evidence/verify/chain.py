"""Checks the chain of seals. Each is the hash of its content and of the seal before it, and none may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptaudit.evidence.verify.checks import Check, Finding, Kind
from promptaudit.marts.seal import BY_COMPARING, Seal, n_sealed, seal_of, signatures
from promptaudit.marts.signature import signer_of
from promptaudit.registry.errors import UsageError
from promptaudit.warehouse.duckdb_file import Connection

MEASURED = ("predictions", "failed_predictions", "verdicts", "judges", "judge_controls", "tasks", "format_checks")
"""Tables of raw in which later rows may change a run's marts."""
RULINGS = ("verdicts", "judges", "judge_controls")
"""Tables of MEASURED to which people and judges add rows when a run is complete."""
NOBODY = "there are none, so nobody signed one"
LEAST_DIGITS = 12  # of a seal given by hand


def check_chain(check: Check, *, con: Connection, chain: Sequence[Seal]) -> Iterator[Finding]:
    """Finds the first place where the chain breaks or ends too early. The seals after it prove nothing."""
    previous: str | None = None
    for place, seal in enumerate(chain, start=1):
        if seal.seal_index != place:
            yield check.found("gone", str(place))
            return
        follows = seal.previous_seal == previous
        if not follows or seal_of(seal) != seal.seal:
            why = "it is not the hash of its manifest" if follows else f"it does not follow seal {place - 1}"
            yield _of_seal("broken", seal, check.where, why)
            return
        _ = seal.entries  # a manifest that is no JSON raises
        previous = seal.seal
    ((newest,),) = con.execute("select coalesce(max(seal_index), 0) from raw.row_digests").fetchall()
    if newest > len(chain):
        yield check.found("gone", str(newest))


def check_copy(chain: Sequence[Seal], copy: Sequence[Seal], where: str) -> list[Finding]:
    """Finds the first seal of a copy that is not the chain's. A copy has the beginning of the chain, nothing else."""
    for own, other in zip(chain, copy, strict=False):
        if own != other:
            return [_of_seal("changed", other, where, "the warehouse has another")]
    if len(copy) > len(chain):
        return [_of_seal("gone", copy[len(chain)], "the warehouse", f"{where} has it")]
    return []


def _of_seal(kind: Kind, seal: Seal, where: str, detail: str) -> Finding:
    run = seal.audit_run_id
    which = f"{seal.seal_index} of run {run}"
    return Finding(kind=kind, where=where, what="seal", which=which, detail=detail, audit_run_id=run)


def check_signed(where: str, *, con: Connection, chain: Sequence[Seal], signers: bytes) -> Iterator[Finding]:
    """Finds whether the newest seal is signed by somebody whose key `signers`, the content of a file, has.

    A seal is the hash of the one before it, too, so one signature is of all seals up to it.
    """
    signed = {index: signature for index, signature in signatures(con).items() if index <= len(chain)}
    last = max(signed, default=0)
    if signed:
        seal = chain[last - 1]
        person, why = signer_of(seal.seal, signed[last], signers, seal.sealed_at)
        if person is None:
            yield _of_seal("broken", seal, where, f"it is signed by nobody of --signers: {why}")
            return
    if not chain:
        yield Finding(kind="broken", where=where, what="seals", detail=NOBODY)
    elif n_after := len(chain) - last:
        before = f", nor the {n_after - 1} before it" if n_after > 1 else ""
        yield _of_seal("broken", chain[-1], where, f"nobody signed it{before}")


def resealed(chain: Sequence[Seal], kept: Seal) -> list[Finding]:
    """Lists the marts that have changed since the seal `kept`, of every run that the chain had sealed by then.

    Anybody who can write the warehouse can alter a mart and have the package seal it, so a later seal is no excuse.
    Where a run's rows and the code are the same, its marts must be too, and a mart that differs is `changed`. Where
    answers or rulings landed in between, texts were erased or other code derived it, a mart cannot be compared with the
    older seal and is `unsealed`. A view that the same project makes differently is `changed`.
    """
    pairs = _since(chain, kept)
    erased = {each.audit_run_id for each in chain if each.seal_index > kept.seal_index and each.reason == "erased"}
    why = {run: "texts were erased" if run in erased else _why_otherwise(*pair) for run, pair in pairs.items()}
    of_any = next(filter(None, why.values()), "")  # a comparison rests on two runs
    findings = []
    for run, (before, after) in pairs.items():
        old, new = before.entries, after.entries
        parts = [("", why[run], old["marts"], new["marts"])]
        parts += [
            (each, of_any, own, new["comparisons"].get(each, {})) for each, own in sorted(old["comparisons"].items())
        ]
        for which, reason, was, now in parts:
            detail = f"seal {after.seal_index} has it otherwise than seal {before.seal_index}: {reason or 'same rows, same code'}"
            check = Check(where="the warehouse", what="", which=which, detail=detail, audit_run_id=run)
            findings += [
                check.part(what=f"marts.{mart}").found("unsealed" if reason else "changed")
                for mart in sorted(was)
                if was[mart] != now.get(mart)
            ]
    return _views_otherwise(kept, chain[-1]) + findings


def _since(chain: Sequence[Seal], kept: Seal) -> dict[str, tuple[Seal, Seal]]:
    # of each run the seal that was its newest when `kept` was made, and its newest of today
    then = {each.audit_run_id: each for each in chain if each.seal_index <= kept.seal_index}
    now = {each.audit_run_id: each for each in chain}
    return {run: (before, now[run]) for run, before in then.items()}


def _views_otherwise(kept: Seal, newest: Seal) -> list[Finding]:
    # another project makes other views, and its next build seals them
    if kept.entries["views_by"] != newest.entries["views_by"]:
        return []
    detail = f"seal {newest.seal_index} has it otherwise than seal {kept.seal_index}: same code"
    before, after = kept.entries["views"], newest.entries["views"]
    return [
        Finding(kind="changed", where="the warehouse", what=f"view {name}", detail=detail)
        for name in sorted({*before, *after} - {BY_COMPARING})  # every comparison makes that view again
        if before.get(name) != after.get(name)
    ]


def _why_otherwise(before: Seal, after: Seal) -> str:
    # what can make marts of one run differ without anybody altering them; empty where nothing does
    if landed := _landed(before, after):
        return f"rows of {', '.join(f'raw.{table}' for table in landed)} landed in between"
    return "" if before.entries["derived_by"] == after.entries["derived_by"] else "other code derived it"


def _landed(before: Seal, after: Seal) -> dict[str, int]:
    # rows in each table of which the run's marts are made
    n_rows = {table: n_sealed(after.entries, table) - n_sealed(before.entries, table) for table in MEASURED}
    return {table: n for table, n in n_rows.items() if n}


def landed_since(chain: Sequence[Seal], kept: Seal) -> dict[str, dict[str, int]]:
    """Counts the rows of each table that landed after `kept` in every run that the chain had sealed by then."""
    return {run: landed for run, pair in _since(chain, kept).items() if (landed := _landed(*pair))}


def find_seal(chain: Sequence[Seal], text: str, audit_run_id: str | None) -> tuple[Seal | None, list[Finding]]:
    """Looks up a seal that somebody kept by its first digits. If the chain does not have it, gives None and a finding.

    Raises:
        UsageError: the text has fewer than 12 digits, or a character that is no hexadecimal digit.
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
    check = Check(where="the warehouse", what="seal", which=wanted[:LEAST_DIGITS], audit_run_id=audit_run_id)
    return None, [check.found("broken", detail=detail)]
