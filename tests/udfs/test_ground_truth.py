"""Published figures from the raw answers behind them, through SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.udfs import plugin

GROUND_TRUTH = Path(__file__).parents[2].parent / "shared" / "ground_truth"
EXPECTED: dict[str, Any] = json.loads((GROUND_TRUTH / "expected.json").read_text()) if GROUND_TRUTH.is_dir() else {}
pytestmark = pytest.mark.skipif(not EXPECTED, reason=f"reference data are not at {GROUND_TRUTH}")


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        plugin.register(connection)
        yield connection


@pytest.mark.parametrize("kind", ["valid", "verbatim"])
@pytest.mark.parametrize("name", list(EXPECTED.get("pss_intra", {})))
def test_pss_of_repetitions(con: duckdb.DuckDBPyConnection, name: str, kind: str) -> None:
    expected = EXPECTED["pss_intra"][name]
    if f"pss_cumulative_{kind}" not in expected:
        pytest.skip(f"{name} has no published {kind} figures")
    level = expected["level"] if kind == "valid" else "nominal"
    query = """
        with labelled as (
            select sample_id, repetition, case
                when $kind = 'valid' and list_contains($labels, trim(completion)) then trim(completion)
                when $kind = 'verbatim' and trim(completion) <> '' then completion
            end as label
            from read_parquet($file)
        )
        select unnest(prompt_stability(
            list((hash(sample_id) >> 33)::integer), list(repetition), list(repetition), list(1), list(label), $level, false, 1, 20
        ))
        from labelled
    """
    file = str(GROUND_TRUTH / expected["file"])
    bound = {"kind": kind, "labels": [str(label) for label in expected["labels"]], "level": level, "file": file}
    rows = [row for (row,) in con.execute(query, bound).fetchall()]
    for series in ("cumulative", "adjacent"):
        if f"pss_{series}_{kind}" in expected:
            figures = [row["pss"] for row in rows if row["series"] == series]
            assert figures == pytest.approx(expected[f"pss_{series}_{kind}"], abs=1e-9)


@pytest.mark.parametrize("name", list(EXPECTED.get("pss_inter", {})))
def test_pss_of_prompt_variants(con: duckdb.DuckDBPyConnection, name: str) -> None:
    query = """
        select paraphrase_temperature, prompt_stability(
            list(sample_id::integer), list(variant_index), list(variant_index), list(1), list(nullif(trim(completion), '')),
            'nominal', false, 1, 20)[-1]
        from read_parquet($file) group by paraphrase_temperature
    """
    expected = EXPECTED["pss_inter"][name]
    rows = con.execute(query, {"file": str(GROUND_TRUTH / expected["file"])}).fetchall()
    assert len(rows) == len(expected["per_temperature"])
    for temperature, row in rows:
        published = expected["per_temperature"][str(temperature)]
        assert row["pss"] == pytest.approx(published["pss_verbatim"], abs=1e-9)
        assert (row["n_annotators"], row["n_samples"]) == (published["n_variants"], published["n_samples"])


@pytest.mark.parametrize("name", list(EXPECTED.get("robustness", {})))
def test_sensitivity_and_consistency(con: duckdb.DuckDBPyConnection, name: str) -> None:
    expected = EXPECTED["robustness"][name]
    con.execute(
        """
        create table p_tau as
        select list_position($labels, gold_label) as gold, sample_id::integer as sample,
            -- N/A is a class of its own: NULL
            nullif(list_position($labels, completion), len($labels)) as label, count(*) / $q as p
        from read_parquet($file) group by all
        """,
        {"labels": expected["labels"], "q": expected["Q"], "file": str(GROUND_TRUTH / expected["file"])},
    )
    (sensitivity,) = con.execute(
        "select avg(s), stddev_pop(s) from (select normalised_entropy(list(p), $c) as s from p_tau group by sample)",
        {"c": len(expected["labels"])},
    ).fetchall()
    assert sensitivity == pytest.approx((expected["sensitivity_mean"], expected["sensitivity_std_ddof0"]), abs=1e-9)

    call = "consistency(list(gold), list(sample), list(label), list(p), 1, 50)"
    (pooled,) = con.sql(f"select unnest({call}, recursive := true) from p_tau").fetchall()
    assert pooled[0] == pytest.approx(expected["consistency_pooled_mean_printed"], abs=1e-9)
    assert pooled[2] == pytest.approx(expected["consistency_pooled_std_printed"], abs=1e-9)
    by_class = [figure for (figure,) in con.sql(f"select {call} from p_tau group by gold order by gold").fetchall()]
    included = [figure["consistency"] for figure in by_class]
    distinct = [figure["consistency_distinct"] for figure in by_class]
    assert included == pytest.approx(expected["consistency_per_class_mean_incl_diagonal"], abs=1e-9)
    assert distinct == pytest.approx(expected["derived_consistency_per_class_excl_diagonal"], abs=1e-9)
    steps = "unnest(pair_distances(list(sample), list(label), list(p), 1))"
    by_distance = con.sql(f"""
        select sum(step.n_pairs * step.mean_similarity) / sum(step.n_pairs)
        from (select gold, {steps} as step from p_tau group by gold) group by gold order by gold
    """).fetchall()
    assert [mean for (mean,) in by_distance] == pytest.approx(distinct, abs=1e-12)

    con.execute(
        """
        create table wordings as
        select list_position($labels, gold_label) as gold, sample_id::integer as sample, variant_index::integer as variant,
            nullif(list_position($labels, completion), len($labels)) as label, 1.0 as p
        from read_parquet($file)
        """,
        {"labels": expected["labels"], "file": str(GROUND_TRUTH / expected["file"])},
    )
    curve = "measures_by_wordings(list(gold), list(sample), list(variant), list(label), list(p), $c, 1)"
    (rows,) = con.execute(f"select {curve} from wordings", {"c": len(expected["labels"])}).fetchone() or ([],)
    assert rows[-1]["n_wordings"] == expected["Q"]
    assert rows[-1]["sensitivity"] == pytest.approx(expected["sensitivity_mean"], abs=1e-12)
    assert rows[-1]["consistency"] == pytest.approx(expected["consistency_pooled_mean_printed"], abs=1e-12)
    assert all(row["is_sensitivity_exact"] for row in rows)
    assert [row["sensitivity"] for row in rows] == sorted(row["sensitivity"] for row in rows)
