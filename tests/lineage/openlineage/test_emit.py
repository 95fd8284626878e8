"""A run that is told of while it lasts: how it ends is told, and nothing of it fails or waits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from promptaudit.audit.runs import run_row
from promptaudit.lineage.openlineage.emit import following, landed, published
from promptaudit.lineage.openlineage.events import run_id_of
from promptaudit.marts.transform import transform
from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from tests.support.openlineage_spec import problems

RUN = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _lineage_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_LINEAGE", "on")


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A run that has landed a model and nothing else."""
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    row = run_row(
        audit_run_id=RUN,
        audit_id="<b>night</b>",
        origin="run",
        fingerprint="f",
        plan_fingerprint="p",
        card="{}",
        format_limits="{}",
        seed=1,
        n_resamples=10,
        manifest={},
    )
    model = {
        "audit_run_id": RUN,
        "model_id": "m",
        "engine": "embedded",
        "model": "random",
        "card": "{}",
        "fingerprint": "f",
    }
    Warehouse(path).land([("audit_runs", row), ("models", frame_of("models", [model]))])
    return path


def events(warehouse: Path) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (warehouse.parent / "lineage" / f"{RUN}.jsonl").read_text().splitlines()]
    assert [problem for each in events for problem in problems(each)] == []
    return events


def states(warehouse: Path) -> list[tuple[str, str]]:
    return [(each["job"]["name"], each["eventType"]) for each in events(warehouse)]


def test_a_run_that_ends_well(warehouse: Path) -> None:
    with following(Warehouse(warehouse), RUN, pytest.fail):
        landed(Warehouse(warehouse), RUN)
    assert states(warehouse) == [
        ("run.<b>night</b>", "START"),
        ("land.<b>night</b>", "START"),
        ("land.<b>night</b>", "COMPLETE"),
        ("run.<b>night</b>", "COMPLETE"),
    ]
    start, _, landing, _ = events(warehouse)
    assert start["run"]["runId"] == run_id_of(RUN) == "01234567-89ab-cdef-0123-456789abcdef"
    assert landing["run"]["facets"]["parent"]["run"]["runId"] == run_id_of(RUN)
    assert [(each["namespace"], each["name"]) for each in landing["inputs"]] == [("model://embedded", "random")]
    (output,) = landing["outputs"]
    assert (output["namespace"], output["name"]) == (f"duckdb://{warehouse}", "audit.raw.models")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 1
    assert {"name": "input_usd_per_mtok", "type": "DOUBLE", "fields": []} in output["facets"]["schema"]["fields"]


@pytest.mark.parametrize(("error", "state"), [(WarehouseError("sk-secret"), "FAIL"), (KeyboardInterrupt(), "ABORT")])
def test_a_run_that_ends_badly_tells_the_kind_of_it_and_raises_it(
    warehouse: Path, error: BaseException, state: str
) -> None:
    with pytest.raises(type(error)), following(Warehouse(warehouse), RUN, pytest.fail):
        raise error
    assert states(warehouse)[-2:] == [("land.<b>night</b>", state), ("run.<b>night</b>", state)]
    assert events(warehouse)[-1]["run"]["facets"]["errorMessage"]["message"] == type(error).__name__
    assert "sk-secret" not in json.dumps(events(warehouse))


def test_off_is_off(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_LINEAGE", "off")
    with following(Warehouse(warehouse), RUN, pytest.fail):
        landed(Warehouse(warehouse), RUN)
        published(Warehouse(warehouse), [RUN])
    assert not (warehouse.parent / "lineage").exists()


def test_what_cannot_be_told_stops_nothing(warehouse: Path) -> None:
    (warehouse.parent / "lineage").write_text("no folder")
    said: list[str] = []
    with following(Warehouse(warehouse), RUN, said.append):
        done = True
    assert done
    assert said == ["lineage: WarehouseError; the audit goes on without it"]


def test_without_its_extra_lineage_is_off_and_says_so_where_it_is_asked_for(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    monkeypatch.delenv("PROMPTAUDIT_LINEAGE")
    with following(Warehouse(warehouse), RUN, pytest.fail):
        landed(Warehouse(warehouse), RUN)
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    said: list[str] = []
    with following(Warehouse(warehouse), RUN, said.append):
        landed(Warehouse(warehouse), RUN)
    assert said == ["lineage needs the extra `lineage`: python -m pip install 'promptaudit[lineage]'"]
    assert not (warehouse.parent / "lineage").exists()


def test_a_build_that_never_began_is_not_told(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        msg = "no dbt"
        raise WarehouseError(msg)

    monkeypatch.setattr("promptaudit.marts.transform.dbt", fail)
    with pytest.raises(WarehouseError, match="no dbt"):
        transform(Warehouse(warehouse), [RUN], "up_to_formats")
    assert not (warehouse.parent / "lineage").exists()
