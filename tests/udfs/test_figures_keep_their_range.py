"""Every figure that SQL can call lies in its range and in its interval, whatever the answers: random, degenerate, with gaps."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from promptaudit.registry.mart_columns import ABOVE, ANY, AROUND, ENDS, SHARE, Range
from promptaudit.udfs import attempts
from promptaudit.udfs.register import functions, register
from promptaudit.udfs.sql_types import returns, sql_type
from tests.support.intervals import NOT_INSIDE, OF

KINDS = (
    "random",
    "nearly sure",
    "unanimous",
    "all but one answer",
    "by sample",
    "by wording",
    "by repetition",
    "nothing read",
    "one wording breaks",
    "wordings in pairs",
)
GOLDS = ("by sample", "one class", "none")
ROUNDING = 1e-9


class World(NamedTuple):
    """The answers of one group: how many there are, and how they arise."""

    kind: str
    gold: str = "by sample"
    n_samples: int = 24
    n_wordings: int = 4
    n_repetitions: int = 2
    n_labels: int = 3
    gaps: float = 0.0
    n_families: int = 99
    seed: int = 0

    def answers(self) -> pa.Table:
        """Returns a row for each answer; labels are numbers from 0, NULL for N/A, and `gaps` of the cells have none."""
        draw = np.random.default_rng(self.seed)
        shape = self.n_samples, self.n_wordings, self.n_repetitions
        sample, variant, repetition = (each.ravel() for each in np.indices(shape))
        random, own = draw.integers(-1, self.n_labels, len(sample)), sample % self.n_labels
        label = {
            "random": random,
            "nearly sure": np.where(draw.random(len(own)) < 0.05, random, own),
            "unanimous": np.zeros_like(own),
            "all but one answer": np.where(np.arange(len(own)) == self.seed % len(own), random, 0),
            "by sample": own,
            "by wording": variant % (self.n_labels + 1) - 1,
            "by repetition": (own + repetition) % self.n_labels,
            "nothing read": np.full_like(own, -1),
            "one wording breaks": np.where(variant == 1, -1, own),
            "wordings in pairs": draw.integers(-1, self.n_labels, shape)[sample, variant // 2, 0],
        }[self.kind]
        gold = {"by sample": own, "one class": np.zeros_like(own), "none": np.full_like(own, -1)}[self.gold]
        kept = draw.random(shape[:2])[sample, variant] >= self.gaps
        codes = {"sample": sample, "variant": variant, "family": variant % self.n_families, "repetition": repetition}
        return pa.table(
            {name: each.astype(np.int32) for name, each in codes.items()}
            | {
                "label": pa.array(label.astype(np.int32), mask=label < 0),
                "gold": pa.array(gold.astype(np.int32), mask=gold < 0),
                "is_passed": (label == gold) ^ (draw.random(len(own)) < 0.1),
                "is_ruled": (label >= 0) & (draw.random(len(own)) < 0.6),
            }
        ).filter(pa.array(kept | ~kept.any()))


WORLDS = st.builds(
    World,
    kind=st.sampled_from(KINDS),
    gold=st.sampled_from(GOLDS),
    n_samples=st.sampled_from([1, 2, 3, 9, 20, 21, 30]),
    n_wordings=st.sampled_from([1, 2, 3, 4, 9]),
    n_repetitions=st.sampled_from([1, 2, 3]),
    n_labels=st.sampled_from([1, 2, 4]),
    gaps=st.sampled_from([0.0, 0.0, 0.2, 0.7]),
    n_families=st.sampled_from([1, 2, 99]),
    seed=st.integers(0, 99),
)

TABLES = """
    create or replace temp table answers as
    select *, {n_labels} + 1 as n_classes, range({n_labels})::varchar[] as labels, '{level}' as level from given;

    create or replace temp table asked_first as select * from answers where repetition = 0;

    create or replace temp table cells as
    select
        sample, variant, family, gold, label, coalesce(label, -1) as code, n_classes, count(*)::double as n_answers,
        1.0 as stands_for,
        '[{{"nats": -' || coalesce(label, 9) || ', "n_tokens": 1}}, {{"nats": -1.5, "n_tokens": 2}}]' as weighed,
        count(*) / sum(count(*)) over (partition by sample, variant) as p
    from answers group by sample, variant, family, gold, label, n_classes;

    create or replace temp table p_tau as
    select sample, gold, label, n_classes, sum(p) / sum(sum(p)) over (partition by sample) as p
    from cells group by sample, gold, label, n_classes;

    create or replace temp table scored as
    select
        sample, variant, family, avg((label is not distinct from gold)::integer) as value, avg(is_passed::integer) as judged,
        avg((label is not null)::integer) as rulable, 2 * avg(is_ruled::integer) as weight,
        2 * avg((is_ruled and is_passed)::integer) as ruled_judged,
        2 * avg((is_ruled and label is not distinct from gold)::integer) as ruled_right,
        any_value((label is not distinct from gold)::integer) as rating
    from answers where gold is not null group by all;

    create or replace temp table of_models as
    select sample, variant, model::integer as model, if(hash(sample, variant, model) % 4 < model, 1 - value, value) as value
    from scored, range(4) models(model);

    create or replace temp table of_templates as
    select variant, model, avg(value) as value from of_models group by all;

    create or replace temp table of_nights as
    select sample, sample // 2 as cluster, age::integer as age, avg(if(hash(sample, age) % 9 < age, 1 - value, value)) as value
    from scored, range(7) nights(age) group by all;

    create or replace temp table apart as
    select
        sample, cluster, one.age, other.age as other_age, abs(one.value - other.value) as value
    from of_nights as one inner join of_nights as other using (sample, cluster) where one.age <= other.age;

    create or replace temp table sides as
    select
        *, side::integer as run, coalesce(gold, -1) as golden, variant = 0 as is_own,
        if(hash(sample, variant) % 9 < 2 * side, 0, coalesce(label, -1))::integer as answer, (answer = gold)::double as is_right
    from answers, range(2) sides(side);

    create or replace temp table two as
    select sample, max(value) filter (age = 1) as a, max(value) filter (age = 0) as b from of_nights group by all;

    create or replace temp table near as
    select
        {{
            'age': list(age), 'sample': list(sample::integer), 'value': list(value),
            'spread': {{'q': 3.0::double, 'n_pairs': 5}}, 'shared': {{'q': 9.0::double, 'n_pairs': 15}}
        }} as nights,
        {{'sample': list(sample::integer), 'cluster': list(cluster::integer)}} as own,
        {{'excess': 0.001::double, 'variance': 0.002::double, 'freedom': 3.0::double}} as error
    from of_nights where age > 1;

    create or replace temp table alike_pairs as
    select
        {{
            'age': list(age), 'sample': list(sample::integer), 'value': list(value),
            'spread': {{'q': 0.0::double, 'n_pairs': 0}}, 'shared': {{'q': 0.0::double, 'n_pairs': 0}}
        }} as nights,
        {{'sample': list(sample::integer), 'cluster': list(sample::integer)}} as own, list(other_age) as others
    from apart where age > 1 and age < other_age;

    create or replace temp table members as
    select list({{'kind': kind, 'variant': variant, 'line': line, 'value': value, 'unit': nullif(value, 0)}}) as entries
    from (
        select distinct kind, variant, if(kind = 0, 0, variant // 2) as line, if(kind = 0, variant, variant % 2) as value
        from answers, range(2) kinds(kind)
    );
"""

CALLS = """
    normalised_entropy([p], max(n_classes)) from p_tau group by sample
    corrected_sensitivity([variant, label, p], max(n_classes)) from cells group by sample
    sensitivity_interval([sample, variant, family, label, p], max(n_classes)) from cells
    consistency([gold, sample, label, p], 1, 20) from p_tau where gold is not null
    mean_consistency([gold, sample, label, p]) from p_tau
    consistency_rate([sample, variant, family, label, p]) from cells
    consistency_wordings([gold, sample, variant, family, label, p]) from cells
    disagreement_shares([sample, variant, family, label, n_answers, stands_for]) from cells
    variation_effects([sample, variant, label, n_answers, stands_for], any_value(entries)) from cells, members
    measures_by_wordings([gold, sample, variant, label, p], max(n_classes), 1) from cells
    pair_distances([sample, label, p], 1) from p_tau
    sample_pairs([sample, label, p]) from p_tau where sample < 40
    answer_families([sample, variant, family, label, n_answers]) from cells
    prompt_stability([sample, variant, family, repetition, label::varchar], max(level), false, 1, 20) from answers
    prompt_stability([sample, repetition, 0, 0, label::varchar], 'nominal', true, 1, 20) from answers where variant = 0
    prompt_stability_of_all([sample, variant, repetition, label::varchar], max(level)) from answers
    prompt_stability_by_share([sample, variant, 0, label::varchar, 1 + sample], max(level), {n_samples}) from asked_first
    alpha_pseudo_values([sample, variant, repetition, label::varchar], max(level)) from answers
    stability_trend([(variant % 2)::double, sample, variant, repetition, label::varchar, sample], max(level)) from answers
    two_way_interval([sample, variant, value, family]) from scored
    wording_accuracies([sample, variant, value]) from scored
    wording_quantiles([sample, variant, value]) from scored
    wording_choices([sample, sample, variant, value, (variant = 0)::integer], 1) from scored
    majority_vote([sample, sample // 2, variant, label, (label = gold)::integer, (variant = 0)::integer]) from asked_first
    wording_choices([sample, sample // 2, variant, value, (variant = 1)::integer], 1) from scored
    breaking_wordings([sample, variant, value]) from scored
    scoring_spread([sample, variant, value], 1, 20) from scored
    ranking_consistency([variant, model, value]) from of_templates
    corrected_ranking([sample, variant, model, value], 1) from of_models
    ranking_difference([sample, variant, model, value, 1 - value], 1) from of_models
    rater_agreement([sample, variant, rating, 1 + sample % 3]) from scored
    rectified_accuracy([sample, variant, judged, rulable, weight, ruled_judged, ruled_right], 1, 20) from scored
    rule_against_judge([sample, variant, value, judged, rulable, weight, ruled_judged, ruled_right], 1, 20) from scored
    window_test([age, sample, cluster, value], [6, 5, 4, 3, 2, 1], null, {n_wordings}, true, 3, 5, 30, 9) from of_nights
    window_test([age, sample, sample, value], [2, 1], [6], {n_wordings}, false, 0, 0, 0, 0) from of_nights
    window_test([age, sample, cluster, value], [6, 5, 4], [6], {n_wordings}, false, 0, 0, 0, 0) from of_nights
    night_spread([age, sample, cluster, value], [6, 5, 4, 3, 2, 1]) from of_nights
    lost_samples_test([age, sample, value], [6, 5, 4, 3, 2, 1], null) from of_nights
    lost_sample_test([age, sample, value]) from of_nights
    churn_test([age, other_age, sample, cluster, value], [6, 5, 4, 3, 2, 1], {n_wordings}, 0) from apart
    churn_test([age, other_age, sample, sample, value], [1], {n_wordings}, 0.02) from apart where age < 2 and other_age < 2
    paired_values([run, sample, variant, -1, is_own, repetition, answer, golden], max(labels), max(level), false) from sides
    paired_values([run, sample, variant, -1, is_own, repetition, answer, golden], max(labels), max(level), true) from sides
    paired_accuracies([run, sample, variant, is_right], true) from sides where repetition = 0
    compare_values([sample, a, b], first(own), {n_wordings}, first(error), true, true, true, 1, 0, first(nights)) from two, near
    compare_values([sample, a, b], first(own), {n_wordings}, first(error), false, false, true, 1, 0, first(nights)) from two, near
    compare_values([sample, a, b], first(own), {n_wordings}, first(error), false, true, false, 0, 0, first(nights)) from two, near
    compare_churn([sample, a, b], first(own), {n_wordings}, 1, first(nights), first(others)) from two, alike_pairs
        posix([weighed]) from cells group by sample
"""
"""How a group has each figure, a line each: of the columns in brackets the function is given lists."""

RANGES: dict[str, Range] = {
    "alpha_pseudo_values.value": ANY,
    "answer_families.n_effective": ABOVE,
    "carried_by": ABOVE,
    "churn_test.high": ANY,
    "churn_test.low": ANY,
    "cohen_kappa": AROUND,
    "compare_churn.high": ANY,
    "compare_churn.low": ANY,
    "compare_values.high": ANY,
    "compare_values.low": ANY,
    "in_base": ANY,  # pseudo-values
    "night_sd": ABOVE,
    "paired_values.base": AROUND,
    "paired_values.candidate": AROUND,
    "corrected_ranking.corrected": AROUND,
    "degrees_of_freedom": ABOVE,
    "detectable_difference": ABOVE,
    "difference": AROUND,
    "difference_rectified": AROUND,
    "difference_tonight": AROUND,
    "difference_two": AROUND,
    "effect": AROUND,
    "error_two": ABOVE,
    "fleiss_kappa": AROUND,
    "gain": AROUND,
    "item_share": AROUND,
    "least_width": ABOVE,
    "mean_spearman": AROUND,
    "mean_spearman_textbook": AROUND,
    "n_pairs": ABOVE,
    "noise_share": AROUND,
    "posix": ABOVE,
    "pss": AROUND,
    "pss_z_high": ANY,  # as published: pss -+ 1.96 s / sqrt(k)
    "pss_z_low": ANY,
    "q": ABOVE,
    "ranking_difference.difference": (-2, 2),
    "share_removed": (None, 1),
    "stability_trend.difference": ANY,  # along a line, which may lie beyond its points
    "stability_trend.high": ANY,
    "stability_trend.low": ANY,
    "share_removed_rectified": (None, 1),
    "spread_factor": (1, None),
    "standard_error": ABOVE,
    "variance_corrected_low": ANY,  # of a test, and in no mart
    "width": ABOVE,
    "window_test.high": ANY,  # nights compare logarithms of lengths too
    "window_test.low": ANY,
    "wording_share": AROUND,
}
"""What a figure, and its ends with it, can be that is no share: by its field, before it by its function and its field."""

ADD_UP: dict[str, Callable[[list[dict[str, Any]]], bool]] = {
    "wording_choices": lambda rows: math.isclose(sum(row["chance_best"] for row in rows), 1),
    "wording_accuracies": lambda rows: len({row["variant"] for row in rows}) == len(rows),
    "answer_families": lambda rows: {row["family"] for row in rows} <= {row["variant"] for row in rows},
    "pair_distances": lambda rows: sum(row["n_pairs"] for row in rows) == math.comb(rows[0]["n_samples"], 2),
    "sample_pairs": lambda rows: len({frozenset((row["sample"], row["other_sample"])) for row in rows}) == len(rows),
    "ranking_consistency": lambda rows: all(
        row["n_pairs"] + row["n_undefined_pairs"] in (0, math.comb(row["n_variants"], 2)) for row in rows
    ),
}
"""What holds of all rows that a function gives of a group."""

WITH_PLAIN_ENDS = ("mean", "rate", "consistency", "corrected", "difference", "accuracy")
"""What `low` and `high` are of, where a row has one of these."""

NO_FIGURES = ("accepted_state", "detectable_difference", "next_night_state", "read_fields", "token_f1")
"""Functions of no group of answers."""


def test_every_function_that_gives_numbers_is_held() -> None:
    numeric = {name for name, function in functions().items() if "DOUBLE" in sql_type(returns(function))}
    assert {line.split("(")[0].strip() for line in CALLS.strip().splitlines()} == numeric - set(NO_FIGURES)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        register(connection)
        yield connection


@settings(max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORLDS, st.sampled_from(["nominal", "ordinal", "interval"]))
@example(World("random", n_samples=2500, n_wordings=2), "nominal")
def test_figures_keep_their_range_and_order(con: duckdb.DuckDBPyConnection, world: World, level: str) -> None:
    con.register("given", world.answers())
    con.execute(TABLES.format(**world._asdict(), level=level))
    calls = (line.strip().format(**world._asdict()) for line in CALLS.strip().splitlines())
    assert [each for call in calls for each in wrong(con, call)] == []


def wrong(con: duckdb.DuckDBPyConnection, call: str) -> Iterator[str]:
    """Yields what is wrong with the figures of one call."""
    name, columns, others = re.split(r"\(\[|\]", call, maxsplit=2)
    lists = ", ".join(f"list({column})" for column in columns.split(", "))
    groups = con.execute(f"select try_{name}('', {lists}{others} having count(*) > 0").fetchall()
    yield from (f"{each.function}: {each.reason}" for each in attempts.take())
    for (own,) in groups:
        rows = own if isinstance(own, list) else [own] if isinstance(own, dict) else [{name: own}]
        yield from (f"{name}: {each} of {row}" for row in rows for each in of_row(name, row))
        if rows and not ADD_UP.get(name, bool)(rows):
            yield f"{name} does not add up: {rows}"


def of_row(name: str, row: dict[str, Any]) -> Iterator[str]:
    """Yields the columns that are out of their range, or on the wrong side of what they are an end of."""
    for column, value in row.items():
        figure = figure_of(column, row)
        known = (f"{name}.{column}", f"{name}.{figure}", column, figure)
        least, most = next((RANGES[each] for each in known if each in RANGES), SHARE)
        if not isinstance(value, float):
            continue
        if not math.isfinite(value):
            yield column
        if (least is not None and value < least - ROUNDING) or (most is not None and value > most + ROUNDING):
            yield f"{column} out of its range"
        if column.endswith("low") and row.get(column.removesuffix("low") + "high", value) < value - ROUNDING:
            yield f"{column} above the high one"
        if column != figure and column.rpartition("_")[0] not in NOT_INSIDE and row.get(figure) is not None:
            beyond = value - row[figure] if column.endswith("low") else row[figure] - value
            if beyond > ROUNDING:
                yield f"{column} beyond {figure}"


def figure_of(column: str, row: dict[str, Any]) -> str:
    """Returns the figure that an end of an interval is of; of others the column itself."""
    if column in ("low", "high"):
        return next((each for each in WITH_PLAIN_ENDS if each in row), column)
    stem = next((column.removesuffix(end) for end in ENDS if column.endswith(end)), column)
    return OF.get(stem, stem)
