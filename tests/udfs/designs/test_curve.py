"""Curves of width against requests: their own point, their least designs, and what SQL gets of them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.designs.curve import LADDER, WORDINGS, CurvePoint, OwnRun, width_curve
from promptaudit.udfs.designs.run_curve import linear_curve, sensitivity_curve
from promptaudit.udfs.designs.search import full_shapes, least_design, least_of
from promptaudit.udfs.designs.widths import Design, half_width, half_widths
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.register import register
from promptaudit.udfs.two_way import two_way_interval
from tests.udfs.designs.worlds import World, components_of, dealt

WORLD = World()


def own(n: int, q: int, *, r: int = 2) -> OwnRun:
    return OwnRun(
        n_samples=n,
        n_wordings=q,
        n_repetitions=r,
        n_requests=n * q * r,
        is_incomplete=False,
        n_comparisons=16,
        min_effect=0.02,
    )


def curve_of(answers: NDArray[np.float64], families: NDArray[np.int64] | None = None) -> list[CurvePoint]:
    n, q, r = answers.shape
    sample, wording = np.nonzero(np.ones((n, q)))
    family = wording if families is None else families[wording]
    return linear_curve(
        sample, wording, family, answers.mean(axis=2)[sample, wording], np.full(len(sample), r), own(n, q, r=r)
    )


def labels_of(rng: np.random.Generator, n: int, q: int) -> NDArray[np.int64]:
    return np.where(rng.random((n, q)) < 0.6, rng.integers(0, 3, (n, 1)), rng.integers(0, 3, (n, q)))


def test_the_run_itself_comes_first_with_the_width_that_it_prints() -> None:
    answers = WORLD.answers(np.random.default_rng(1), 100, 12, 2)
    sample, wording = np.nonzero(np.ones((100, 12)))
    printed = two_way_interval(sample, wording, answers.mean(axis=2)[sample, wording])
    first, *others = curve_of(answers)
    assert first.width == pytest.approx(printed.high - printed.low, rel=0.01)  # printed on the logit
    assert (first.n_samples, first.n_wordings, first.n_requests) == (100, 12, 2400)
    assert first.is_this_run
    assert not any(each.is_this_run for each in others)


def test_near_duplicates_count_once_in_the_width_and_each_in_the_requests() -> None:
    families = np.repeat(np.arange(6), 5)
    answers = WORLD.answers_in_families(np.random.default_rng(2), 150, families, 2)
    sample, wording = np.nonzero(np.ones((150, 30)))
    printed = two_way_interval(sample, wording, answers.mean(axis=2)[sample, wording], families[wording])
    first, *others = curve_of(answers, families)
    assert first.width == pytest.approx(printed.high - printed.low, rel=0.01)  # printed on the logit
    assert (first.n_wordings, first.n_requests) == (30, 150 * 30 * 2)
    # as wide an interval takes a fraction of the requests, of unlike wordings
    same = next(each for each in others if each.width <= first.width)
    assert same.n_requests < first.n_requests / 4


def test_each_step_has_the_fewest_requests_of_the_wordings_that_are_tried() -> None:
    answers = WORLD.answers(np.random.default_rng(3), 100, 12, 2)
    components = components_of(answers)
    first, *others = curve_of(answers)
    steps = [first.width * times for times in LADDER]
    for each in others:
        design = Design(
            n_samples=each.n_samples, n_wordings=each.n_wordings, wordings_per_sample=each.n_wordings, n_repetitions=1
        )
        assert each.width == pytest.approx(2 * half_width(components, design))
        step = min(step for step in steps if step >= each.width)
        best = least_design(lambda n, shape: half_widths(components, n, shape), step / 2, "linear", repetitions=(1,))
        assert best is not None
        assert best.n_requests <= each.n_requests <= 1.1 * best.n_requests  # of 12 numbers of wordings, not of 56
    widths, requests = zip(*((each.width, each.n_requests) for each in others), strict=True)
    assert all(one > other for one, other in itertools.pairwise(widths))
    assert all(one < other for one, other in itertools.pairwise(requests))
    assert min(widths) > others[0].least_width
    assert {each.n_wordings for each in others} <= set(WORDINGS)


def test_a_run_of_the_least_design_stands_on_its_curve_whatever_rounding_did_to_its_width() -> None:
    components = components_of(WORLD.answers(np.random.default_rng(10), 100, 12, 2))
    best = least_of(full_shapes("linear", [1], WORDINGS), lambda n, shape: half_widths(components, n, shape), 0.04)
    assert best is not None
    for change in (-1e-13, 0, 1e-13):
        rounded = replace(components, samples=components.samples * (1 + change))
        _, *others = width_curve(components, rounded, own(best.n_samples, best.n_wordings, r=1), "linear")
        assert (best.n_samples, best.n_wordings) in {(each.n_samples, each.n_wordings) for each in others}, change


def test_steps_beyond_a_hundred_times_the_samples_are_left_out() -> None:
    wild = World(samples=0.1, wordings=0.2)  # 60 such wordings leave an interval of .1 whatever the samples
    first, *others = curve_of(wild.answers(np.random.default_rng(4), 60, 8, 2))
    assert first.least_width > 0.05
    narrowest = min(each.width for each in others)
    assert narrowest > first.least_width
    assert narrowest > first.width * LADDER[-1]
    assert max(each.n_samples for each in others) <= 6000


def test_sensitivity_has_full_grids_of_twelve_wordings_and_the_runs_asks() -> None:
    labels = labels_of(np.random.default_rng(5), 60, 14)
    sample, wording = np.nonzero(np.ones(labels.shape))
    table = (labels[sample, wording], np.ones(len(sample)), 4)
    first, *others = sensitivity_curve(sample, wording, wording, *table, own(60, 14))
    printed = sensitivity_interval(sample, wording, None, *table)
    assert 0.95 < first.width / (printed.high - printed.low) < 1.15
    assert min(each.n_wordings for each in others) >= 12
    assert {each.n_repetitions for each in others} == {2}


def test_sensitivity_of_near_duplicates_has_the_width_of_one_wording_a_family() -> None:
    labels = labels_of(np.random.default_rng(6), 40, 8)
    doubled = np.repeat(labels, 2, axis=1)
    curves = []
    for each, families in ((labels, np.arange(8)), (doubled, np.arange(16) // 2)):
        sample, wording = np.nonzero(np.ones(each.shape))
        table = (each[sample, wording], np.ones(len(sample)), 4)
        curves.append(sensitivity_curve(sample, wording, families[wording], *table, own(40, each.shape[1])))
    (one, *few), (two, *many) = curves
    assert two.width == pytest.approx(one.width)
    assert (two.n_wordings, two.n_requests) == (16, 2 * one.n_requests)
    assert [each.n_requests for each in many] == [each.n_requests for each in few]


@pytest.mark.parametrize("a_family", [1, 3])
def test_a_run_of_some_wordings_a_sample_has_the_width_that_it_prints_on_a_curve_of_full_grids(a_family: int) -> None:
    sample, wording = dealt(300, 24, 6)
    families = np.arange(24) // a_family
    answers = WORLD.answers_in_families(np.random.default_rng(4), 300, families, 1)[sample, wording, 0]
    run = replace(own(300, 24, r=1), n_requests=1800, is_incomplete=True)
    first, *others = linear_curve(sample, wording, families[wording], answers, np.ones(1800, np.int64), run)
    printed = two_way_interval(sample, wording, answers, families[wording], is_incomplete=True)
    assert first.width == pytest.approx(printed.high - printed.low, rel=0.02)
    assert (first.n_samples, first.n_wordings, first.n_requests) == (300, 24, 1800)
    # a full grid of as narrow an interval asks more
    assert min(each.n_requests for each in others if each.width <= first.width) > 1800


def test_cells_that_compare_no_two_wordings_have_no_curve() -> None:
    sample = np.arange(40)
    run = replace(own(40, 8, r=1), n_requests=40, is_incomplete=True)
    assert linear_curve(sample, sample % 8, sample % 8, np.ones(40), np.ones(40, np.int64), run) == []


@pytest.mark.parametrize(("n", "q", "a_family"), [(19, 8, 1), (20, 7, 1), (20, 12, 3)])
def test_too_small_a_run_has_no_curve(n: int, q: int, a_family: int) -> None:
    families = np.arange(q) // a_family
    assert curve_of(WORLD.answers(np.random.default_rng(8), n, q, 2), families) == []
    sample, wording = np.nonzero(np.ones((n, q)))
    assert sensitivity_curve(sample, wording, families[wording], sample % 2, np.ones(n * q), 3, own(n, q)) == []


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    register(connection)
    return connection


RUN = "{{'n_wordings': 8, 'n_repetitions': 2, 'n_requests': 480, 'is_incomplete': false, 'n_groups': {}, 'min_effect': .02}}"


def test_sql_gets_the_same_curve_whatever_the_order_and_the_codes(con: duckdb.DuckDBPyConnection) -> None:
    answers = WORLD.answers(np.random.default_rng(9), 30, 8, 2)
    wanted = curve_of(answers)
    rows = [(7 * i - 3, 100 - v, float(answers[i, v].mean())) for i, v in np.ndindex(30, 8)]
    con.execute("create or replace table cells (sample integer, variant integer, value double)")
    con.executemany("insert into cells values (?, ?, ?)", rows)
    lists = "list(sample), list(variant), list(variant), list(value), list(2)"
    found, more = (
        con.sql(
            f"select width_curve({lists}, any_value({RUN.format(n)})) from (from cells order by value, variant, sample)"
        ).fetchall()[0][0]
        for n in (2, 40)
    )
    assert [each["n_requests"] for each in found] == [each.n_requests for each in wanted]
    assert [each["width"] for each in found] == pytest.approx([each.width for each in wanted])
    assert more[0]["detectable_difference"] > found[0]["detectable_difference"]


def test_sql_has_no_curve_of_nothing(con: duckdb.DuckDBPyConnection) -> None:
    run = RUN.format(1)
    assert con.sql(f"select width_curve([], [], [], [], [], {run})").fetchall() == [([],)]
    assert con.sql(f"select width_curve(null, null, null, null, null, {run})").fetchall() == [([],)]
    assert con.sql(f"select width_curve_of_sensitivity([], [], [], [], [], 3, {run})").fetchall() == [([],)]
