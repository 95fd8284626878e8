"""Says which answers a row of a mart rests on, as a condition on `marts.fct_predictions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WITHIN = (
    "model_id",
    "task_id",
    "strategy",
    "prompt_variant_id",
    "repetition",
    "prediction_id",
)  # columns that answers have too
JUDGED = (
    "fct_judge_agreement",
    "fct_judge_anchors",
    "fct_judge_controls",
    "fct_preferences",
    "rpt_judge_anchors",
    "rpt_rule_against_judge",
    "rpt_scoring_across_tasks",
    "fct_verdicts",
)
RANKED = "rpt_measures_across_tasks"  # its figures are about one model, except OF_ALL_MODELS
OF_ALL_MODELS = (None, "rank_in_row", "n_ranked", "is_best", "best_of_sets")
OF_ALL_STRATEGIES = (None, "is_best", "best_of_sets")
COMPARED = ("rpt_run_comparisons", "rpt_run_changes", "fct_flips")
OF_GROUPS = (*COMPARED, "fct_sample_values")
"""Marts whose rows rest on a whole group even where they name a sample."""
OF_FAMILY = (
    "q_value",
    "n_tests",
    "detectable_difference",
    "verdict",
    "reason",
)  # these rest on every test of the comparison
OF_ONE_VARIANT = ("n_answers", "n_invalid", "invalid_rate")  # of rpt_prompt_variants, which else compares variants
OF_ONE_WORDING = ("agreement", "mean_prompt_tokens", "mean_completion_tokens")  # of rpt_wording_choices
FITTED = ("accuracy_fitted", "accuracy_shrunk")  # of fct_variant_accuracy; they rest on all variants of the group
OF_CLASSES = (
    "fct_consistency",
    "rpt_class_sensitivities",
    "rpt_pair_distances",
    "rpt_sample_pairs",
    "rpt_sample_similarities",
)
ORIGINALS = ("pss_intra", "accuracy_original")  # columns of a group that look at the original wording alone

SAME_MEANING = (
    "prompt_variant_id in (select prompt_variant_id from marts.rpt_prompt_variants "
    "where list_contains($runs, audit_run_id) and asks_the_same)"
)

Condition = tuple[str, dict[str, Any]]
"""SQL over the columns of fct_predictions, with its parameters by name."""


def scope_of(mart: str, column: str | None, row: Mapping[str, Any]) -> Condition:
    """Writes the condition that selects the answers of which a figure is made.

    `row` is the figure's row of the mart; `column` is None for the whole row. A figure over a group is made of all
    answers of the group.
    """
    wanted = _within(mart, column, row)
    runs = _runs(mart, row)
    parts = ["list_contains($runs, audit_run_id)"]
    if "model_id" in wanted and row.get("base_model_id") is not None:  # compared with another model, or itself
        wanted |= {"of_model": wanted.pop("model_id"), "base_model": row["base_model_id"]}
        if "strategy" in wanted and row.get("base_strategy") is not None:
            parts.append("(model_id, strategy) in (($of_model, $of_strategy), ($base_model, $base_strategy))")
            wanted |= {"of_strategy": wanted.pop("strategy"), "base_strategy": row["base_strategy"]}
        else:
            parts.append("model_id in ($of_model, $base_model)")
    parts += _of_asks(mart, row)
    measured = row["measure"] if mart == RANKED and column not in OF_ALL_MODELS else column
    if measured is not None and measured.startswith(ORIGINALS):
        parts.append("is_original")
    if measured is not None and "same_meaning" in measured:
        parts.append(SAME_MEANING)
    if mart in OF_CLASSES or (mart == "fct_sensitivity" and column == "mean_consistency"):
        parts.append("gold_label is not distinct from $gold_label")
        wanted["gold_label"] = row["gold_label"]
    elif "sample_id" in row and mart not in OF_GROUPS:
        parts.append("sample_id = $sample_id")
        wanted["sample_id"] = row["sample_id"]
    if "$temperature" in " ".join(parts):
        wanted["temperature"] = row["paraphrase_temperature"]
    parts += [f"{name} = ${name}" for name in wanted if name in WITHIN]
    return " and ".join(parts), {"runs": runs, **wanted}


def _runs(mart: str, row: Mapping[str, Any]) -> list[str]:
    # of a comparison the candidate last
    if mart not in COMPARED:
        return [row["audit_run_id"]]
    return [row["base_run_id"], row["candidate_run_id"]]


def _within(mart: str, column: str | None, row: Mapping[str, Any]) -> dict[str, Any]:
    # the columns of answers that the row has too and that bound its group
    if mart == "rpt_run_comparisons" and column in OF_FAMILY:
        return {}
    within = {name: row[name] for name in WITHIN if row.get(name) is not None}
    if mart in JUDGED or is_ruled(row):
        # an answer's ruling stands for every answer that says the same, whichever model gave it
        return {"task_id": within["task_id"]} if "task_id" in within else {}
    if row.get("scope") == "inter_model" or (mart == RANKED and column in OF_ALL_MODELS):
        within.pop("model_id", None)
    if mart == RANKED and column in OF_ALL_STRATEGIES:
        within.pop("strategy")
    if (
        (mart == "rpt_prompt_variants" and column not in OF_ONE_VARIANT)
        or (mart == "fct_variant_accuracy" and column in FITTED)
        or (mart == "rpt_wording_choices" and column not in OF_ONE_WORDING)
    ):
        del within["prompt_variant_id"]
    return within


def is_ruled(row: Mapping[str, Any]) -> bool:
    """Checks by scoring method, measure or a judge's night whether a row is about rulings of a judge or of people."""
    method = str(row.get("scoring_method") or row.get("measure") or "")
    return method == "people" or "judge:" in method or str(row.get("model_id")).startswith("judge:")


def is_of_meaning(column: str | None, row: Mapping[str, Any]) -> bool:
    """Checks whether a figure rests on rulings on rewordings. A whole row does if one of its figures does."""
    if column is None:
        return row.get("n_variants_same_meaning") is not None or row.get("asks_the_same") is not None
    is_own = column in ("asks_the_same", "meaning_reason") or "same_meaning" in column
    return is_own or row.get("scope") == "inter_same_meaning"


def _of_asks(mart: str, row: Mapping[str, Any]) -> list[str]:
    # which wordings and repetitions, where model, task, strategy and variant do not say it
    if mart == "fct_prompt_stability":
        return _of_series(row)
    if mart in ("rpt_stability_by_share", "rpt_stability_summaries"):  # over wordings they rest on all temperatures
        return [] if row["scope"] == "inter" else ["is_original"]
    if mart == "rpt_distinct_answers":
        is_of_originals = row["repetition"] is not None
        return ["is_original"] if is_of_originals else ["not is_original", "paraphrase_temperature = $temperature"]
    return []


def _of_series(row: Mapping[str, Any]) -> list[str]:
    # Annotators are asks of the original, wordings at one temperature, or models. All of them count, since some series
    # are cut to the fewest.
    if row["scope"] == "intra":
        return ["is_original"]
    if row["scope"] == "inter_model":
        return ["is_original", "repetition = 1"]
    same = [SAME_MEANING] if row["scope"] == "inter_same_meaning" else []
    if row["paraphrase_temperature"] is None:
        return [*same, "paraphrase_temperature is null"]
    return [*same, "(paraphrase_temperature = $temperature or (is_original and paraphrase_temperature is null))"]
