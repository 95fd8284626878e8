"""Nothing that is altered goes unseen, and every figure of a report comes out of the rows that its trace lists."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.audit.rebuild import rebuild_runs
from promptaudit.evidence.trace import trace
from promptaudit.evidence.trace.gather import Trace
from promptaudit.evidence.trace.recompute import agrees, recompute
from promptaudit.marts.comparison.compare import Pair, compare
from promptaudit.marts.publish import publish
from promptaudit.marts.seal import SEALED
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import WarehouseError
from promptaudit.report import REPORT, report
from promptaudit.report.verify_file import figures_of, verify_report
from promptaudit.report.verify_file import verify_with_pages as verify
from promptaudit.system.clock import now
from promptaudit.system.display.encode import encoded
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.dbt_project import dbt
from promptaudit.warehouse.figure_names import figure_id, grains, row_id
from promptaudit.warehouse.rows import frame_of
from tests.support.imported_runs import COLOURS, Recorded, ordinary_rows, published
from tests.support.landed_nights import ruling

pytestmark = pytest.mark.timeout(1200)
slow = pytest.mark.slow
VIEWS = {
    "dim_baselines",
    "dim_latest_prompt_variants",
    "dim_latest_samples",
    "dim_nights",
    "rpt_alarms",
    "rpt_latest",
    "rpt_night_verdicts",
    "rpt_not_derived",
}  # they hold no rows to alter
N_FIGURES = 3  # besides one of each aggregate; each build of the project for them costs the same


def as_many_as(short: int, long: int) -> pytest.MarkDecorator:
    """Draws of one seed: the first few in every change's checks, all of them in the soak."""
    return pytest.mark.parametrize("n", [pytest.param(short, marks=slow), pytest.param(long, marks=pytest.mark.soak)])


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published run of two tasks, three models and two strategies, with its report."""
    folder = tmp_path_factory.mktemp("evidence")
    limits = FormatLimits.model_validate({"max_invalid_rate": 0.3})
    path, (run,) = published(folder, [Recorded("colours", ordinary_rows(12, 4), COLOURS, limits)])
    report(Warehouse(path), run)
    return path


@pytest.fixture
def copied(warehouse: Path, tmp_path: Path) -> Callable[[], Path]:
    """Makes the warehouse's folder anew."""

    def copy() -> Path:
        place = tmp_path / "copy"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(warehouse.parent, place, ignore=shutil.ignore_patterns("dbt"))  # what dbt compiled
        return place / warehouse.name

    return copy


