"""Resolves the name of a run, or of a part of it, on the command line: an id, latest, a baseline, an audit.

RUN[:MODEL[:STRATEGY]], where RUN is one of

    3f2a...        a run's id, or the beginning of one
    latest         the newest complete run; latest~2 the one two before it, of the same audit
    nightly        the newest complete run of audit `nightly`; nightly~1 the one before it
    release-4      the run pinned under that name, by `promptaudit pin`
    :gpt-4o        model `gpt-4o` of the newest complete run
    ::simple       every model of it under strategy `simple`
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from promptaudit.registry.errors import DataError, UsageError, WarehouseError, nearest, refuse_unknown
from promptaudit.registry.gate_rules import part_of
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

Kind = TypeVar("Kind")
LATEST = "latest"
_STRATEGIES = "select distinct strategy from marts.rpt_audit where audit_run_id = $run"
_DERIVED = "select 1 from information_schema.tables where table_schema = 'marts' and table_name = 'dim_audit_runs'"
_RUN = re.compile(r"(?P<name>[^~:]*)(~(?P<back>\d{1,6}))?(:(?P<model>.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """A published run. Only its id names a trial, which is a run of chosen samples."""

    audit_run_id: str
    audit_id: str
    started_at: datetime
    is_complete: bool
    is_trial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A run, with one of its models or all, and one strategy or all."""

    audit_run_id: str
    audit_id: str
    model_id: str | None = None
    strategy: str | None = None


def resolve(warehouse: Warehouse, text: str) -> Reference:
    """Finds the complete run, and perhaps model and strategy, that a text names.

    Raises UsageError with the nearest name, or DataError if every complete run is a trial or there is none.
    """
    known = [run for run in _published_runs(warehouse) if run.is_complete]
    if all(run.is_trial for run in known):
        msg = f"{warehouse.published.path} holds no complete run"
        raise DataError(msg)
    parts = _RUN.fullmatch(text)
    if parts is None:
        msg = f"{text!r} names no run: RUN, RUN~1, RUN:MODEL, RUN::STRATEGY or RUN:MODEL:STRATEGY is wanted"
        raise UsageError(msg)
    run = _run_named(warehouse, known, parts["name"] or LATEST, int(parts["back"] or 0), text)
    models = set() if parts["model"] is None else models_of(warehouse, run.audit_run_id)
    model, strategy = part_of(parts["model"] or "", models)
    why = f"run {run.audit_run_id} has none of that name"
    if strategy is not None:
        rows = warehouse.published.read(_STRATEGIES, run=run.audit_run_id)
        refuse_unknown("strategy", strategy, {row["strategy"] for row in rows}, why)
    refuse_unknown("model", model, models, why)
    return Reference(audit_run_id=run.audit_run_id, audit_id=run.audit_id, model_id=model, strategy=strategy)


def resolve_pair(warehouse: Warehouse, base: str, candidate: str) -> tuple[Reference, Reference]:
    """Resolves base and candidate. If both names are models of the newest run, they mean these models."""
    known = complete_runs(warehouse)
    names = {run.audit_id for run in known} | set(baselines(warehouse))
    wanted = {base, candidate}
    if known and wanted <= models_of(warehouse, known[0].audit_run_id) and not wanted & names:
        first, second = (resolve(warehouse, f":{model}") for model in (base, candidate))
    else:
        first, second = resolve(warehouse, base), resolve(warehouse, candidate)
    for what in ("model_id", "strategy"):
        if (getattr(first, what) is None) != (getattr(second, what) is None):
            msg = f"{base!r} and {candidate!r}: name a {what.removesuffix('_id')} of both, or of neither"
            raise UsageError(msg)
    if first == second:
        msg = f"{base!r} and {candidate!r} are the same: {first.audit_run_id}"
        raise UsageError(msg)
    return first, second


