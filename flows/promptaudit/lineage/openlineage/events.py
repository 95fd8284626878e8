"""Builds OpenLineage events of a run, its landing, each model dbt built and its publication; sends nothing.

Events hold names, counts, types and the project's own SQL: no input, no completion, no prompt, no key.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState, set_producer
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    dataset_version_dataset,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    processing_engine_run,
    schema_dataset,
)

from promptaudit.lineage.openlineage.names import dataset_of, files, jobs, namespace_of
from promptaudit.warehouse import Warehouse

PRODUCER = f"urn:promptaudit:{version('promptaudit')}"
set_producer(PRODUCER)

Columns = Sequence[tuple[str, str]]
"""Names and types of a table's columns, in order."""


def run_id_of(audit_run_id: str) -> str:
    """Writes a run's id as OpenLineage takes it: its 32 hex digits as a UUID."""
    return str(uuid.UUID(hex=audit_run_id))


def event(  # noqa: PLR0913 - what an event is made of
    state: RunState,
    job: str,
    run_id: str,
    kind: str,
    inputs: Iterable[InputDataset] = (),
    outputs: Iterable[OutputDataset] = (),
    parent: parent_run.ParentRunFacet | None = None,
    error: str | None = None,
    at: datetime | None = None,
) -> RunEvent:
    """Makes one event of a job. `kind` is the job's type, `error` the type of the exception that ended it."""
    facets: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version=version("promptaudit"), name="promptaudit", openlineageAdapterVersion=version("openlineage-python")
        )
    }
    if parent is not None:
        facets["parent"] = parent
    if error is not None:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(message=error, programmingLanguage="python")
    of_kind = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="PROMPTAUDIT", jobType=kind)
    return RunEvent(
        eventType=state,
        eventTime=(at or datetime.now(UTC)).isoformat(),
        run=Run(runId=run_id, facets=facets),
        job=Job(namespace=jobs(), name=job, facets={"jobType": of_kind}),
        inputs=list(inputs),
        outputs=list(outputs),
        producer=PRODUCER,
    )


def parent_of(job: str, run_id: str) -> parent_run.ParentRunFacet:
    """Makes the facet of the run that this one is part of."""
    return parent_run.ParentRunFacet(run=parent_run.Run(runId=run_id), job=parent_run.Job(namespace=jobs(), name=job))


def table_in(warehouse: Warehouse, schema: str, table: str, columns: Columns = ()) -> InputDataset:
    """Describes a table of the warehouse that is read."""
    return InputDataset(namespace_of(warehouse), dataset_of(warehouse, schema, table), facets=_facets(columns))


def table_out(
    warehouse: Warehouse, schema: str, table: str, columns: Columns = (), n_rows: int | None = None
) -> OutputDataset:
    """Describes a table of the warehouse that is written, with the number of its rows that belong to the run."""
    name = dataset_of(warehouse, schema, table)
    return OutputDataset(namespace_of(warehouse), name, facets=_facets(columns), outputFacets=_counted(n_rows))


def other_in(namespace: str, name: str, sha256: str | None = None) -> InputDataset:
    """Describes a file that is read, or a model that is asked."""
    facets: dict[str, Any] = {}
    if sha256 is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=sha256)
    return InputDataset(namespace, name, facets=facets)


def file_out(path: Path) -> OutputDataset:
    """Describes a file that is written, by its whole path."""
    return OutputDataset(files(), path.absolute().as_posix())


def mart_out(path: Path, warehouse: Warehouse, mart: str, columns: Columns) -> OutputDataset:
    """Describes the Parquet files of a mart, whose columns are the mart's own."""
    place, table = namespace_of(warehouse), dataset_of(warehouse, "marts", mart)
    same = [column_lineage_dataset.Transformation(type="DIRECT", subtype="IDENTITY")]
    fields = {
        name: column_lineage_dataset.Fields(
            inputFields=[
                column_lineage_dataset.InputField(namespace=place, name=table, field=name, transformations=same)
            ]
        )
        for name, _ in columns
    }
    lineage = {"columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields)} if fields else {}
    return OutputDataset(files(), path.absolute().as_posix(), facets=_facets(columns) | lineage)


def _facets(columns: Columns) -> dict[str, Any]:
    fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type=kind) for name, kind in columns]
    return {"schema": schema_dataset.SchemaDatasetFacet(fields=fields)} if fields else {}


def _counted(n_rows: int | None) -> dict[str, Any]:
    if n_rows is None:
        return {}
    return {"outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=n_rows)}


def sorted_by_time(events: Iterable[RunEvent]) -> list[RunEvent]:
    """Sorts events by time. At the same moment a start comes first."""
    return sorted(events, key=lambda each: (each.eventTime, each.eventType is not RunState.START))


Types = Mapping[tuple[str, str], Columns]
"""Columns of every table by schema and name."""
