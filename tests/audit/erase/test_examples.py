"""A row that no run asked and that prompts show as an example leaves every file too; its id and its label stay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.audit.erase.erase import GONE, erase
from promptaudit.marts.publish import publish
from promptaudit.prompts.put_samples import Prompter
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.registry.samples import ChosenSamples, Sample
from promptaudit.report.verify_file import verify_with_pages as verify
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of, task_row
from tests.support.handmade_warehouse import Gated
from tests.support.http_audit import query
from tests.support.lakes import placed_lake
from tests.support.landed_nights import land_night, run_id

MARTS = ("dim_audit_runs", "dim_samples", "dim_prompt_variants", "rpt_prompt_variants", "fct_predictions", "rpt_audit")
CARD = TaskCard.model_validate(
    {"labels": ["yes", "no"], "instruction": "Is it asked?", "output_format": "One word.", "data": {"path": "d.csv"}}
)
LONG, SHORT = 'Zoë Quellington called from "17 Larch Mews" on Tuesday', "Ask Quell"  # short: fewer than is looked for
SPARE = tuple(
    Sample(name, text, label, {})
    for name, text, label in (
        ("e-long", LONG, "yes"),
        ("e-short", SHORT, "no"),
        ("e-3", "Never mind.", "yes"),
        ("e-4", "No.", "no"),
    )
)
CHOSEN = ChosenSamples((), {"yes": "Is it?", "no": "It is."}, SPARE)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"examples": {"rows": ["e-long", "e-short"], "order": None}},
    {"examples": {"rows": ["e-3", "e-4", "e-long", "e-short"], "order": None}, "label_order": "reversed"},
    {"examples": {"rows": ["e-3", "e-4"], "order": None}},
    {"examples": {"rows": ["e-long", "e-short"], "order": None}, "label_order": "gold_first"},
]


def prompt(setting: dict[str, Any]) -> str:
    text = json.dumps(setting)
    return Prompter(
        CARD, CHOSEN, strategy="one_shot", instruction=CARD.instruction, template=None, setting=text
    ).left_open


def made(folder: Path, **changes: str) -> Gated:
    """Two nights whose prompts show rows e-long and e-short, a model that quotes one, a backup; `changes` of prompts."""
    gated = Gated(folder, MARTS)
    runs = []
    for night in range(2):
        run = land_night(gated.warehouse, night, texts=("yes", f"As in: {LONG}", "no", "no"))
        runs.append(run)
        variants = [
            {
                "audit_run_id": run,
                "prompt_variant_id": f"v{place}",
                "task_id": "t",
                "strategy": "one_shot",
                "variant_index": place,
                "is_original": place == 0,
                "is_edited": False,
                "instruction": CARD.instruction,
                "prompt": changes.get(f"v{place}", prompt(setting)),
                "repetitions": [1],
                "setting": json.dumps(setting),
            }
            for place, setting in enumerate(SETTINGS)
        ]
        landed = {"prompt_variants": variants, "tasks": [task_row(run, "t", CARD)]}
        Warehouse(gated.warehouse).land([(table, frame_of(table, rows)) for table, rows in landed.items()])
        gated._pending += [
            (
                f"marts.{mart}",
                {
                    "audit_run_id": run,
                    "task_id": "t",
                    "prompt_variant_id": row["prompt_variant_id"],
                    "prompt": row["prompt"],
                },
            )
            for row in variants
            for mart in ("dim_prompt_variants", "rpt_prompt_variants")
        ]
        gated.row("rpt_audit", run, sensitivity=0.25)
    gated.written()
    publish(Warehouse(gated.warehouse), runs)
    shutil.copy(gated.warehouse, gated.warehouse.with_name(f"{gated.warehouse.name}.v10.backup"))
    return gated


def holding(folder: Path, text: str) -> set[str]:
    """The files that hold a text, by their bytes or, where they pack them, by their rows."""
    found = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if any(
            each.encode() in path.read_bytes()
            for each in (text, json.dumps(text)[1:-1], text.split('"', maxsplit=1)[0])
        ):
            found.add(path.name)
        if path.suffix == ".parquet":
            rows = duckdb.read_parquet(str(path), hive_partitioning=False).fetchall()
            found |= {path.name} if text.split('"', maxsplit=1)[0] in str(rows) else set()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("sample", "text"), [("e-long", LONG), pytest.param("e-short", SHORT, marks=pytest.mark.soak)])
def test_its_text_is_in_no_file_any_more_and_the_rest_of_the_prompts_is(tmp_path: Path, sample: str, text: str) -> None:
    gated = made(tmp_path)
    home = gated.warehouse.parent
    assert {"audit.duckdb", "audit.duckdb.v10.backup"} <= holding(home, text)
    done = erase(Warehouse(gated.warehouse), sample, reason="asked for")
    assert holding(home, text) == set()
    assert done.audit_run_ids == (run_id(0), run_id(1))
    assert done.n_rows == {"raw.prompt_variants": 4}  # v1 and v2 of each night
    assert f"erased the texts of sample '{sample}' in 2 runs: 4 of raw.prompt_variants" in done.lines()
    spelt = json.dumps(text, ensure_ascii=False)[1:-1]
    for file, tables in (
        (gated.warehouse, ("raw.prompt_variants", "marts.dim_prompt_variants", "marts.rpt_prompt_variants")),
        (
            home / "published/audit.duckdb",
            ("raw.prompt_variants", "marts.dim_prompt_variants", "marts.rpt_prompt_variants"),
        ),
        (home / "audit.duckdb.v10.backup", ("raw.prompt_variants", "marts.dim_prompt_variants")),
    ):
        for table in tables:
            rows = query(file, f"select distinct prompt_variant_id, prompt from {table} where prompt_variant_id <> 'v'")
            assert dict(rows) == {
                f"v{place}": prompt(setting).replace(spelt, GONE) for place, setting in enumerate(SETTINGS)
            }
    found = verify(Warehouse(gated.warehouse))
    assert (found.findings, {run.state for run in found.runs}) == ([], {"erased"})
    again = erase(Warehouse(gated.warehouse), sample)
    assert (again.audit_run_ids, again.n_rows) == ((), {})


@pytest.mark.slow
def test_all_that_a_prompt_says_goes_where_its_text_is_not_told_apart(tmp_path: Path) -> None:
    other = json.dumps([{"role": "system", "content": "As before."}, {"role": "user", "content": f"See {SHORT}!"}])
    gated = made(tmp_path, v1=other, v2="See Ask Quell")
    erase(Warehouse(gated.warehouse), "e-short")
    assert holding(gated.warehouse.parent, SHORT) == set()
    rows = dict(query(gated.warehouse, "select distinct prompt_variant_id, prompt from marts.dim_prompt_variants"))
    assert json.loads(rows["v1"]) == [{"role": "system", "content": GONE}, {"role": "user", "content": GONE}]
    assert rows["v2"] == GONE
    assert rows["v3"] == prompt(SETTINGS[3])
    assert verify(Warehouse(gated.warehouse)).findings == []


@pytest.mark.soak
def test_its_text_is_nowhere_in_a_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made").mkdir()
    gated = made(tmp_path / "made")
    lake = placed_lake("file", tmp_path, monkeypatch)
    publish(Warehouse(gated.warehouse))
    assert lake.holding("Quell")
    for sample in ("e-long", "e-short"):
        erase(Warehouse(gated.warehouse), sample)
    assert lake.holding("Quell") == set()


def test_a_run_that_would_send_it_again_is_finished_first(tmp_path: Path) -> None:
    gated = made(tmp_path)
    with Warehouse(gated.warehouse).write() as con:
        con.execute("update raw.audit_runs set state = 'running' where audit_run_id = ?", [run_id(1)])
    with pytest.raises(UsageError, match=f"run {run_id(1)} sends sample 'e-long' and is not finished"):
        erase(Warehouse(gated.warehouse), "e-long")


@pytest.mark.parametrize(("sample", "task"), [("e-lon", None), ("e-long", "other")])
def test_a_row_that_nothing_shows_is_no_sample(tmp_path: Path, sample: str, task: str | None) -> None:
    nearest = "; nearest: e-long" if sample == "e-lon" else ""
    with pytest.raises(DataError, match=f"no run has a sample '{sample}'.*{nearest}"):
        erase(Warehouse(made(tmp_path).warehouse), sample, task)
