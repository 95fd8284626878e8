"""Offers the measures as plain functions on arrays or frames, the very ones that derive the warehouse's marts.

Answers come in one of two forms. One is a table with one row for each sample and one column for each wording,
repetition or person. The other is a frame with one row for each answer and the columns `sample_id`, `variant_index` and
`label`, in which a wording may have answered a sample more than once. A label of None stands for an answer that could
not be read (N/A): in sensitivity and consistency it is a class of its own, and in alpha it is missing. Undefined
figures are NaN. Numbers in a result are floats within the bounds that its fields state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from promptaudit.python.answers import ANNOTATOR, GOLD, LABEL, SAMPLE, codes, frame, one_row_an_answer, shares
from promptaudit.registry.errors import DataError
from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures import consistency as consistencies
from promptaudit.udfs.measures.entropy import normalised_entropy
from promptaudit.udfs.measures.sensitivity import sensitivity_interval
from promptaudit.udfs.stability.krippendorff import LEVELS
from promptaudit.udfs.stability.prompt_stability import StabilityRow
from promptaudit.udfs.stability.prompt_stability import prompt_stability as stability_rows
from promptaudit.udfs.stability.ratings import annotations_of
from promptaudit.udfs.templates import rankings
from promptaudit.udfs.templates import spread as spreads
from promptaudit.udfs.templates.rankings import RankingConsistency
from promptaudit.udfs.templates.spread import Spread

__all__ = [
    "Alpha",
    "ConsistencyResult",
    "RankingConsistency",
    "SensitivityResult",
    "Spread",
    "consistency",
    "krippendorff_alpha",
    "prompt_stability",
    "ranking_consistency",
    "sensitivity",
    "spread",
]

Level = Literal["nominal", "ordinal", "interval"]
Table = Any
"""A polars frame, anything with the Arrow interface, a 2-D numpy array or a list of rows."""


@dataclass(frozen=True, kw_only=True)
class SensitivityResult:
    """Sensitivity of a model to the wording.

    Attributes:
        sensitivity: mean over samples of the normalised entropy of p_tau, in [0, 1].
        sensitivity_low: lower end of its 95 % interval: what as many wordings show on other samples and other wordings.
        sensitivity_high: its upper end.
        sensitivity_std: its standard deviation over samples, ddof 0.
        sensitivity_corrected: mean without most of the downward bias of few wordings, at most 1; NaN below eight wordings.
        sensitivity_corrected_low: lower end of its 95 % interval for other samples and endless wordings.
        sensitivity_corrected_high: its upper end.
        by_sample: columns `sample_id` and `sensitivity`, in the order of the samples.
    """

    sensitivity: float
    sensitivity_low: float
    sensitivity_high: float
    sensitivity_std: float
    sensitivity_corrected: float
    sensitivity_corrected_low: float
    sensitivity_corrected_high: float
    by_sample: pl.DataFrame


@dataclass(frozen=True, kw_only=True)
class ConsistencyResult:
    """Consistency of the answers to samples of one gold class.

    Attributes:
        consistency: 1 - mean total variation distance over all ordered pairs of samples of a class, pooled over the
            classes, in [0, 1]; `consistency_distinct` leaves out pairs of a sample with itself.
        consistency_std: standard deviation of 1 - TVD over the ordered pairs, ddof 0.
        consistency_low: lower end of its 95 % interval for other samples of each class under these wordings; NaN where every
            class has fewer than 20 samples.
        consistency_high: its upper end.
        by_class: columns `gold_label`, `n_samples`, `consistency`, `consistency_distinct`.
    """

    consistency: float
    consistency_distinct: float
    consistency_std: float
    consistency_low: float
    consistency_high: float
    by_class: pl.DataFrame


class Alpha(NamedTuple):
    """Krippendorff's alpha with its 95 % jackknife interval over units; NaN where undefined."""

    alpha: float
    low: float
    high: float
    n_units: int
    n_values: int