def resolve_id(warehouse: Warehouse, text: str | None) -> str:
    """Finds the published run, complete or not, whose id begins with the text, else the complete run of `resolve`.

    Without a text it finds the newest run, and a trial only if there is no other. Raises UsageError with the nearest
    name, or DataError if nothing is published.
    """
    known = _published_runs(warehouse)
    if not known:
        msg = f"{warehouse.published.path} holds no run"
        raise DataError(msg)
    if text is None:
        return min(known, key=lambda run: run.is_trial).audit_run_id
    if any(run.audit_run_id.startswith(text) for run in known):
        return one_run([run.audit_run_id for run in known], text)
    named = resolve(warehouse, text)
    if named.model_id is not None or named.strategy is not None:
        msg = f"{text!r} names a part of a run, and the whole run is wanted: {named.audit_run_id}"
        raise UsageError(msg)
    return named.audit_run_id


def chosen(rows: Sequence[Kind], why: str, **names: str | None) -> list[Kind]:
    """Picks the rows of the model, task and strategy that options name; None is all.

    Raises UsageError with the nearest name, and with `why`, if no row has a name, or has it with those before.
    """
    kept, given = list(rows), ""
    for option, name in names.items():
        own = attrgetter(option if option == "strategy" else f"{option}_id")
        refuse_unknown(f"--{option}", name, {own(row) for row in rows}, why)
        refuse_unknown(f"--{option}", name, {own(row) for row in kept}, f"{why}{given}")
        kept = [row for row in kept if name in (None, own(row))]
        given += "" if name is None else f" under --{option} {name[:80]}"
    return kept


def one_run(
    ids: Sequence[str], beginning: str, *, kind: str = "complete run", name: str = "", names: Collection[str] = ()
) -> str:
    """Finds the one of `ids` that begins with `beginning`; raises UsageError with the nearest name for none or several.

    `kind` says what the ids are. `name` is what the user called the run, if that was no id. The nearest name is one of
    `names`, by default of `ids`.
    """
    matching = [each for each in ids if each.startswith(beginning)]
    if len(matching) != 1:
        called = name or beginning
        what = "several runs begin with" if matching else f"no {kind} is"
        msg = f"{what} {called[:80]!r}{nearest(called, names or ids)}"
        raise UsageError(msg)
    return matching[0]


def complete_runs(warehouse: Warehouse) -> list[PublishedRun]:
    """Lists the published complete runs that are no trials, newest first."""
    return [run for run in _published_runs(warehouse) if run.is_complete and not run.is_trial]


def _published_runs(warehouse: Warehouse) -> list[PublishedRun]:
    if not warehouse.published.read(_DERIVED):
        msg = f"{warehouse.published.path} holds no run: none was derived"
        raise WarehouseError(msg)
    rows = warehouse.published.read(
        "select audit_run_id, audit_id, started_at, state = 'complete' as is_complete, origin = 'trial' as is_trial "
        "from marts.dim_audit_runs order by run_index desc"
    )
    return [PublishedRun(**row) for row in rows]


def models_of(warehouse: Warehouse, audit_run_id: str) -> set[str]:
    """Lists the models of a published run."""
    rows = warehouse.published.read("select model_id from marts.dim_models where audit_run_id = $run", run=audit_run_id)
    return {row["model_id"] for row in rows}


def baselines(warehouse: Warehouse) -> dict[str, str]:
    """Maps each name to the run pinned under it, the newest if it was pinned twice."""
    return {row["name"]: row["audit_run_id"] for row in warehouse.published.read(sql("warehouse", "baselines"))}


def _run_named(warehouse: Warehouse, known: list[PublishedRun], name: str, back: int, text: str) -> PublishedRun:
    whole = [run for run in known if not run.is_trial]
    audits = {run.audit_id for run in whole}
    if name == LATEST:
        named = whole[0]
    elif name in audits:
        named = next(run for run in whole if run.audit_id == name)
    else:
        pinned = baselines(warehouse)
        by_id = {run.audit_run_id: run for run in known}
        names = {LATEST, *audits, *pinned, *by_id}
        named = by_id[one_run(list(by_id), pinned.get(name, name), name=name, names=names)]
    before = [run for run in known if run == named or (run.audit_id == named.audit_id and not run.is_trial)]
    before = before[before.index(named) :]
    if back >= len(before):
        msg = f"{text!r}: audit '{named.audit_id}' has {len(before)} complete runs up to there"
        raise UsageError(msg)
    return before[back]
