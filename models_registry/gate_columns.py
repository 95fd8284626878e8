"""The columns a gate's rules may name: a static table, since the registry knows no dbt; a test holds it against the marts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Range = tuple[float | None, float | None]
"""The least and the most that a limit on a figure may be; None is no end."""

SHARE: Range = (0, 1)
AROUND: Range = (-1, 1)  # corrected figures are not clipped at 0; agreements and correlations go below it
ABOVE: Range = (0, None)
ANY: Range = (None, None)

ENDS = ("_low", "_high")
TEMPERATURE = "paraphrase_temperature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What rules may name of one mart: `keys` are texts that tell rows apart, `flags` are true or false."""

    table: str
    keys: tuple[str, ...]
    figures: Mapping[str, Range]
    flags: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # of the mart's contract: ids of what the rule is asked of, and notes
    temperatures: tuple[str, ...] = ()  # a number that tells rows apart

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that a condition may name."""
        return (*self.keys, *self.temperatures, *self.flags, *self.figures)

    def interval_of(self, figure: str) -> tuple[str, str, str] | None:
        """The column of the estimate that an interval belongs to, and of both ends; None for what has no interval."""
        measure = figure
        for end in ENDS:
            if figure.endswith(end):
                measure = figure.removesuffix(end)
        if measure + ENDS[0] not in self.figures:
            return None
        return INTERVAL_OF.get(measure, measure), measure + ENDS[0], measure + ENDS[1]


INTERVAL_OF = {  # columns whose interval is another figure's
    "sensitivity": "sensitivity_corrected",
    "pss_boot": "pss",
    "pss_cell": "pss",
    "pss_wordings": "pss",
}


def _with_ends(names: Iterable[str], limits: Range) -> dict[str, Range]:
    return {name + end: limits for name in names for end in ("", *ENDS)}


_SPREADS: dict[str, Range] = {
    f"{accuracy}_{figure}": SHARE
    for accuracy in ("accuracy", "accuracy_scored")
    for figure in ("mean", "std", "std_sample", "range", *_with_ends(["std_corrected"], SHARE))
}
_RUN = ("audit_run_id", "measure_version")

TABLES: tuple[Columns, ...] = (  # a rule reads the first that has all it names
    Columns(
        table="rpt_audit",
        keys=("model_id", "task_id", "strategy"),
        figures={
            **dict.fromkeys(("n_samples", "n_variants", "n_variants_quarantined", "n_repetitions", "n_planned"), ABOVE),
            **dict.fromkeys(("n_landed", "n_valid", "n_error", "cost_usd"), ABOVE),
            **_with_ends(["sensitivity_corrected", "wording_share", "noise_share", "item_share"], AROUND),
            **_with_ends(["pss_intra", "pss_inter"], AROUND),
            **_with_ends(["consistency", "micro_f1", "invalid_rate"], SHARE),
            **dict.fromkeys(("sensitivity", "sensitivity_std", "sensitivity_valid"), SHARE),
            **dict.fromkeys(("sensitivity_low", "sensitivity_high"), AROUND),
            **dict.fromkeys(("consistency_std", "micro_f1_std"), SHARE),
        },
        left_out=(*_RUN, "audit_id"),
    ),
    Columns(
        table="fct_prompt_stability",
        keys=("model_id", "task_id", "strategy", "scope", "series", "annotation_filter"),
        figures={
            **_with_ends(["pss"], AROUND),
            **dict.fromkeys((f"pss_{how}{end}" for how in ("boot", "cell", "wordings") for end in ENDS), AROUND),
            **dict.fromkeys(("n_annotators", "n_samples", "n_annotations", "n_distinct_wordings"), ABOVE),
        },
        flags=("is_degenerate",),
        left_out=_RUN,
        temperatures=(TEMPERATURE,),
    ),
    Columns(
        table="fct_scoring_sensitivity",
        keys=("model_id", "task_id", "scoring_method"),
        figures={
            **_SPREADS,
            **dict.fromkeys(("n_samples_accuracy_corrected", "n_samples_accuracy_scored_corrected"), ABOVE),
            **dict.fromkeys(("n_variants", "n_samples", "n_samples_scored_everywhere"), ABOVE),
            "fleiss_kappa": AROUND,
            "perfect_agreement_rate": SHARE,
        },
        left_out=_RUN,
    ),
    Columns(
        table="fct_ranking_consistency",
        keys=("task_id", "scoring_method", "model_set"),
        figures={
            **dict.fromkeys(("mean_spearman", "mean_spearman_textbook", "mean_spearman_scored"), AROUND),
            **dict.fromkeys(("n_pairs", "n_undefined_pairs", "n_models", "n_variants", "n_pairs_scored"), ABOVE),
        },
        flags=("is_of_few_models",),
        left_out=_RUN,
    ),
    Columns(
        table="fct_judge_agreement",
        keys=("task_id", "raters", "kind"),
        figures={
            **dict.fromkeys(("cohen_kappa", "fleiss_kappa"), AROUND),
            **dict.fromkeys(("agreement_rate", "perfect_agreement_rate"), SHARE),
            **dict.fromkeys(("n_raters", "n_rated"), ABOVE),
        },
        left_out=_RUN,
    ),
)

COMPARISONS = Columns(
    table="rpt_run_comparisons",
    keys=("model_id", "task_id", "strategy", "cause", "noise_source"),
    figures={
        **dict.fromkeys(("base", "candidate", "difference", "difference_low", "difference_high"), ANY),
        **dict.fromkeys(("p_value", "p_value_samples", "p_value_variants", "q_value", "noise_floor"), SHARE),
        **dict.fromkeys(("min_effect", "detectable_difference", "n_samples", "n_variants", "n_repetitions"), ABOVE),
    },
    left_out=(
        "comparison_id", "base_run_id", "candidate_run_id", "audit_id", "base_model_id", "measure", "verdict", "reason",
        "measure_version",
    ),
)  # fmt: skip

# rpt_audit's names over fct_prompt_stability, once a condition names what only that table has
SCOPES = ("inter_model", "inter", "intra")  # the longer name first: one begins with the other
USUAL = {"series": "all", "annotation_filter": "valid"}  # what rpt_audit shows
KNOWN_VALUES = {
    "scope": ("intra", "inter", "inter_model"),
    "series": ("cumulative", "adjacent", "all"),
    "annotation_filter": ("verbatim", "valid", "valid_balanced"),
}
COUNTED = "label_churn"
MEASURES = (
    "sensitivity", "consistency", "micro_f1", "pss_intra", "pss_inter", "invalid_rate", COUNTED, "accuracy", "accuracy_std",
    "cost_usd", "latency_ms",
)  # fmt: skip
BY_METHOD = ("accuracy", "accuracy_std")  # a measure each by scoring method: accuracy:label_match
