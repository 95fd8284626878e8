"""Says which places are sound once others are damaged, and the command that restores each damaged one."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from promptaudit.evidence.verify.checks import Finding
from promptaudit.warehouse import Warehouse

OWN = "the warehouse"
COPY = "the published copy"
IN_PARQUET = "the Parquet marts"
ARCHIVE = "the archive of "


def restoring(warehouse: Warehouse, findings: Sequence[Finding], retired: Collection[str] = ()) -> list[str]:
    """Lists what is sound and a command for each damaged place; empty if nothing is damaged and the warehouse is there.

    The warehouse and its published copy restore each other. Everything else is made from the warehouse, but for the
    archive of retired rows, which only a backup has. `retired` are the runs whose raw rows are there.
    """
    damaged = [each for each in findings if each.kind != "unsealed"]
    own, copy = warehouse.places.file, warehouse.published.path
    bad = {each.where for each in damaged}
    there = {OWN: own.is_file(), COPY: copy.is_file(), IN_PARQUET: warehouse.places.marts.is_dir()}
    sound = [where for where, is_there in there.items() if is_there and where not in bad]
    if not damaged and there[OWN]:
        return []
    lines = [f"sound: {', '.join(sound) or 'neither the warehouse nor a copy of it'}"]
    log = own.with_name(own.name + ".wal")
    at, to = _named(own), _named(copy)
    of_own = [each for each in damaged if each.where == OWN]
    if of_own and all(map(_is_derived_again, of_own)):
        lines.append(f"restore {OWN}: promptaudit rebuild")  # of the landed rows, which are sound; it publishes too
    elif (OWN in bad or not there[OWN]) and COPY in sound:
        away = "".join(f"mv {_named(path)} {_named(path)}.damaged && " for path in (own, log) if path.exists())
        lines.append(
            f"restore {OWN}: {away}cp -p {to} {at} && promptaudit rebuild (what landed since and is not in the spool is lost)"
        )
    elif COPY in bad and OWN in sound:
        lines.append(f"restore {COPY}: {'promptaudit rebuild' if log.exists() else f'cp -p {at} {to}'}")
    elif bad & {OWN, COPY}:
        lines.append(f"restore {OWN}: put a backup of {at} in its place, then `promptaudit rebuild`")
    lines += [_of_file(warehouse, each, retired) for each in damaged if each.where not in (OWN, COPY)]
    return list(dict.fromkeys(lines))


def _is_derived_again(finding: Finding) -> bool:
    # a build makes rows and views again, and leaves a column that was added
    is_column = finding.kind == "added" and finding.detail.startswith("column ")
    return finding.kind != "broken" and not is_column and finding.what.startswith(("marts.", "view "))


def _of_file(warehouse: Warehouse, finding: Finding, retired: Collection[str]) -> str:
    if finding.where == IN_PARQUET and finding.what == "file":
        return f"restore {IN_PARQUET}: rm {_named(warehouse.places.marts / finding.which)}"
    # of a retired run the marts are there, and no rows to derive them from
    if finding.where == IN_PARQUET and finding.audit_run_id in retired:
        mart = warehouse.places.marts / finding.what.removeprefix("marts.") / f"audit_run_id={finding.audit_run_id}"
        return f"restore {IN_PARQUET}: rm -rf {_named(mart)} && promptaudit rebuild"
    if finding.where == IN_PARQUET:
        return f"restore {IN_PARQUET}: {_rebuild(finding.audit_run_id)}"
    if finding.where.startswith(ARCHIVE):
        path = warehouse.places.archive.parent / finding.which.partition(":")[0]
        return f"restore {finding.where}: put a backup of {_named(path)} in its place; nothing else has these rows"
    return f"restore {finding.where}: promptaudit report {_named(finding.audit_run_id or 'RUN')}"


def _rebuild(run: str | None) -> str:
    return "promptaudit rebuild" if run is None else f"promptaudit rebuild {_named(run)}"


def _named(path: object) -> str:
    return shlex.quote(str(path))
