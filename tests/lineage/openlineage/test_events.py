"""An import and a comparison of its models, told to a file and to a receiver on loopback: what it says, and that it is so."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import polars as pl
import pytest

from promptaudit.lineage.columns.follow import lineage_of
from promptaudit.lineage.openlineage.events import run_id_of
from promptaudit.marts.transform import transform
from promptaudit.warehouse import Warehouse
from tests.support.imported_runs import COLOURS, TEXTS, ordinary_rows
from tests.support.openlineage_spec import problems
from tests.support.shell import promptaudit
from tests.support.webhook_server import RunningWebhooks, running_webhooks

pytestmark = pytest.mark.slow
KEY = "sk-lineage-0123456789abcdef"
SAID = "quokka7731"
MODELS = ("harbour-small", "harbour-large-2025")
NAMESPACE = "test of us"
Event = dict[str, Any]
with_lineage = functools.partial(promptaudit, PROMPTAUDIT_LINEAGE="on")


@dataclass(frozen=True)
class Sent:
    """A folder with a run, what was told of it, and who was told it."""

    folder: Path
    run: str
    server: RunningWebhooks

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse" / "audit.duckdb"

    @property
    def place(self) -> str:
        """The namespace of its tables."""
        return f"duckdb://test%20of%20us{self.warehouse}"

    def events(self) -> list[Event]:
        (file,) = (self.warehouse.parent / "lineage").iterdir()
        assert file.name == f"{self.run}.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()]

    def models(self) -> list[Event]:
        """The ends of what dbt built."""
        return [each for each in self.events() if each["eventType"] != "START" and "dbt_node" in each["job"]["facets"]]


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sent]:
    folder = tmp_path_factory.mktemp("told")
    rows = [row for row in ordinary_rows(8, 3) if row["model"] in MODELS and row["strategy"] == "simple"]
    rows = [row for row in rows if row["task"] == "colours"]
    rows[0] = rows[0] | {"completion": SAID}
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "answers.parquet")
    with running_webhooks() as server:
        to = {"OPENLINEAGE_URL": server.url("/"), "OPENLINEAGE_ENDPOINT": "ok/lineage", "OPENLINEAGE_API_KEY": KEY}
        to |= {"OPENLINEAGE_NAMESPACE": NAMESPACE}
        with mock.patch.dict(os.environ, to):
            line = (
                "import",
                "answers.parquet",
                "--labels",
                ",".join(COLOURS),
                "--audit",
                "colours",
                "--resamples",
                "20",
            )
            ended = with_lineage(folder, *line, "--json")
            assert ended.code == 0, ended.err
            assert "lineage" not in ended.err
            run = ended.json()["audit_run_id"]
            ended = with_lineage(folder, "compare", *MODELS)
            assert ended.code == 0, ended.err
        yield Sent(folder, run, server)


def test_every_event_is_as_the_specification_asks(sent: Sent) -> None:
    events = sent.events()
    assert len(events) > 160
    assert [problem for each in events for problem in problems(each)] == []


def test_the_receiver_got_what_the_file_has(sent: Sent) -> None:
    received = sent.server.of("/ok/lineage")
    assert len(received) == len(sent.server.requests)
    assert {request.headers["Authorization"] for request in received} == {f"Bearer {KEY}"}

    def as_text(events: list[Event]) -> list[str]:
        return sorted(json.dumps(each, sort_keys=True) for each in events)

    assert as_text([request.json() for request in received]) == as_text(sent.events())


def test_what_starts_ends_once_and_is_part_of_its_run(sent: Sent) -> None:
    states: dict[str, list[str]] = {}
    for each in sent.events():
        states.setdefault(each["run"]["runId"], []).append(each["eventType"])
        if each["job"]["name"].startswith("run."):
            assert "parent" not in each["run"]["facets"]
        else:
            parent = each["run"]["facets"]["parent"]
            assert (parent["job"]["namespace"], parent["job"]["name"]) == (NAMESPACE, "run.colours")
            assert parent["run"]["runId"] == run_id_of(sent.run)
    assert {tuple(found) for found in states.values()} == {("START", "COMPLETE")}
    assert run_id_of(sent.run) in states


def test_the_graph_of_the_events_is_dbts(sent: Sent) -> None:
    manifest = json.loads((sent.warehouse.parent / "dbt" / "target" / "manifest.json").read_text())
    names = {
        key: f"audit.{node['schema']}.{node['name']}" for key, node in (manifest["nodes"] | manifest["sources"]).items()
    }
    models = [key for key in manifest["nodes"] if key.startswith("model.")]
    expected = {(names[parent], names[key]) for key in models for parent in manifest["parent_map"][key]}
    drawn, n_outputs = set(), set()
    for each in sent.models():
        (output,) = each["outputs"]
        n_outputs.add(output["name"])
        assert {dataset["namespace"] for dataset in (*each["inputs"], output)} == {sent.place}
        drawn |= {(dataset["name"], output["name"]) for dataset in each["inputs"]}
    assert n_outputs == {names[key] for key in models}
    assert drawn == expected


def test_columns_are_of_columns_of_the_inputs_as_trace_has_them(sent: Sent) -> None:
    for each in sent.models():
        (output,) = each["outputs"]
        _, schema, model = output["name"].split(".")
        fields = output["facets"]["columnLineage"]["fields"]
        assert list(fields) == sorted(column["name"] for column in output["facets"]["schema"]["fields"]), model
        inputs = {dataset["name"] for dataset in each["inputs"]}
        for column, found in fields.items():
            tree = lineage_of(model, column)
            used = {(field["name"], field["field"]) for field in found["inputFields"]}
            assert {name for name, _ in used} <= inputs
            assert {(name.split(".", 2)[2], own) for name, own in used} == {
                (child.model.removeprefix("raw."), child.column) for child in tree.children
            }
        assert schema in ("staging", "intermediate", "marts")


def test_sql_and_types_are_told(sent: Sent) -> None:
    starts = {
        each["job"]["facets"]["dbt_node"]["unique_id"]: each
        for each in sent.events()
        if each["eventType"] == "START" and "dbt_node" in each["job"]["facets"]
    }
    sql = starts["model.promptaudit.fct_sensitivity"]["job"]["facets"]["sql"]
    assert sql["dialect"] == "duckdb"
    assert "normalised_entropy(" in sql["query"]
    (output,) = next(each for each in sent.models() if each["outputs"][0]["name"] == "audit.marts.fct_p_tau")["outputs"]
    types = {column["name"]: column["type"] for column in output["facets"]["schema"]["fields"]}
    assert types["p_tau"] == "DOUBLE"


def test_landing_and_publication(sent: Sent) -> None:
    ends = {each["job"]["name"]: each for each in sent.events() if each["eventType"] == "COMPLETE"}
    landing = ends["land.colours"]
    (file,) = landing["inputs"]
    assert (file["namespace"], file["name"]) == ("file://test%20of%20us", "answers.parquet")
    sha256 = hashlib.sha256((sent.folder / "answers.parquet").read_bytes()).hexdigest()
    assert file["facets"]["version"]["datasetVersion"] == sha256
    with duckdb.connect(str(sent.warehouse), read_only=True) as con:
        for table in landing["outputs"]:
            name = table["name"].removeprefix("audit.")
            (n_rows,) = con.execute(f"select count(*) from {name} where audit_run_id = ?", [sent.run]).fetchone() or (
                0,
            )
            assert table["outputFacets"]["outputStatistics"]["rowCount"] == n_rows > 0
    assert [each["name"] for each in ends["check.colours"]["inputs"]] == ["audit.intermediate.int_answer_formats"]
    assert [each["name"] for each in ends["check.colours"]["outputs"]] == [
        "audit.raw.format_checks",
        "audit.raw.format_validations",
    ]
    written = {Path(each["name"]): each for each in ends["publish.colours"]["outputs"]}
    published = sent.warehouse.parent / "published"
    assert {published / "audit.duckdb", published / "marts/rpt_audit", published / "marts/fct_p_tau"} <= set(written)
    assert all(path.exists() for path in written)
    assert {each["namespace"] for each in written.values()} == {"file://test%20of%20us"}
    facets = written[published / "marts/fct_p_tau"]["facets"]
    fields = facets["columnLineage"]["fields"]
    assert sorted(fields) == sorted(each["name"] for each in facets["schema"]["fields"])
    (source,) = fields["p_tau"]["inputFields"]
    assert (source["namespace"], source["name"], source["field"]) == (sent.place, "audit.marts.fct_p_tau", "p_tau")
    assert "audit.marts.rpt_audit" in {each["name"] for each in ends["publish.colours"]["inputs"]}


def test_no_text_no_key_and_no_path_but_those_of_what_is_made(sent: Sent) -> None:
    made = (sent.place, str(sent.warehouse.parent / "published"))
    texts = [request.body.decode().replace(made[0], "").replace(made[1], "") for request in sent.server.requests]
    instructions = ("Name the colour of the thing", "which colour is meant")
    for text in (SAID, KEY, *instructions, *TEXTS, str(sent.folder), str(sent.folder.parent), os.uname().nodename):
        assert not [found for found in texts if json.dumps(text)[1:-1] in found], text


def test_a_model_that_fails_is_told_without_its_message(sent: Sent, tmp_path: Path) -> None:
    broken = tmp_path / "audit.duckdb"
    shutil.copy(sent.warehouse, broken)
    with duckdb.connect(str(broken)) as con:
        con.execute("alter table raw.tasks alter column refusal_pattern type integer using 1")
    ended = with_lineage(tmp_path, "rebuild", sent.run, "--warehouse", broken)
    assert ended.code != 0
    events = [json.loads(line) for file in (tmp_path / "lineage").iterdir() for line in file.read_text().splitlines()]
    assert [problem for each in events for problem in problems(each)] == []
    (failed,) = [each for each in events if each["eventType"] == "FAIL"]
    assert failed["job"]["facets"]["dbt_node"]["unique_id"] == "model.promptaudit.int_predictions_labelled"
    assert failed["outputs"] == []
    assert "Binder" not in json.dumps(events)


def test_figures_change_only_with_the_columns_they_are_made_of(sent: Sent, tmp_path: Path) -> None:
    changed = ("latency_ms", "prompt_tokens", "cost_usd")
    with duckdb.connect(str(sent.warehouse), read_only=True) as con:
        before = _figures(con, sent.run)
    other = tmp_path / "audit.duckdb"
    shutil.copy(sent.warehouse, other)
    with duckdb.connect(str(other)) as con:
        con.execute(
            "update raw.predictions set latency_ms = 1 + 7 * repetition, prompt_tokens = 3 + repetition, cost_usd = 0.5"
        )
    transform(Warehouse(other), [sent.run], "up_to_formats")
    transform(Warehouse(other), [sent.run], "after_formats")
    with duckdb.connect(str(other), read_only=True) as con:
        after = _figures(con, sent.run)
    differ = {name for name in before if before[name] != after[name]}
    of_them = {
        (mart, column)
        for mart, column in before
        if {f"raw.predictions.{name}" for name in changed} & set(lineage_of(mart, column).raw_columns())
    }
    assert differ <= of_them
    assert {
        ("rpt_audit", "cost_usd"),
        ("fct_predictions", "latency_ms"),
        ("fct_predictions", "prompt_tokens"),
    } <= differ


def _figures(con: duckdb.DuckDBPyConnection, run: str) -> dict[tuple[str, str], Any]:
    """Every column of the marts that are of one run, as its sorted values; floats to nine places."""
    found = {}
    query = (
        "select table_name, column_name from information_schema.columns "
        "inner join information_schema.tables using (table_schema, table_name) "
        "where table_schema = 'marts' and table_type = 'BASE TABLE'"
    )
    names = con.execute(query).fetchall()
    of_run = {table for table, column in names if column == "audit_run_id"}
    for table, column in names:
        if table in of_run:
            values = con.execute(f'select "{column}" from marts."{table}" where audit_run_id = ?', [run]).fetchall()
            found[table, column] = sorted(repr(round(v, 9) if isinstance(v, float) else v) for (v,) in values)
    return found
