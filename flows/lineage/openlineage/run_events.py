"""What there is to tell of a run and its parts, read from the warehouse and from what dbt left."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent, RunState
from openlineage.client.uuid import generate_new_uuid

from flows.lineage.columns.project import learn
from flows.lineage.openlineage.build_events import Build
from flows.lineage.openlineage.events import Types, event, file_out, other_in, parent_of, run_id_of, table_in, table_out
from flows.lineage.openlineage.names import endpoints_of, file_of
from flows.lineage.openlineage.transport import Sender
from flows.warehouse import Warehouse
from flows.warehouse.sql import sql

SEVERAL = "several"
"""In place of a run's id and an audit's: a build of more than one run."""
_LATER = ("format_checks", "verdicts", "judge_controls", "judges")  # lands between the two builds of dbt
_NOT_LANDED = ("audit_runs", "comparisons", "baselines", "waivers", "nights", "alarms", "notifications", "retirements",
               "seals", "erasures")  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Told:
    """A run that is being told of; `landed` are the raw tables that were told already."""

    warehouse: Warehouse
    run: str
    audit_id: str
    sender: Sender
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    landed: set[str] = field(default_factory=set)

    def job(self, what: str) -> str:
        """The name of a job: `run.quickstart`."""
        return f"{what}.{self.audit_id}"

    @property
    def parent(self) -> tuple[str, str] | None:
        """Job and id of the run; None of several."""
        return None if self.run == SEVERAL else (self.job("run"), run_id_of(self.run))


def of_run(told: Told, state: str, error: str | None = None) -> list[RunEvent]:
    """The run itself; `error` is the kind of what ended it."""
    at = told.since if state == "START" else None
    return [event(RunState(state), told.job("run"), run_id_of(told.run), "AUDIT", error=error, at=at)]


def landing(told: Told, state: str = "COMPLETE") -> list[RunEvent]:
    """Answers and what they were asked with: from data files and models into the raw tables that hold rows of the run."""
    types = types_of(told.warehouse)
    counts = {table: n for table, n in _counts(told, types).items() if table not in _LATER}
    told.landed |= set(counts)
    return _part(told, "land", [*_files(told), *_models(told)], _tables(told, types, counts), RunState(state))


def later(told: Told) -> list[RunEvent]:
    """What has landed since: checks of formats, rulings of judges."""
    types = types_of(told.warehouse)
    counts = {table: n for table, n in _counts(told, types).items() if table not in told.landed}
    told.landed |= set(counts)
    checks = {table: n for table, n in counts.items() if table == "format_checks"}
    rulings = {table: n for table, n in counts.items() if table not in checks}
    events = []
    if checks:
        inputs = [table_in(told.warehouse, "intermediate", "int_answer_formats")]
        events += _part(told, "check", inputs, _tables(told, types, checks))
    if rulings:
        inputs = [table_in(told.warehouse, "raw", "predictions"), *_models(told, of_judges=True)]
        events += _part(told, "judge", inputs, _tables(told, types, rulings))
    return events


def built(told: Told, results: Path) -> list[RunEvent]:
    """The models of dbt's last build."""
    from flows.warehouse.dbt_project import manifest_of_build

    manifest = manifest_of_build(results.parent)
    done = json.loads(results.read_text(encoding="utf-8"))
    known = learn(manifest)
    return Build(told.warehouse, manifest, done, types_of(told.warehouse), known, told.parent).run_events()


def published(told: Told, audit_run_ids: Collection[str]) -> list[RunEvent]:
    """The marts' way into the copy that readers open and into the Parquet files of these runs."""
    warehouse, copy = told.warehouse, told.warehouse.published.path
    types = {name: columns for name, columns in types_of(warehouse).items() if name[0] == "marts"}
    files = [
        path for run in audit_run_ids for path in (warehouse.places.published / "marts").glob(f"*/audit_run_id={run}")
    ]
    marts = sorted({path.parent.name for path in files})
    outputs = [
        file_out(f"{copy.parent.name}/{copy.name}"),
        *(file_out(f"{copy.parent.name}/marts/{mart}", types.get(("marts", mart), ())) for mart in marts),
    ]
    return _part(told, "publish", [table_in(warehouse, *name) for name in types], outputs)


def types_of(warehouse: Warehouse) -> Types:
    """Columns and their types of every table there is."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in warehouse.read(sql("lineage", "column_types")):
        found.setdefault((row["table_schema"], row["table_name"]), []).append((row["column_name"], row["data_type"]))
    return dict(found)


def _part(
    told: Told, what: str, inputs: Sequence[InputDataset], outputs: Sequence[OutputDataset],
    state: RunState = RunState.COMPLETE,
) -> list[RunEvent]:  # fmt: skip
    """Start and end of a part of a run; a landing starts with the run."""
    job, run_id, parent = told.job(what), str(generate_new_uuid()), told.parent
    facet = None if parent is None else parent_of(*parent)
    return [
        event(each, job, run_id, what.upper(), inputs, outputs, facet, at=told.since if what == "land" and at else None)
        for each, at in ((RunState.START, True), (state, False))
    ]


def _counts(told: Told, types: Types) -> dict[str, int]:
    """Raw tables that hold rows of the run, with how many."""
    tables = [name for (schema, name), columns in types.items() if schema == "raw" and "audit_run_id" in dict(columns)]
    parts = [
        f"select '{table}' as name, count(*) as n from raw.{table} where audit_run_id = $run"  # noqa: S608 - our own tables
        for table in tables
        if table not in _NOT_LANDED
    ]
    rows = told.warehouse.read(" union all ".join(parts), run=told.run)
    return {row["name"]: row["n"] for row in rows if row["n"]}


def _tables(told: Told, types: Types, counts: dict[str, int]) -> list[OutputDataset]:
    return [table_out(told.warehouse, "raw", name, types[("raw", name)], n) for name, n in counts.items()]


def _files(told: Told) -> list[InputDataset]:
    """The data files a run reads: those that were imported, else those its tasks' cards name."""
    (row,) = told.warehouse.read("select source from raw.audit_runs where audit_run_id = $run", run=told.run)
    if row["source"] is not None:
        return [other_in("file", file_of(file["name"]), file["sha256"]) for file in json.loads(row["source"])["files"]]
    query = "select distinct card->'data' as data from raw.tasks where audit_run_id = $run order by all"
    cards = [json.loads(row["data"] or "{}") for row in told.warehouse.read(query, run=told.run)]
    places = [("file", file_of(data["path"])) if data.get("path") else ("hub", data.get("hub")) for data in cards]
    return [other_in(*place) for place in dict.fromkeys(places) if place[1]]


def _models(told: Told, *, of_judges: bool = False) -> list[InputDataset]:
    rows = told.warehouse.read(sql("lineage", "models_asked"), run=told.run, of_judges=of_judges)
    return [other_in(place, row["name"]) for row in rows for place in endpoints_of(row["endpoint"])]
