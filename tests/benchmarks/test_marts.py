"""How the marts grow: with predictions, and with nights. Each figure is a ratio against a smaller job of the same run."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.registry.registry import load_registry
from promptaudit.system.helper_processes import end_children
from promptaudit.warehouse import Warehouse

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]
LABELS = ("number", "location", "person", "description", "entity", "abbreviation")
N_VARIANTS = 30


def predictions(path: Path, n: int, seed: int) -> Path:
    """A file of n recorded predictions under 30 variants: a model right four times in five, 2 % of answers unusable."""
    n_samples = n // N_VARIANTS
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, len(LABELS), n_samples)
    shape = (n_samples, N_VARIANTS)
    answers = np.array(LABELS)[np.where(rng.random(shape) < 0.8, gold[:, None], rng.integers(0, len(LABELS), shape))]
    answers = np.where(rng.random(shape) < 0.02, "I cannot say", answers)
    file = path / f"{n}-{seed}.parquet"
    pl.DataFrame(
        {
            "model": ["m"] * answers.size,
            "sample_id": np.repeat(np.arange(n_samples), N_VARIANTS).astype(str),
            "variant_index": np.tile(np.arange(N_VARIANTS), n_samples),
            "completion": answers.ravel(),
            "gold_label": np.array(LABELS)[np.repeat(gold, N_VARIANTS)],
        }
    ).write_parquet(file)
    return file


def night(warehouse: Path, file: Path) -> dict[str, float]:
    """Seconds of each step of one night's import."""
    seconds: dict[str, float] = {}
    start = time.monotonic()

    def lap(name: str) -> None:
        nonlocal start
        seconds[name] = time.monotonic() - start
        start = time.monotonic()

    options = ImportOptions(labels=LABELS, audit=file.stem)
    taken = import_predictions(Warehouse(warehouse), [file], load_registry(), options)
    lap("import")
    transform(Warehouse(warehouse), [taken.audit_run_id], "up_to_formats")
    transform(Warehouse(warehouse), [taken.audit_run_id], "after_formats")
    lap("marts")
    end_children()  # so that what dbt took counts as a child's
    publish(Warehouse(warehouse), [taken.audit_run_id])
    lap("publish")
    return seconds


def slowest(warehouse: Path) -> str:
    results = json.loads((warehouse.parent / "dbt/target/run_results.json").read_text())["results"]
    top = sorted(results, key=lambda node: -node["execution_time"])[:6]
    return ", ".join(f"{node['unique_id'].split('.')[2]} {node['execution_time']:.1f}" for node in top)


def test_four_times_the_predictions(tmp_path: Path) -> None:
    seconds = {}
    for n in (999_990, 3_999_960):
        warehouse = tmp_path / str(n) / "audit.duckdb"
        Warehouse(warehouse).apply_schema()
        seconds[n] = night(warehouse, predictions(tmp_path, n, 1))
        peak_gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"\n{n:,} predictions: {seconds[n]}, dbt's peak {peak_gib:.2f} GiB; {slowest(warehouse)}")
        if n < 1_000_000:
            assert peak_gib <= 4
    one, four = (sum(s["marts"] for s in [seconds[n]]) for n in seconds)
    print(f"marts of 4 M over marts of 1 M: {four / one:.2f}")
    assert four <= 4.5 * one


def test_the_thirty_first_night_costs_what_the_first_did(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    nights = [night(warehouse, predictions(tmp_path, 30_000, seed)) for seed in range(31)]
    totals = [sum(seconds.values()) for seconds in nights]
    print(f"\nfirst {totals[0]:.1f} s, second {totals[1]:.1f} s, thirty-first {totals[30]:.1f} s: {nights[30]}")
    assert totals[1] <= 1.5 * totals[0]
    assert totals[30] <= 1.5 * totals[0]


def test_250_templates_of_16_models_on_100_questions(tmp_path: Path) -> None:
    n_models, n_templates, n_questions = 16, 250, 100
    rng = np.random.default_rng(3)
    shape = (n_models, n_templates, n_questions)
    right = rng.random(shape) < rng.uniform(0.2, 0.9, (n_models, n_templates, 1))
    file = tmp_path / "templates.parquet"
    pl.DataFrame(
        {
            "model": np.repeat([f"m{number}" for number in range(n_models)], n_templates * n_questions),
            "variant_index": np.tile(np.repeat(np.arange(n_templates), n_questions), n_models),
            "sample_id": np.tile(np.arange(n_questions), n_models * n_templates).astype(str),
            "completion": np.where(right.ravel(), "right", "wrong"),
            "gold_label": ["right"] * right.size,
        }
    ).write_parquet(file)
    warehouse = tmp_path / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    run = import_predictions(
        Warehouse(warehouse), [file], load_registry(), ImportOptions(labels=("right", "wrong"))
    ).audit_run_id
    start = time.monotonic()
    transform(Warehouse(warehouse), [run], "up_to_formats")
    transform(Warehouse(warehouse), [run], "after_formats")
    seconds = time.monotonic() - start
    print(f"\n{right.size:,} predictions of 250 templates x 16 models: {seconds:.1f} s; {slowest(warehouse)}")
    assert seconds < 120
