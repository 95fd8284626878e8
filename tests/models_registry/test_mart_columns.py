"""What the dbt project declares of a measure, and that whoever prints one has all it needs."""

from __future__ import annotations

import pytest

from models_registry.mart_columns import (
    ENDS,
    SHARE,
    MartColumn,
    compact_measures,
    dbt_project,
    declared_models,
    mart_columns,
    scorecard_columns,
)

AUDIT = mart_columns("rpt_audit")
MEASURES = [column for column in scorecard_columns() if column.scorecard is not None]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_measure_of_the_scorecard_is_explained_and_has_what_is_printed_beside_it(measure: MartColumn) -> None:
    assert measure.label
    assert measure.guide.endswith(".")
    assert measure.source
    beside = {"std": [f"{measure.name}_std"], "interval": [measure.estimate + end for end in ENDS], "figure": []}
    for form in (measure.scorecard, measure.compact):
        assert form is None or set(beside[form]) <= set(AUDIT)
    if measure.is_in_nights:
        assert measure.direction is not None
        assert measure.ends is not None


def test_an_end_of_an_interval_is_measured_as_its_estimate_is() -> None:
    assert AUDIT["consistency_low"].unit == AUDIT["consistency"].unit == "share"
    assert AUDIT["consistency_low"].limits == SHARE
    assert AUDIT["wording_share_high"].limits == AUDIT["wording_share"].limits == (-1, 1)
    assert AUDIT["audit_id"].unit is None


def test_the_published_sensitivity_has_the_interval_of_the_corrected_one() -> None:
    assert AUDIT["sensitivity"].estimate == "sensitivity_corrected"
    assert AUDIT["micro_f1"].estimate == "micro_f1"


def test_what_is_compact_is_on_the_scorecard_too() -> None:
    assert set(compact_measures()) <= set(MEASURES)
    assert [measure.name for measure in compact_measures()][:2] == ["sensitivity", "consistency"]


def test_the_newest_scorecard_has_the_columns_of_all() -> None:
    audit, latest = declared_models(dbt_project() / "models" / "marts" / "reporting" / "rpt_audit.yml")
    assert latest["columns"] == audit["columns"]


def test_a_mart_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="rpt_audits"):
        mart_columns("rpt_audits")
