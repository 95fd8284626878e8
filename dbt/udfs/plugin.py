"""Registers the measures in DuckDB under their SQL names, and tells dbt's macros which runs a build derives."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb.func import FunctionNullHandling, PythonUDFType

from udfs import COMPARISON_IDS, RUN_IDS
from udfs.comparison import Compared
from udfs.designs.curve import CurvePoint
from udfs.measures.breaking_wordings import BrokenWording
from udfs.measures.by_wordings import ByWordings
from udfs.measures.consistency import Consistency
from udfs.measures.consistency_rate import ConsistencyRate
from udfs.measures.disagreement import DisagreementShares
from udfs.measures.pair_distances import PairBin, SamplePair
from udfs.measures.sensitivity import SensitivityInterval
from udfs.measures.variation_effects import VariationEffect
from udfs.measures.wording_accuracies import WordingQuantiles
from udfs.nights.window_test import WindowTest
from udfs.raters.kappa import Agreement
from udfs.reading import Reading
from udfs.resampling import Interval
from udfs.scoring.math.equal import MathReading
from udfs.scoring.verdict import Verdict
from udfs.sql import comparison, designs, measures, nights, pairs, raters, reading, scoring, stability, templates
from udfs.sql.columns import Column, doubles_struct, row_type
from udfs.sql.retired import RETIRED_RUNS
from udfs.stability.prompt_stability import StabilityRow
from udfs.templates.prediction_powered import RectifiedAccuracy
from udfs.templates.rankings import CorrectedRanking, RankingConsistency
from udfs.templates.rule_against_judge import RuleAgainstJudge
from udfs.templates.spread import Spread
from udfs.two_way import TwoWayMean

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FUNCTIONS: dict[str, tuple[Callable[..., Column], Sequence[str], str]] = {
    # measures of a group of answers
    "normalised_entropy": (measures.normalised_entropy, ["DOUBLE[]", "INTEGER"], "DOUBLE"),
    "corrected_sensitivity": (
        measures.corrected_sensitivity,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]", "INTEGER"],
        "DOUBLE",
    ),
    "sensitivity_interval": (
        measures.sensitivity_interval,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "INTEGER"],
        doubles_struct(SensitivityInterval._fields),
    ),
    "answer_families": (
        measures.answer_families,
        [*["BIGINT[]"] * 4, "DOUBLE[]"],
        "STRUCT(variant BIGINT, family BIGINT, n_effective DOUBLE)[]",
    ),
    "breaking_wordings": (
        measures.breaking_wordings,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        f"{row_type(BrokenWording)}[]",
    ),
    "wording_families": (measures.wording_families, ["VARCHAR[]"], "BIGINT[]"),
    "consistency_rate": (
        measures.rate_of_agreeing_wordings,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        doubles_struct(ConsistencyRate._fields),
    ),
    "consistency": (
        measures.consistency_of_classes,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT", "INTEGER"],
        doubles_struct(Consistency._fields),
    ),
    "consistency_wordings": (
        measures.consistency_over_wordings,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        doubles_struct(Interval._fields),
    ),
    "disagreement_shares": (
        measures.shares_of_disagreement,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "DOUBLE[]"],
        doubles_struct(DisagreementShares._fields),
    ),
    "mean_consistency": (
        measures.mean_consistency,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        "STRUCT(sample BIGINT, mean_consistency DOUBLE)[]",
    ),
    "measures_by_wordings": (
        measures.measures_by_wordings,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "INTEGER", "BIGINT"],
        f"{row_type(ByWordings)}[]",
    ),
    "pair_distances": (
        pairs.pair_distances,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT"],
        f"{row_type(PairBin)}[]",
    ),
    "posix": (measures.posix, ["VARCHAR[]"], "DOUBLE"),
    "sample_pairs": (pairs.sample_pairs, ["BIGINT[]", "BIGINT[]", "DOUBLE[]"], f"{row_type(SamplePair)}[]"),
    "two_way_interval": (
        measures.two_way_interval,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "BOOLEAN"],
        doubles_struct(TwoWayMean._fields),
    ),
    "variation_effects": (
        measures.variation_effects,
        [*["BIGINT[]"] * 3, "DOUBLE[]", "DOUBLE[]", *["BIGINT[]"] * 5],
        f"{row_type(VariationEffect)}[]",
    ),
    "wording_accuracies": (
        measures.accuracies_of_wordings,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        "STRUCT(variant BIGINT, accuracy DOUBLE, shrunk DOUBLE)[]",
    ),
    "wording_quantiles": (
        measures.quantiles_of_wordings,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        doubles_struct(WordingQuantiles._fields),
    ),
    # how much is enough
    "width_curve": (
        designs.width_curve,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT[]", designs.RUN_TYPE],
        f"{row_type(CurvePoint)}[]",
    ),
    "width_curve_of_sensitivity": (
        designs.width_curve_of_sensitivity,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "INTEGER", designs.RUN_TYPE],
        f"{row_type(CurvePoint)}[]",
    ),
    # prompt stability
    "prompt_stability": (
        stability.prompt_stability,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "VARCHAR[]", "VARCHAR", "BOOLEAN", "BIGINT", "INTEGER"],
        f"{row_type(StabilityRow)}[]",
    ),
    "prompt_stability_of_all": (
        stability.prompt_stability_of_all,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "VARCHAR[]", "VARCHAR"],
        f"{row_type(StabilityRow)}[]",
    ),
    # text
    "read_answer": (
        reading.read_answer,
        ["VARCHAR", "VARCHAR", "VARCHAR[]", "VARCHAR"],
        row_type(Reading),
    ),
    "shown_reasoning": (reading.shown_reasoning, ["VARCHAR"], "VARCHAR"),
    "read_verdict": (reading.read_verdict, ["VARCHAR", "VARCHAR"], row_type(Verdict)),
    # scoring methods
    "token_f1": (scoring.score_token_f1, ["VARCHAR", "VARCHAR[]"], "DOUBLE"),
    "math_equal": (scoring.score_math_equal, ["VARCHAR", "VARCHAR[]"], row_type(MathReading)),
    "math_boxed": (scoring.score_math_boxed, ["VARCHAR", "VARCHAR[]"], row_type(MathReading)),
    "likeliest_option": (
        scoring.score_option_loglikelihood,
        ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"],
        "STRUCT(option_index INTEGER, reason VARCHAR)",
    ),
    # templates and raters
    "scoring_spread": (
        templates.scoring_spread,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT", "INTEGER", "BOOLEAN"],
        doubles_struct(Spread._fields),
    ),
    "rectified_accuracy": (
        templates.rectified_accuracy,
        [*["BIGINT[]"] * 2, *["DOUBLE[]"] * 5, "BIGINT", "INTEGER"],
        doubles_struct(RectifiedAccuracy._fields),
    ),
    "rule_against_judge": (
        templates.spread_of_rule_and_judge,
        [*["BIGINT[]"] * 2, *["DOUBLE[]"] * 6, "BIGINT", "INTEGER"],
        doubles_struct(RuleAgainstJudge._fields),
    ),
    "ranking_consistency": (
        templates.ranking_consistency,
        ["BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        doubles_struct(RankingConsistency._fields),
    ),
    "corrected_ranking": (
        templates.corrected_ranking,
        [*["BIGINT[]"] * 3, "DOUBLE[]", "BIGINT"],
        doubles_struct(CorrectedRanking._fields),
    ),
    "rater_agreement": (
        raters.rater_agreement,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]"],
        doubles_struct(Agreement._fields),
    ),
    "verdict_group": (raters.verdict_group, ["BOOLEAN"] * 5, "VARCHAR"),
    # two runs
    "compare_answers": (
        comparison.compare_answers,
        [*["BIGINT[]"] * 8, "VARCHAR[]", "VARCHAR", "BIGINT", "INTEGER"],
        f"{row_type(Compared)}[]",
    ),
    "compare_accuracies": (
        comparison.compare_accuracies,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT", "INTEGER"],
        f"{row_type(Compared)}[]",
    ),
    # nights
    "alpha_pseudo_values": (
        stability.alpha_pseudo_values,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "VARCHAR[]", "VARCHAR"],
        "STRUCT(sample BIGINT, value DOUBLE)[]",
    ),
    "window_test": (
        nights.window_test,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT[]", "BIGINT[]", "INTEGER"],
        row_type(WindowTest),
    ),
    "churn_test": (
        nights.churn_test,
        ["BIGINT[]", "BIGINT[]", "BIGINT[]", "BIGINT[]", "DOUBLE[]", "BIGINT[]", "BIGINT[]", "INTEGER"],
        row_type(WindowTest),
    ),
    "next_night_state": (
        nights.next_night_state,
        [nights.STATE_TYPE, "BIGINT", f"{nights.STREAM_TYPE}[]", "DOUBLE", "BOOLEAN"],
        nights.STATE_TYPE,
    ),
    "accepted_state": (nights.accepted_state, [nights.STATE_TYPE, "BOOLEAN"], nights.STATE_TYPE),
    "detectable_difference": (
        comparison.detectable_difference,
        ["DOUBLE", "DOUBLE", "INTEGER", "DOUBLE", "DOUBLE"],
        "DOUBLE",
    ),
}
"""SQL name: function, parameter types, return type."""


def register(conn: DuckDBPyConnection) -> None:
    """Registers every function of `FUNCTIONS` on a connection."""
    for name, (function, parameters, returns) in FUNCTIONS.items():
        conn.create_function(
            name,
            function,
            list(parameters),
            returns,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
            side_effects=False,
        )


class Plugin(BasePlugin):
    """The dbt-duckdb plugin `udfs.plugin`, which gives every connection of dbt the measures."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Registers the measures on a connection, and reads which runs are retired."""
        register(conn)
        self._left_out = {} if _named(RUN_IDS) else _retired(conn)

    def configure_cursor(self, cursor: DuckDBPyConnection) -> None:
        """Sets the session variables that the macros `in_this_build` and `compared_in_this_build` read."""
        runs = _named(RUN_IDS)
        if runs:
            cursor.execute(f"set variable audit_run_ids = {_listed(runs)}")
            cursor.execute(f"set variable first_audit_run_id = '{runs[0]}'")
            cursor.execute(f"set variable last_audit_run_id = '{runs[-1]}'")
        for name, ids in self._left_out.items():
            cursor.execute(f"set variable {name} = {_listed(ids)}")
        comparisons = _named(COMPARISON_IDS)
        if comparisons:
            cursor.execute(f"set variable comparison_ids = {_listed(comparisons)}")


def _named(variable: str) -> list[str]:
    """The ids an environment variable lists, in order; none where one of them is no id."""
    ids = sorted(each for each in os.environ.get(variable, "").split(",") if each)
    return ids if all(each.isalnum() for each in ids) else []


def _retired(conn: DuckDBPyConnection) -> dict[str, list[str]]:
    """What a build of all runs leaves out, by session variable; nothing in a warehouse without the table of retirements."""
    known = "select 1 from information_schema.tables where table_schema = 'raw' and table_name = 'retirements'"
    if not conn.execute(known).fetchall():
        return {}
    runs = [run for (run,) in conn.execute(RETIRED_RUNS).fetchall()]
    if not runs:
        return {}
    of_them = "list_has_any($runs, [base_run_id, candidate_run_id])"
    rows = conn.execute(f"select comparison_id from raw.comparisons where {of_them}", {"runs": runs}).fetchall()  # noqa: S608
    return {"retired_run_ids": runs, "retired_comparison_ids": [each for (each,) in rows]}


def _listed(ids: Sequence[str]) -> str:
    return "[" + ", ".join("'" + each.replace("'", "''") + "'" for each in ids) + "]::varchar[]"
