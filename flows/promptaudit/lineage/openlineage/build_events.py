"""Turns the artefacts of a build of dbt into OpenLineage events, by the integration that comes with OpenLineage.

It provides the jobs, their inputs and outputs, schemas, descriptions, SQL and times. It does not provide the lineage of
columns (its parser gives up on CTEs), tests (a job a model that writes nothing), and the profile, whose path is the
dataset's namespace.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset
from openlineage.common.provider.dbt.facets import DbtRunRunFacet, ParentRunMetadata  # type: ignore[import-untyped]
from openlineage.common.provider.dbt.processor import DbtArtifactProcessor  # type: ignore[import-untyped]

from promptaudit.lineage.columns.derived import Derived
from promptaudit.lineage.columns.project import Model
from promptaudit.lineage.openlineage.events import PRODUCER, Types, sorted_by_time
from promptaudit.lineage.openlineage.names import dataset_of, jobs, namespace_of
from promptaudit.warehouse import Warehouse


class Build(DbtArtifactProcessor):  # type: ignore[misc]
    """One build of dbt: its manifest and results, the columns' types, and what is known of each column."""

    def __init__(
        self,
        warehouse: Warehouse,
        manifest: Mapping[str, Any],
        results: Mapping[str, Any],
        types: Types,
        models: Mapping[str, Model],
        parent: tuple[str, str] | None,
    ) -> None:
        super().__init__(PRODUCER, jobs(), logger=logging.getLogger("openlineage"))
        self._warehouse, self._types, self._models = warehouse, types, models
        self._manifest = manifest
        built = [each for each in results["results"] if each["unique_id"].startswith("model.")]
        self._results = {**results, "results": [each for each in built if each["status"] in ("success", "error")]}
        nodes = manifest["nodes"]
        self._by_sql = {
            nodes[each["unique_id"]].get("compiled_code"): nodes[each["unique_id"]]["name"] for each in built
        }
        if parent is not None:
            self.dbt_run_metadata = ParentRunMetadata(run_id=parent[1], job_name=parent[0], job_namespace=jobs())

    def run_events(self) -> list[RunEvent]:
        """Makes a start of each model that was built, with its SQL, and an end, with the lineage of its columns.

        What a model reads is described where it was made: events would be four times as long.
        """
        events = self.parse().events()
        for each in events:
            inputs = [InputDataset(dataset.namespace, dataset.name) for dataset in each.inputs or ()]
            if each.eventType is RunState.START:
                each.inputs, each.outputs = (
                    inputs,
                    [OutputDataset(out.namespace, out.name) for out in each.outputs or ()],
                )
            else:
                facets = {name: facet for name, facet in (each.job.facets or {}).items() if name != "sql"}
                each.inputs, each.job = inputs, Job(each.job.namespace, each.job.name, facets)
        return sorted_by_time(events)

    def get_dbt_metadata(self) -> tuple[Any, Any, Any, Any]:
        """Collects the artefacts, a profile that has the namespace in the place of its path, and a catalog."""
        profile = {"type": "duckdb", "path": namespace_of(self._warehouse).removeprefix("duckdb://")}
        return self._manifest, self._results, profile, self._catalog()

    def dbt_run_run_facet(self) -> dict[str, DbtRunRunFacet]:
        """Makes the facet that names the invocation of dbt."""
        invocation = self.run_metadata["invocation_id"]
        return {"dbt_run": DbtRunRunFacet(invocation_id=invocation, project_name="promptaudit", dbt_runtime="core")}

    def get_column_lineage(
        self,
        namespace: str,
        compiled_sql: str,
    ) -> column_lineage_dataset.ColumnLineageDatasetFacet | None:
        """Makes the facet that says what each column of a model is made of. None for an unknown model."""
        model = self._models.get(self._by_sql.get(compiled_sql, ""))
        if model is None:
            return None
        return column_lineage_dataset.ColumnLineageDatasetFacet(
            fields={
                name: column_lineage_dataset.Fields(inputFields=self._fields(namespace, derived))
                for name, derived in model.columns.items()
            }
        )

    def _fields(self, namespace: str, derived: Derived) -> list[column_lineage_dataset.InputField]:
        direct = "IDENTITY" if derived.is_handed_on else "TRANSFORMATION"
        uses = [("DIRECT", direct, each) for each in derived.inputs] + [
            ("INDIRECT", None, each) for each in derived.rows
        ]
        return [
            column_lineage_dataset.InputField(
                namespace=namespace,
                name=dataset_of(self._warehouse, *relation.split(".", 1)),
                field=column,
                transformations=[column_lineage_dataset.Transformation(type=kind, subtype=subtype)],
            )
            for kind, subtype, (relation, column) in uses
        ]

    def _catalog(self) -> dict[str, Any]:
        def columns_of(node: Mapping[str, Any], name: str) -> dict[str, Any] | None:
            types = self._types.get((node["schema"], name))
            if types is None:
                return None
            return {"columns": {column: {"name": column, "type": kind} for column, kind in types}, "stats": {}}

        nodes = {
            key: columns_of(node, node["name"])
            for key, node in self._manifest["nodes"].items()
            if key.startswith("model.")
        }
        sources = {key: columns_of(node, node["name"]) for key, node in self._manifest["sources"].items()}
        return {"nodes": nodes, "sources": sources}
