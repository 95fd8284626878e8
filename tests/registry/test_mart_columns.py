"""What the dbt project declares of a measure, and that whoever prints one has all it needs."""

from __future__ import annotations

import ast
import re

import pytest

from promptaudit.registry.cards import WORDED_ALONE
from promptaudit.registry.mart_columns import (
    ABOUT,
    ENDS,
    SHARE,
    MartColumn,
    compact_measures,
    compared_unit,
    dbt_project,
    declared_models,
    mart_columns,
    scorecard_columns,
)
from tests.support.intervals import figures_of_marts

AUDIT = mart_columns("rpt_audit")
MEASURES = [column for column in scorecard_columns() if column.scorecard is not None]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_measure_of_the_scorecard_is_explained_and_has_what_is_printed_beside_it(measure: MartColumn) -> None:
    assert measure.label
    assert measure.guide.endswith(".")
    assert measure.source
    beside = {"interval": [measure.estimate + end for end in ENDS], "figure": []}
    for form in (measure.scorecard, measure.compact):
        assert form is None or set(beside[form]) <= set(AUDIT)
        assert form != "interval" or mart_columns("rpt_audit")[measure.estimate].about in ABOUT
    if measure.is_in_nights:
        assert measure.direction is not None
        assert measure.ends is not None


def test_an_end_of_an_interval_is_measured_as_its_estimate_is() -> None:
    assert AUDIT["consistency_low"].unit == AUDIT["consistency"].unit == "share"
    assert AUDIT["consistency_low"].limits == SHARE
    assert AUDIT["wording_share_high"].limits == AUDIT["wording_share"].limits == (-1, 1)
    assert AUDIT["audit_id"].unit is None


WITHOUT_RANGE = re.compile(
    r".*_(usd|ms|usd_per_mtok|tokens|mean|logprob|effective|uncertainty|temperature|threshold|width)|posix|twice|min_sensitivity"
    r"|(base|candidate|difference|figure|share_removed|detectable_difference|min_effect|standard_error|spread_factor)(_.*)?"
    r"|degrees_of_freedom|night_sd"
)
"""Figures of any size: prices, times, lengths, means of counts, likelihoods, and columns that hold figures of many measures."""


def test_every_figure_has_a_range_that_a_build_holds_it_in() -> None:
    open_ended = {each.name for _, each in figures_of_marts() if None in each.limits}
    assert [name for name in open_ended if not WITHOUT_RANGE.fullmatch(name)] == []


ENDS_OF_INTERVALS = [
    pytest.param(model["name"], column["name"], column["description"], id=f"{model['name']}.{column['name']}")
    for path in sorted((dbt_project() / "models" / "marts").glob("*/*.yml"))
    for model in declared_models(path)
    for column in model["columns"]
    if column["name"].endswith(ENDS) and not column["name"].startswith(("similarity", "pss_z", "pss_cell"))
]


@pytest.mark.parametrize(("mart", "name", "description"), ENDS_OF_INTERVALS)
def test_an_end_of_an_interval_says_what_it_is_about(mart: str, name: str, description: str) -> None:
    is_of_nights = mart in ("rpt_night_figures", "rpt_night_verdicts")
    assert ("for other nights on these samples" if is_of_nights else "for other samples") in description
    is_for_other_wordings = name.removesuffix("_low").removesuffix("_high") in (
        "sensitivity_corrected",
        "sensitivity_unbroken",
        "sensitivity_same_meaning",
        "preferred_rate",
        "consistency_rate",
        "micro_f1",
        "micro_f1_unbroken",
        "invalid_rate",
    )
    is_for_other_wordings |= name.startswith(("sensitivity_low", "sensitivity_high")) and mart != "fct_field_stability"
    is_of_fields = mart == "fct_field_stability" and name.startswith("accuracy")
    if is_for_other_wordings or is_of_fields or "_wordings_" in name:
        assert "and other wordings" in description
    elif name not in ("value_low", "value_high", "difference_low", "difference_high"):
        assert "other wordings" not in description


def test_bounds_for_other_wordings_belong_to_the_figure() -> None:
    for measure in ("consistency", "wording_share", "noise_share", "item_share"):
        for end in ENDS:
            column = AUDIT[f"{measure}_wordings{end}"]
            assert (column.interval, column.unit, column.limits) == (measure, "share", AUDIT[measure].limits)


def test_a_figure_is_printed_with_its_own_interval() -> None:
    assert AUDIT["sensitivity"].ends == ("sensitivity_low", "sensitivity_high")
    assert AUDIT["sensitivity"].estimate == "sensitivity"
    assert AUDIT["micro_f1"].estimate == "micro_f1"


def test_the_accuracy_of_one_gold_label_is_printed_as_that_of_all() -> None:
    assert compared_unit("accuracy of billing: late") == compared_unit("micro_f1") == "share"


def test_what_is_compact_is_on_the_scorecard_too() -> None:
    assert set(compact_measures()) <= set(MEASURES)
    assert [measure.name for measure in compact_measures()][:2] == ["sensitivity", "consistency"]


def test_the_newest_scorecard_has_the_columns_of_all() -> None:
    audit, latest = declared_models(dbt_project() / "models" / "marts" / "reporting" / "rpt_audit.yml")
    assert latest["columns"] == audit["columns"]


def test_a_mart_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="rpt_audits"):
        mart_columns("rpt_audits")


def test_staging_calls_worded_alone_what_the_cards_do() -> None:
    text = (dbt_project() / "models" / "staging" / "stg_prompt_variants.sql").read_text("utf-8")
    (listed,) = re.findall(r"in \((.*)\) as is_worded_alone", text)
    assert (None, *ast.literal_eval(f"({listed})")) == WORDED_ALONE
