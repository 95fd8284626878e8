"""Makes the OpenLineage events of a run and its parts, from the warehouse and from dbt's artefacts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent, RunState
from openlineage.client.uuid import generate_new_uuid

from promptaudit.lineage.columns.project import PREFIX, learn
from promptaudit.lineage.openlineage.build_events import Build
from promptaudit.lineage.openlineage.events import (
    Types,
    event,
    file_out,
    mart_out,
    other_in,
    parent_of,
    run_id_of,
    table_in,
    table_out,
)
from promptaudit.lineage.openlineage.names import endpoints_of, file_of, files
from promptaudit.lineage.openlineage.transport import Sender
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

SEVERAL = "several"
"""Stands for a run's id and for an audit's in a build of more than one run."""
_CHECKS = ("format_checks", "format_validations")
_LATER = (*_CHECKS, "verdicts", "judge_controls", "judges")  # lands between the two builds of dbt
_NOT_LANDED = (
    "audit_runs",
    "comparisons",
    "baselines",
    "acceptances",
    "waivers",
    "nights",
    "alarms",
    "notifications",
    "retirements",
    "seals",
    "erasures",
)


@dataclass(slots=True, kw_only=True)
class FollowedRun:
    """A run whose events are sent. `landed` are the raw tables that have had an event already."""

    warehouse: Warehouse
    audit_run_id: str
    audit_id: str
    sender: Sender
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    landed: set[str] = field(default_factory=set)

    def job(self, what: str) -> str:
        """Names a job: `run.quickstart`."""
        return f"{what}.{self.audit_id}"

    @property
    def parent(self) -> tuple[str, str] | None:
        """Names job and id of the run. None for several runs."""
        return None if self.audit_run_id == SEVERAL else (self.job("run"), run_id_of(self.audit_run_id))


def of_run(run: FollowedRun, state: str, error: str | None = None) -> list[RunEvent]:
    """Makes the event of the run itself. `error` is the type of the exception that ended it."""
    at = run.since if state == "START" else None
    return [event(RunState(state), run.job("run"), run_id_of(run.audit_run_id), "AUDIT", error=error, at=at)]


def landing(run: FollowedRun, state: str = "COMPLETE") -> list[RunEvent]:
    """Makes the events of landing: from data files and models into the raw tables that hold rows of the run."""
    types = types_of(run.warehouse)
    counts = {table: n for table, n in _counts(run, types).items() if table not in _LATER}
    run.landed |= set(counts)
    return _part(run, "land", [*_files(run), *_models(run)], _tables(run, types, counts), RunState(state))


def later(run: FollowedRun) -> list[RunEvent]:
    """Makes the events of tables that landed since: checks of formats, rulings of judges."""
    types = types_of(run.warehouse)
    counts = {table: n for table, n in _counts(run, types).items() if table not in run.landed}
    run.landed |= set(counts)
    checks = {table: n for table, n in counts.items() if table in _CHECKS}
    rulings = {table: n for table, n in counts.items() if table not in checks}
    events = []
    if checks:
        inputs = [table_in(run.warehouse, "intermediate", "int_answer_formats")]
        events += _part(run, "check", inputs, _tables(run, types, checks))
    if rulings:
        inputs = [table_in(run.warehouse, "raw", "predictions"), *_models(run, of_judges=True)]
        events += _part(run, "judge", inputs, _tables(run, types, rulings))
    return events


def built(run: FollowedRun, results: Path, laid_out: Mapping[str, str]) -> list[RunEvent]:
    """Makes the events of the models of dbt's last build.

    Models that were laid out by the SQL in `laid_out` count as if dbt had built them.
    """
    from promptaudit.warehouse.dbt_project import manifest_of_build

    manifest = manifest_of_build(results.parent)
    done = json.loads(results.read_text(encoding="utf-8"))
    known = learn(manifest)
    began = done["metadata"]["invocation_started_at"]
    timing = [{"name": "execute", "started_at": began, "completed_at": began}]
    for name, made in laid_out.items():
        manifest["nodes"][f"{PREFIX}{name}"]["compiled_code"] = made
        done["results"].append({"unique_id": f"{PREFIX}{name}", "status": "success", "timing": timing})
    return Build(run.warehouse, manifest, done, types_of(run.warehouse), known, run.parent).run_events()


def published(run: FollowedRun, audit_run_ids: Collection[str]) -> list[RunEvent]:
    """Makes the events of publication: from the marts into the published copy and the Parquet files of these runs."""
    warehouse, copy = run.warehouse, run.warehouse.published.path
    types = {name: columns for name, columns in types_of(warehouse).items() if name[0] == "marts"}
    folder = warehouse.places.marts
    marts = sorted({path.parent.name for run in audit_run_ids for path in folder.glob(f"*/audit_run_id={run}")})
    outputs = [
        file_out(copy),
        *(mart_out(folder / mart, warehouse, mart, types.get(("marts", mart), ())) for mart in marts),
    ]
    return _part(run, "publish", [table_in(warehouse, *name) for name in types], outputs)


def types_of(warehouse: Warehouse) -> Types:
    """Reads the columns of every table with their types."""
    types: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in warehouse.read(sql("lineage", "column_types")):
        types.setdefault((row["table_schema"], row["table_name"]), []).append((row["column_name"], row["data_type"]))
    return dict(types)


def _part(
    run: FollowedRun,
    what: str,
    inputs: Sequence[InputDataset],
    outputs: Sequence[OutputDataset],
    state: RunState = RunState.COMPLETE,
) -> list[RunEvent]:
    # start and end; a landing starts with the run
    job, run_id, parent = run.job(what), str(generate_new_uuid()), run.parent
    facet = None if parent is None else parent_of(*parent)
    return [
        event(each, job, run_id, what.upper(), inputs, outputs, facet, at=run.since if what == "land" and at else None)
        for each, at in ((RunState.START, True), (state, False))
    ]


def _counts(run: FollowedRun, types: Types) -> dict[str, int]:
    tables = [name for (schema, name), columns in types.items() if schema == "raw" and "audit_run_id" in dict(columns)]
    parts = [
        f"select '{table}' as name, count(*) as n from raw.{table} where audit_run_id = $run"  # noqa: S608 - our own tables
        for table in tables
        if table not in _NOT_LANDED
    ]
    rows = run.warehouse.read(" union all ".join(parts), run=run.audit_run_id)
    return {row["name"]: row["n"] for row in rows if row["n"]}


def _tables(run: FollowedRun, types: Types, counts: dict[str, int]) -> list[OutputDataset]:
    return [table_out(run.warehouse, "raw", name, types[("raw", name)], n) for name, n in counts.items()]


def _files(run: FollowedRun) -> list[InputDataset]:
    # the files that were imported, else the ones that the tasks' cards name
    (row,) = run.warehouse.read("select source from raw.audit_runs where audit_run_id = $run", run=run.audit_run_id)
    imported = json.loads(row["source"] or "{}").get("files")  # the source of a trial has its base run instead
    if imported is not None:
        return [other_in(files(), file_of(file["name"]), file["sha256"]) for file in imported]
    query = "select distinct card->'data' as data from raw.tasks where audit_run_id = $run order by all"
    cards = [json.loads(row["data"] or "{}") for row in run.warehouse.read(query, run=run.audit_run_id)]
    places = [(files(), file_of(data["path"])) if data.get("path") else ("hub", data.get("hub")) for data in cards]
    return [other_in(*place) for place in dict.fromkeys(places) if place[1]]


def _models(run: FollowedRun, *, of_judges: bool = False) -> list[InputDataset]:
    rows = run.warehouse.read(sql("lineage", "models_asked"), run=run.audit_run_id, of_judges=of_judges)
    return [other_in(place, row["name"]) for row in rows for place in endpoints_of(row["endpoint"])]