def another(value: Any, draw: random.Random) -> Any:  # noqa: PLR0911 - a line a type
    """A value of the same type that is another."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw.choice((-1, 1))
    if isinstance(value, float):
        return value + draw.choice((1e-6, 0.01, -1.0)) if abs(value) < 100 else value * 2  # 1e-9 is untouched
    if isinstance(value, datetime):
        return value + timedelta(seconds=1)
    if isinstance(value, list):
        return [*value, *value[-1:]] if value else value
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    return f"{value} " if draw.random() < 0.5 else value[:-1] + chr(ord(value[-1]) + 1) if value else "x"


def alter(path: Path, relation: str, draw: random.Random) -> str | None:
    """Changes, drops or doubles a row of a table; which column, or what was done; None where nothing could be."""
    with duckdb.connect(str(path)) as con:
        names = [row[0] for row in con.execute(f"describe {relation}").fetchall()]
        rows = con.execute(f"select rowid, * from {relation} order by rowid").fetchall()
        if not rows:
            return None
        row = draw.choice(rows)
        what = draw.random()
        if what < 0.15:
            con.execute(f"delete from {relation} where rowid = ?", [row[0]])
            return "dropped"
        known = [name for name, value in zip(names, row[1:], strict=True) if value not in (None, [], "", b"")]
        column = draw.choice(known)
        value = another(row[1 + names.index(column)], draw)
        con.execute(f'update {relation} set "{column}" = ? where rowid = ?', [value, row[0]])
        return column


def alter_parquet(path: Path, draw: random.Random) -> str | None:
    """The same to a Parquet file, by way of a table."""
    side = path.with_suffix(".duckdb")
    with duckdb.connect(str(side)) as con:
        con.execute("create table t as from read_parquet($file, hive_partitioning = false)", {"file": str(path)})
    done = alter(side, "t", draw)
    with duckdb.connect(str(side)) as con:
        con.execute(f"copy t to '{path}' (format parquet)")
    side.unlink()
    return done


@as_many_as(4, 150)
def test_every_altered_row_is_found_and_its_table_named(warehouse: Path, copied: Callable[[], Path], n: int) -> None:
    assert verify(Warehouse(warehouse)).findings == []
    draw = random.Random(20261122)
    n_done = n_named = 0
    while n_done < n:
        path = copied()
        place = draw.choice(("the warehouse", "the warehouse", "the published copy", "the Parquet marts"))
        if place == "the Parquet marts":  # of which those of comparisons and judges are empty
            mart = draw.choice(sorted(grains().keys() - VIEWS))
            (file,) = (Warehouse(path).published.path.parent / "marts" / mart).glob("*/data.parquet")
            table, done = f"marts.{mart}", alter_parquet(file, draw)
        else:
            marts = [f"marts.{mart}" for mart in grains() if mart not in VIEWS]
            table = draw.choice([f"raw.{name}" for name in (*SEALED, "seals", "row_digests")] + marts)
            done = alter(path if place == "the warehouse" else Warehouse(path).published.path, table, draw)
        if done is None:
            continue
        found = verify(Warehouse(path))
        n_done += 1
        said = [(each.what, each.where, each.detail) for each in found.findings]
        assert found.exit_code in (1, 3), (table, place, done)
        wanted = {"raw.seals": {"seal", "raw.seals"}, "raw.row_digests": {"raw.row_digests", "run", "seal"}}
        names = wanted.get(table, {table})
        where = {place} if table != "raw.seals" else {place, "the warehouse", "the published copy"}
        assert any(what in names and at in where for what, at, _ in said), (table, place, done, said)
        n_named += any(done in detail for _, _, detail in said)
    assert n_named > n / 3  # the column too, where a copy still has the row


@as_many_as(3, 50)
def test_every_altered_figure_of_a_report_is_found(warehouse: Path, tmp_path: Path, n: int) -> None:
    page = Warehouse(warehouse).published.path.with_name(REPORT).read_text(encoding="utf-8")
    assert verify_report(Warehouse(warehouse), Warehouse(warehouse).published.path.with_name(REPORT)).exit_code == 0
    draw = random.Random(7)
    figures = list(re.finditer(r'<data value="([^"]*)" data-figure="([^"]+)">([^<]*)</data>', page))
    assert len(figures) > 100
    for place in range(n):
        match = draw.choice([each for each in figures if any(char.isdigit() for char in each[3])])
        at = draw.choice([n for n, char in enumerate(match[3]) if char.isdigit()])
        new = match[3][:at] + str((int(match[3][at]) + draw.randint(1, 9)) % 10) + match[3][at + 1 :]
        edited = tmp_path / f"{place}.html"
        edited.write_text(page[: match.start(3)] + new + page[match.end(3) :], encoding="utf-8")
        (found,) = verify_report(Warehouse(warehouse), edited).findings
        assert (found.kind, found.what, found.which) == ("changed", "figure", match[2]), (match[0], new)
        edited.unlink()


@slow
def test_words_edited_in_a_report_are_found_by_their_line(warehouse: Path, tmp_path: Path) -> None:
    page = Warehouse(warehouse).published.path.with_name(REPORT).read_text(encoding="utf-8")
    edited = tmp_path / "edited.html"
    edited.write_text(page.replace("planned answers landed", "answers are perfect"), encoding="utf-8")
    (found,) = verify_report(Warehouse(warehouse), edited).findings
    line = page[: page.index("planned answers landed")].count("\n") + 1
    assert (found.kind, found.what, found.which) == ("changed", "page", f"line {line}")


@pytest.mark.soak  # a seal that was kept is held against marts sealed anew in test_seal
def test_marts_of_rows_that_landed_later_are_derived_again_where_a_seal_was_kept(copied: Callable[[], Path]) -> None:
    warehouse = copied()
    with duckdb.connect(str(warehouse), read_only=True) as con:
        ((run, kept),) = con.execute(
            "select audit_run_id, seal from raw.seals order by seal_index desc limit 1"
        ).fetchall()
        ((prediction,),) = con.execute("select min(prediction_id) from raw.predictions").fetchall()
    added = ruling(audit_run_id=run, prediction_id=prediction, verdict_id="v", landed_at=now())
    Warehouse(warehouse).land([("verdicts", frame_of("verdicts", [added]))])
    rebuild_runs(Settings(warehouse=warehouse), run, Progress(quiet=True))
    with Warehouse(warehouse).write() as con:
        con.execute("update marts.rpt_audit set micro_f1 = 0.99")
        con.execute("drop table marts.rpt_sample_spreads")
    publish(Warehouse(warehouse), [run])
    forged = verify(Warehouse(warehouse), seal=kept)
    assert forged.exit_code == 1
    found = {each.what: each for each in forged.findings}
    assert set(found) == {"marts.rpt_audit", "marts.rpt_sample_spreads"}  # and all others come out as they are
    assert (found["marts.rpt_audit"].kind, found["marts.rpt_sample_spreads"].kind) == ("changed", "gone")
    assert "derived again from the rows that landed" in found["marts.rpt_audit"].detail


@slow
def test_reports_beside_the_published_copy_are_looked_at(copied: Callable[[], Path]) -> None:
    warehouse = copied()
    newest = Warehouse(warehouse).published.path.with_name(REPORT)
    (kept,) = (path for path in (newest.parent / "reports").glob("*.html") if not path.match("*.formats.html"))
    page = newest.read_text(encoding="utf-8")
    newest.write_text(page.replace("planned answers landed", "answers are perfect"), encoding="utf-8")
    kept.write_text("<p>All is well.</p>", encoding="utf-8")
    found = verify(Warehouse(warehouse))
    assert found.exit_code == 1
    assert [(each.kind, each.where, each.what) for each in found.findings] == [
        ("broken", kept.name, "page"),
        ("changed", REPORT, "page"),
    ]
    kept.write_text(page, encoding="utf-8")
    newest.write_text(page, encoding="utf-8")
    (swapped,) = verify(Warehouse(warehouse)).findings
    assert (swapped.kind, swapped.where) == ("changed", kept.name)
    assert "it is another page, of run" in swapped.detail
    warehouse.unlink()
    for path in kept.parent.iterdir():
        path.unlink()
    newest.write_text(page.replace("planned answers landed", "answers are perfect"), encoding="utf-8")
    alone = verify(Warehouse(warehouse))  # the copy may not know what its newest page was
    assert (alone.exit_code, [each.kind for each in alone.findings]) == (3, ["unsealed"])


def differing(warehouse: Path, traces: Sequence[Trace]) -> list[tuple[str, object, object]]:
    """Figures that come out otherwise when they are derived again, each from its own listed rows."""
    return [
        (found.figure, found.value, value)
        for found, value in zip(traces, recompute(Warehouse(warehouse), traces), strict=True)
        if not agrees(found.value, value)
    ]


@pytest.mark.soak
def test_a_hundred_figures_come_out_of_the_rows_that_their_traces_list(warehouse: Path) -> None:
    page = Warehouse(warehouse).published.path.with_name(REPORT).read_text(encoding="utf-8")
    printed = sorted({each.figure for each in figures_of(page)})
    chosen = random.Random(20250601).sample(printed, 100)
    traces = [trace(Warehouse(warehouse), figure, with_lineage=False) for figure in chosen]
    assert differing(warehouse, traces) == []


@pytest.mark.soak
def test_figures_of_comparisons_come_out_of_the_rows_of_both_runs(tmp_path: Path) -> None:
    limits = FormatLimits.model_validate({"policy": "warn"})
    rows = ordinary_rows(12, 4)
    edited = [row | {"completion": "a shade of red"} if place % 7 == 0 else row for place, row in enumerate(rows)]
    files = [Recorded("colours", each, COLOURS, limits) for each in (rows, edited)]
    path, (base, candidate) = published(tmp_path, files)
    models = [
        Pair(
            base_run_id=base,
            candidate_run_id=base,
            base_model_id="harbour-small",
            candidate_model_id="harbour-large-2025",
        )
    ]
    compare(Warehouse(path), [Pair(base_run_id=base, candidate_run_id=candidate), *models])
    publish(Warehouse(path), [base, candidate])
    draw = random.Random(20250601)
    figures = []
    with duckdb.connect(str(Warehouse(path).published.path), read_only=True) as con:
        for mart, columns in (
            ("rpt_run_comparisons", ("difference", "difference_low", "p_value", "q_value", "verdict", "noise_floor")),
            ("fct_flips", ("base_share_right", "candidate_largest_share")),
            ("rpt_run_changes", ("candidate",)),
        ):
            found = con.sql(f"select * from marts.{mart} order by all").pl().to_dicts()
            if mart == "rpt_run_comparisons":
                assert {row["base_run_id"] == row["candidate_run_id"] for row in found} == {True, False}
            rows = draw.sample(found, min(5, len(found)))
            figures += [row_id(mart, row).replace(".", f".{draw.choice(columns)}.", 1) for row in rows]
    assert len(figures) > 5  # flips or changes too
    traces = [trace(Warehouse(path), figure, with_lineage=False) for figure in figures]
    assert differing(path, traces) == []


@slow
def test_figures_and_aggregates_come_out_of_the_rows_that_their_traces_list(warehouse: Path) -> None:
    page = Warehouse(warehouse).published.path.with_name(REPORT).read_text(encoding="utf-8")
    printed = sorted({each.figure for each in figures_of(page)})
    same = {  # what all answers of a trace have in common, besides model, task and strategy
        "rpt_class_sensitivities.sensitivity_p95.": {"gold_label"},
        "rpt_sample_spreads.correlation.": set(),
        "rpt_sample_similarities.mean_similarity.": {"gold_label"},
        "rpt_sample_similarities.mean_similarity_of_pairs.": {"gold_label"},
        "rpt_pair_distances.n_pairs.": {"gold_label"},
        "rpt_measures_by_wordings.consistency.": set(),
        "rpt_stability_by_share.pss.": set(),  # by repetition of the original alone
        "rpt_stability_by_share.pss_low.": set(),
        "rpt_answer_totals.n_answers.": set(),
        "rpt_prompt_variants.disagreement.": set(),
        "rpt_prompt_variants.invalid_rate.": {"prompt_variant_id", "is_original"},
        "rpt_accuracy_spreads.accuracy_std.": set(),
        "rpt_accuracy_spreads.accuracy_original.": {"is_original"},
        "rpt_distinct_answers.distinct_completions_mean.": {"is_original"},
        "rpt_distinct_answers.n_variants.": {"is_original", "paraphrase_temperature"},  # printed of temperatures alone
    }
    draw = random.Random(20261122)
    chosen = [draw.choice([each for each in printed if each.startswith(name)]) for name in same]
    traces = [trace(Warehouse(warehouse), figure, with_lineage=False) for figure in chosen]
    for found, names in zip(traces, same.values(), strict=True):
        answers = found.raw["predictions"]
        assert len(answers) == found.n_answers > 1
        shared = names | ({"is_original"} if found.row.get("scope") == "intra" else set())
        assert all(len({each[name] for each in answers}) == 1 for name in ("model_id", "task_id", "strategy", *shared))
        for name in {"gold_label", "is_original"} - shared:
            assert len({each[name] for each in answers}) > 1 or found.row["task_id"] == "moods", (found.figure, name)
    assert all(found.value is not None for found in traces)
    with duckdb.connect(str(Warehouse(warehouse).published.path), read_only=True) as con:
        (pair,) = con.sql("select * from marts.rpt_sample_pairs order by all limit 1").pl().to_dicts()
    sampled = [figure_id("rpt_sample_pairs", pair, "similarity"), *draw.sample(printed, N_FIGURES)]
    sampled += _across_tasks(Warehouse(warehouse))
    others = [trace(Warehouse(warehouse), figure, with_lineage=False) for figure in sampled]
    assert differing(warehouse, [*traces, *others]) == []


def _across_tasks(warehouse: Warehouse) -> list[str]:
    """Figures that are printed where two tasks have all measures, or two kinds of variation, which this run has not."""
    columns = [
        ("rpt_measures_across_tasks", "value", "measure = 'consistency'"),
        ("rpt_measures_across_tasks", "value_low", "measure = 'pss_intra'"),
        ("rpt_measures_across_tasks", "rank_in_row", "rank_in_row > 1"),
        ("rpt_sensitivity_against_consistency", "pearson", "true"),
        ("rpt_scoring_across_tasks", "is_best", "true"),
        ("fct_variations", "effect_high", "true"),  # of one kind, which no page prints
        ("fct_variations", "sensitivity_corrected", "true"),
    ]
    return [
        figure_id(mart, row, column)
        for mart, column, where in columns
        for row in warehouse.published.read(
            f"select * from marts.{mart} where {column} is not null and {where} order by all limit 1"
        )
    ]


@pytest.mark.soak
def test_an_analysts_own_build_changes_no_byte(copied: Callable[[], Path]) -> None:
    warehouse = copied()
    dbt(Warehouse(warehouse), "run")  # of every run, so its queries are planned otherwise
    found = verify(Warehouse(warehouse))
    assert (found.exit_code, found.findings) == (0, [])


@pytest.mark.soak
def test_a_rebuild_adds_the_aggregates_that_an_older_version_had_not(copied: Callable[[], Path]) -> None:
    path = copied()
    marts = (
        "rpt_accuracy_spreads",
        "rpt_answer_totals",
        "rpt_class_sensitivities",
        "rpt_distinct_answers",
        "rpt_sample_spreads",
        "rpt_prompt_variants",
        "rpt_sample_similarities",
        "rpt_stability_by_share",
        "rpt_pair_distances",
        "rpt_measures_by_wordings",
    )
    before = {}
    for place in (path, Warehouse(path).published.path):
        with duckdb.connect(str(place)) as con:
            (run,) = con.execute("select audit_run_id from raw.audit_runs").fetchone() or ("",)
            before = {mart: con.execute(f"select count(*) from marts.{mart}").fetchone() for mart in marts}
            for mart in marts:
                con.execute(f"drop table marts.{mart}")
    with pytest.raises(WarehouseError, match=r"has no table marts\.rpt_\w+, being of an earlier version: .*rebuild"):
        report(Warehouse(path), run)
    rebuild_runs(Settings(warehouse=path), run, Progress(quiet=True))
    with duckdb.connect(str(Warehouse(path).published.path)) as con:
        assert {mart: con.execute(f"select count(*) from marts.{mart}").fetchone() for mart in marts} == before
    report(Warehouse(path), run)
    page = Warehouse(path).published.path.with_name(REPORT)
    printed = {each.figure.partition(".")[0] for each in figures_of(page.read_text(encoding="utf-8"))}
    assert printed >= set(marts)
    assert verify(Warehouse(path)).findings == []


@slow
def test_a_trace_is_json_and_names_everything_on_the_way(warehouse: Path) -> None:
    page = Warehouse(warehouse).published.path.with_name(REPORT).read_text(encoding="utf-8")
    figure = next(each.figure for each in figures_of(page) if each.figure.startswith("rpt_audit.sensitivity."))
    found = json.loads(json.dumps(encoded(trace(Warehouse(warehouse), figure))))
    assert found["value"] == found["row"]["sensitivity"]
    assert found["lineage"]["model"] == "rpt_audit"
    assert "raw.predictions.completion" in found["raw_columns"]
    row = found["row"]
    rows = found["raw"]["predictions"]
    assert {(each["model_id"], each["task_id"], each["strategy"]) for each in rows} == {
        (row["model_id"], row["task_id"], row["strategy"])
    }
    assert len(rows) == found["n_answers"] == row["n_landed"]
    assert all(each["completion"] is not None and len(each["request_sha256"]) == 64 for each in rows)
    assert len(found["manifest"]["code"]) == len(found["seal"]) == 64
    assert found["manifest"]["data"]["files"][0]["sha256"]
    assert {each["sample_id"] for each in found["raw"]["samples"]} == {each["sample_id"] for each in rows}