def sensitivity(answers: Table, *, labels: Sequence[Any] | None = None) -> SensitivityResult:
    """Computes how sensitive answers are to the wording.

    Args:
        answers: one column a wording, as the module says.
        labels: the label set of the task, without N/A. The default is the labels that occur, and gives a higher figure where
            the task has more labels.

    Raises:
        DataError: no table, no answer, or a label that is not in the set.

    Source:
        Errica et al. 2025; the jackknife of Quenouille for the corrected figure.
    """
    rows = one_row_an_answer(answers)
    label = codes(rows[LABEL], labels)
    n_labels = int(label.max(initial=-1)) + 1 if labels is None else len(labels)
    of_wordings = shares(rows, label, n_labels)
    p_tau = (
        of_wordings.with_columns(n=pl.col("annotator").n_unique().over("sample"))
        .group_by("sample", "label")
        .agg(p=pl.col("p").sum() / pl.col("n").first())
        .sort("sample", "label")
    )
    n_classes = n_labels + 1  # N/A is one
    per_sample = p_tau.group_by("sample", maintain_order=True).len()
    offsets = np.append(0, np.cumsum(per_sample["len"].to_numpy(), dtype=np.int64))
    entropy = normalised_entropy(p_tau["p"].to_numpy(), offsets, np.full(len(per_sample), n_classes))
    wordings = of_wordings.group_by("sample").agg(n=pl.col("annotator").n_unique()).sort("sample")["n"].to_numpy()
    entropy[wordings < 2] = np.nan  # noqa: PLR2004 - one wording shows nothing
    interval = sensitivity_interval(
        of_wordings["sample"].to_numpy(),
        of_wordings["annotator"].to_numpy(),
        None,
        of_wordings["label"].to_numpy(),
        of_wordings["p"].to_numpy(),
        n_classes,
    )
    defined = entropy[~np.isnan(entropy)]
    return SensitivityResult(
        sensitivity=float(defined.mean()) if len(defined) else np.nan,
        sensitivity_low=interval.low,
        sensitivity_high=interval.high,
        sensitivity_std=float(defined.std()) if len(defined) else np.nan,
        sensitivity_corrected=interval.corrected,
        sensitivity_corrected_low=interval.corrected_low,
        sensitivity_corrected_high=interval.corrected_high,
        by_sample=pl.DataFrame({SAMPLE: rows[SAMPLE].unique().sort(), "sensitivity": entropy}, strict=False),
    )


def consistency(
    answers: Table, gold: Sequence[Any] | None = None, *, n_resamples: int = 1000, seed: int = 20250601
) -> ConsistencyResult:
    """Computes how alike the answers to samples of one gold class are.

    Args:
        answers: one column a wording, as the module says.
        gold: the gold label of each row of the table, or of each sample in the order in which they come; default: the
            column `gold_label` of a frame with one row an answer.
        n_resamples: of the bootstrap; 0 leaves the bounds undefined.
        seed: of the bootstrap.

    Raises:
        DataError: no table, no answer, no gold labels, or not one for each sample.

    Source:
        Errica et al. 2025.
    """
    rows = _with_gold(answers, gold)
    label = codes(rows[LABEL])
    of_wordings = shares(rows, label, int(label.max(initial=-1)) + 1)
    golds = rows[GOLD].drop_nulls().unique().sort().to_list()
    of_sample = (
        pl.DataFrame({"sample": codes(rows[SAMPLE]), "gold": codes(rows[GOLD], golds)})
        .filter(pl.col("gold") >= 0)
        .unique()
    )
    p_tau = (
        of_wordings.with_columns(n=pl.col("annotator").n_unique().over("sample"))
        .group_by("sample", "label")
        .agg(p=pl.col("p").sum() / pl.col("n").first())
        .join(of_sample, on="sample")
        .sort("gold", "sample", "label")
    )
    pooled = _consistency(p_tau, seed, n_resamples)
    by_class = [_consistency(p_tau.filter(gold=number), seed, 0) for number in range(len(golds))]
    return ConsistencyResult(
        consistency=pooled.consistency,
        consistency_distinct=pooled.consistency_distinct,
        consistency_std=pooled.consistency_std,
        consistency_low=pooled.low,
        consistency_high=pooled.high,
        by_class=pl.DataFrame(
            {
                GOLD: golds,
                "n_samples": [of_sample.filter(gold=number).height for number in range(len(golds))],
                "consistency": [each.consistency for each in by_class],
                "consistency_distinct": [each.consistency_distinct for each in by_class],
            },
            strict=False,
        ),
    )


def krippendorff_alpha(ratings: Table, *, level: Level = "nominal") -> Alpha:
    """Computes Krippendorff's alpha of a table of ratings.

    Args:
        ratings: one row a unit and one column an annotator, or a frame with one row a rating; None is a missing value, and
            units with fewer than two values do not count.
        level: nominal; ordinal or interval, whose values are numbers.

    Returns:
        In (-1, 1]; 1 without any variation, NaN where nothing can be paired.

    Raises:
        DataError: no table, an unknown level, or values that are no numbers where numbers are wanted.

    Source:
        Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
    """
    rows = _stability(ratings, level, is_balanced=False, seed=0, n_resamples=0, is_all_alone=True)
    if not rows:  # of one annotator
        return Alpha(np.nan, np.nan, np.nan, 0, 0)
    (row,) = rows
    return Alpha(row.pss, row.pss_low, row.pss_high, row.n_samples, row.n_annotations)


