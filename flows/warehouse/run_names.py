"""What names a run on the command line: an id or its beginning, latest, latest~1, a baseline, an audit; and a model of it.

RUN[:MODEL], where RUN is one of

    3f2a...        a run's id, or the beginning of one
    latest         the newest complete run; latest~2 the one two before it, of the same audit
    nightly        the newest complete run of audit `nightly`; nightly~1 the one before it
    release-4      the run pinned under that name, by `promptaudit pin`
    :gpt-4o        model `gpt-4o` of the newest complete run
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from flows.warehouse import Warehouse
from flows.warehouse.sql import sql
from models_registry.errors import DataError, UsageError, nearest

LATEST = "latest"
_RUN = re.compile(r"(?P<name>[^~:]*)(~(?P<back>\d{1,6}))?(:(?P<model>.+))?")


@dataclass(frozen=True, slots=True)
class Known:
    """A complete, published run."""

    audit_run_id: str
    audit_id: str
    started_at: datetime
    is_trial: bool = False  # found by its id alone: it is of chosen samples


@dataclass(frozen=True, slots=True)
class Reference:
    """A run, and of it one model or all."""

    audit_run_id: str
    audit_id: str
    model_id: str | None = None


def resolve(warehouse: Warehouse, text: str) -> Reference:
    """The run, and perhaps model, that a text names; raises UsageError with the nearest name there is."""
    known = _known_runs(warehouse)
    if all(run.is_trial for run in known):
        msg = f"{warehouse.published.path} holds no complete run"
        raise DataError(msg)
    parts = _RUN.fullmatch(text)
    if parts is None:
        msg = f"{text!r} names no run: RUN, RUN~1, RUN:MODEL or :MODEL is wanted"
        raise UsageError(msg)
    run = _run_named(warehouse, known, parts["name"] or LATEST, int(parts["back"] or 0), text)
    model = parts["model"]
    if model is not None:
        models = models_of(warehouse, run.audit_run_id)
        if model not in models:
            msg = f"run {run.audit_run_id} has no model {model!r}{nearest(model, models)}"
            raise UsageError(msg)
    return Reference(run.audit_run_id, run.audit_id, model)


def resolve_pair(warehouse: Warehouse, base: str, candidate: str) -> tuple[Reference, Reference]:
    """Base and candidate; two names that are both models of the newest run are these."""
    known = complete_runs(warehouse)
    if known and (models := models_of(warehouse, known[0].audit_run_id)) >= {base, candidate}:
        names = {run.audit_id for run in known} | set(baselines(warehouse))
        if not {base, candidate} & names:
            newest = known[0]
            return tuple(Reference(newest.audit_run_id, newest.audit_id, each) for each in (base, candidate))  # type: ignore[return-value]
    del models
    first, second = resolve(warehouse, base), resolve(warehouse, candidate)
    if (first.model_id is None) != (second.model_id is None):
        msg = f"{base!r} and {candidate!r}: name a model of both, or of neither"
        raise UsageError(msg)
    if first == second:
        msg = f"{base!r} and {candidate!r} are the same: {first.audit_run_id}"
        raise UsageError(msg)
    return first, second


def complete_runs(warehouse: Warehouse, audit_id: str | None = None) -> list[Known]:
    """The published complete runs that are no trials, of an audit or all, newest first."""
    return [run for run in _known_runs(warehouse) if not run.is_trial and audit_id in (None, run.audit_id)]


def _known_runs(warehouse: Warehouse) -> list[Known]:
    return [Known(**row) for row in warehouse.published.read(sql("warehouse", "complete_runs"))]


def models_of(warehouse: Warehouse, audit_run_id: str) -> set[str]:
    """The models of a published run."""
    rows = warehouse.published.read("select model_id from marts.dim_models where audit_run_id = $run", run=audit_run_id)
    return {row["model_id"] for row in rows}


def baselines(warehouse: Warehouse) -> dict[str, str]:
    """The run pinned under each name, the newest where it was pinned twice; none in the copy of an older version."""
    tables = warehouse.published.read(
        "select 1 from information_schema.tables where table_schema = 'raw' and table_name = 'baselines'"
    )
    if not tables:
        return {}
    return {row["name"]: row["audit_run_id"] for row in warehouse.published.read(sql("warehouse", "baselines"))}


def _run_named(warehouse: Warehouse, known: list[Known], name: str, back: int, text: str) -> Known:
    whole = [run for run in known if not run.is_trial]
    audits = {run.audit_id for run in whole}
    pinned = baselines(warehouse)
    if name == LATEST:
        found = whole[0]
    elif name in audits:
        found = next(run for run in whole if run.audit_id == name)
    else:
        wanted = pinned.get(name, name)
        matching = [run for run in known if run.audit_run_id.startswith(wanted)]
        if len(matching) != 1:
            names = {LATEST, *audits, *pinned, *(run.audit_run_id for run in known)}
            what = "several runs begin with" if matching else "no complete run is"
            msg = f"{what} {name!r}{nearest(name, names)}"
            raise UsageError(msg)
        found = matching[0]
    before = [run for run in known if run == found or (run.audit_id == found.audit_id and not run.is_trial)]
    before = before[before.index(found) :]
    if back >= len(before):
        msg = f"{text!r}: audit '{found.audit_id}' has {len(before)} complete runs up to there"
        raise UsageError(msg)
    return before[back]