def prompt_stability(
    answers: Table,
    *,
    level: Level = "nominal",
    is_balanced: bool = False,
    n_resamples: int = 1000,
    seed: int = 20250601,
) -> pl.DataFrame:
    """Computes the Prompt Stability Score: alpha over the first k annotators, over neighbouring ones, and over all.

    Args:
        answers: one column an annotator, in their order: the repetitions of one prompt, or its wordings at one temperature.
        level: measurement level of the labels.
        is_balanced: cut every annotator to the smallest number of labels first, by a seeded draw.
        n_resamples: of the bootstrap intervals; 0 leaves them undefined.
        seed: of the draws.

    Returns:
        One row for each series and number of annotators. The columns are the fields of
        `udfs.stability.prompt_stability.StabilityRow`, which says what each interval is. No row below two annotators.

    Raises:
        DataError: as in `krippendorff_alpha`.

    Source:
        Barrie et al. 2025.
    """
    rows = _stability(answers, level, is_balanced=is_balanced, seed=seed, n_resamples=n_resamples, is_all_alone=False)
    names = StabilityRow.__dataclass_fields__
    return pl.DataFrame({name: [getattr(row, name) for row in rows] for name in names}, strict=False)


def spread(scores: Table, *, n_resamples: int = 1000, seed: int = 20250601) -> Spread:
    """Computes how far accuracy varies over prompt templates.

    Args:
        scores: one row a question and one column a template; the share of its answers that are right, True or False, or
            None where there is none.
        n_resamples: of the bootstrap; 0 leaves the bounds undefined.
        seed: of the bootstrap.

    Raises:
        DataError: no table, or values that are no numbers.

    Source:
        Hua et al. 2025 for the standard deviation over templates.
    """
    table = _numbers(scores, "scores")
    sample, variant = np.nonzero(~np.isnan(table))
    return spreads.spread(_dense(sample), _dense(variant), table[sample, variant], seed, n_resamples)


def ranking_consistency(accuracies: Table) -> RankingConsistency:
    """Computes the mean Spearman correlation of the models' accuracies over all pairs of templates.

    Args:
        accuracies: one row a model and one column a template.

    Raises:
        DataError: no table, or values that are no numbers.

    Source:
        Hua et al. 2025.
    """
    table = _numbers(accuracies, "accuracies")
    model, variant = np.nonzero(~np.isnan(table))
    return rankings.ranking_consistency(variant, model, table[model, variant])


def _with_gold(answers: Table, gold: Sequence[Any] | None) -> pl.DataFrame:
    rows = one_row_an_answer(answers)
    if gold is None:
        if GOLD not in rows.columns:
            msg = f"no gold labels: a column '{GOLD}' of the frame, or `gold`, is wanted"
            raise DataError(msg)
        return rows
    samples = rows[SAMPLE].unique(maintain_order=True)
    if GOLD in rows.columns or len(samples) != len(gold):
        msg = f"gold: {len(gold)} labels for {len(samples)} samples; one for each row of a table is wanted"
        raise DataError(msg)
    return rows.join(pl.DataFrame({SAMPLE: samples, GOLD: list(gold)}, strict=False), on=SAMPLE, maintain_order="left")


def _consistency(p_tau: pl.DataFrame, seed: int, n_resamples: int) -> consistencies.Consistency:
    gold, sample, label = (_dense(p_tau[name].to_numpy()) for name in ("gold", "sample", "label"))
    return consistencies.consistency(gold, sample, label, p_tau["p"].to_numpy(), seed, n_resamples)


def _stability(
    ratings: Table, level: Level, *, is_balanced: bool, seed: int, n_resamples: int, is_all_alone: bool
) -> list[StabilityRow]:
    if level not in LEVELS:
        msg = f"level {level!r}: one of {', '.join(LEVELS)} is wanted"
        raise DataError(msg)
    rows = one_row_an_answer(ratings)
    values, numbers = rows[LABEL], np.zeros(rows[LABEL].n_unique())
    if level != "nominal":
        values = _as_numbers(values)
        numbers = values.drop_nulls().unique().sort().to_numpy()
    replicate = rows.select(pl.int_range(pl.len()).over(SAMPLE, ANNOTATOR)).to_series().to_numpy()
    return stability_rows(
        annotations_of(codes(rows[SAMPLE]), codes(rows[ANNOTATOR]), replicate, codes(values)),
        numbers,
        level,
        is_balanced=is_balanced,
        seed=seed,
        n_resamples=n_resamples,
        is_all_alone=is_all_alone,
    )


def _numbers(data: Table, what: str) -> NDArray[np.float64]:
    given = frame(data)
    columns = [_as_numbers(given[name].alias(what)).to_numpy() for name in given.columns]
    if not columns or given.is_empty():
        msg = f"{what}: there is no value"
        raise DataError(msg)
    return np.column_stack(columns).astype(np.float64)


def _as_numbers(column: pl.Series) -> pl.Series:
    try:
        numbers = column.cast(pl.Float64)
    except pl.exceptions.PolarsError:
        wrong = next(value for value in column.drop_nulls().to_list() if not _is_number(value))
        msg = f"{column.name} {wrong!r} is no number"
        raise DataError(msg) from None
    return numbers.fill_nan(None)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _dense(codes_of_any: NDArray[np.int64]) -> NDArray[np.int64]:
    return dense_codes(np.asarray(codes_of_any, np.int64))[0]
