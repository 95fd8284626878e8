"""Measures prompt stability (PSS): Krippendorff's alpha over growing and neighbouring annotators, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import WholeNumbers
from promptaudit.udfs.resampling import (
    MIN_UNITS,
    UNDEFINED,
    Interval,
    generator,
    mean_defined,
    n_effective,
    percentile_interval,
    t_quantile,
)
from promptaudit.udfs.stability.cells import variance_of_cells
from promptaudit.udfs.stability.krippendorff import LEVELS, Level
from promptaudit.udfs.stability.leave_one_out import SeriesTable, series_table
from promptaudit.udfs.stability.nominal_series import alphas_without_each, series_alphas
from promptaudit.udfs.stability.ratings import (
    MISSING,
    Annotations,
    Ratings,
    Series,
    cumulative_and_adjacent,
    is_shown,
    ratings_by_replicate,
    unit_counts,
    unit_counts_of_all,
    without_each_annotator,
)
from promptaudit.udfs.stability.replicates import counted_replicates
from promptaudit.udfs.stability.resamples import bootstrap_alphas, cell_alphas

__all__ = ["MISSING", "PseudoValues", "StabilityRow", "alpha_pseudo_values", "prompt_stability"]

FEW_DISAGREEING = 5
"""With fewer units with any disagreement, a jackknife has too little data to bound alpha from above."""

NORMAL_QUANTILE = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""

_CUT = 4  # purpose of the generator


@dataclass(frozen=True)
class StabilityRow:
    """One figure of prompt stability; NaN where undefined."""

    series: str
    n_annotators: int
    pss: float
    pss_low: float
    pss_high: float
    pss_boot_low: float
    pss_boot_high: float
    pss_cell_low: float
    pss_cell_high: float
    pss_z_low: float
    pss_z_high: float
    pss_wordings_low: float
    pss_wordings_high: float
    is_degenerate: bool | None
    n_samples: int
    n_annotations: int


def prompt_stability(
    annotations: Annotations,
    numbers: NDArray[np.float64],
    level: Level,
    *,
    is_balanced: bool,
    seed: int,
    n_resamples: int,
    is_all_alone: bool = False,
) -> list[StabilityRow]:
    """Computes every figure of prompt stability of one group: cumulative, adjacent, and all annotators together.

    Args:
        annotations: of the group, as `ratings.annotations_of` makes them. Annotators join in ascending order. A family
            is left out as one where annotators are wordings. Several replicates give one alpha each. Of those that
            every annotator has an entry of, the mean over the ones that count (`replicates.counted_replicates`) is
            published. Which count is decided on the whole data, series by series: the intervals average over the same
            ones.
        numbers: shape (n_labels,), the labels as numbers, ascending at ordinal level (where order alone counts) and at
            interval level; any at nominal.
        level: nominal, ordinal or interval.
        is_balanced: cut every annotator to the smallest number of labels first, by a seeded draw.
        seed: of all draws.
        n_resamples: B; 0 leaves the bootstrap intervals undefined.
        is_all_alone: give the row `all` alone, with the jackknife over samples as its only interval; a fraction of the
            time.

    Returns:
        `cumulative` for k = 2..K, `adjacent` for k = 2..K, then `all`; empty for K < 2, and where no
        replicate has all annotators. `pss` in (-1, 1]: 1 and
        degenerate without any variation, NaN with nothing pairable (`is_degenerate` None).
        `pss_low`, `pss_high`: jackknife-t over samples on ln(1 - alpha). `low` is the smaller of this bound and the
        same with one unit added, split evenly between the two commonest labels, so that unanimous data do not look
        certain; it is not below -1, where no alpha lies. `high` is 1 with fewer than five disagreeing units.
        `pss_boot_*`: percentiles over B resamples of samples. `pss_cell_*`: the interval of the published package, for
        `all` and at most 300,000 labels. `pss_z_*`: `normal_interval` of `cumulative` and `all`. `pss_wordings_*`:
        samples and annotators together, for `all` and three families or more; where each sample has some of the
        annotators, the part in both jackknives (`cells.variance_of_cells`) counts once.
        `n_samples`: units pairable in any replicate that counts; `n_annotations`: their labels over these replicates.

    Raises:
        ValueError: an unknown level.

    Source:
        Barrie et al. 2025 (PSS), Krippendorff (alpha).
    """
    if level not in LEVELS:
        message = f"level must be one of {', '.join(LEVELS)}, got {level!r}"
        raise ValueError(message)
    cut_rng = generator(seed, _CUT) if is_balanced else None
    replicates = ratings_by_replicate(annotations, numbers, level, cut_rng)
    if not replicates or len(replicates[0].codes) < 2:
        return []
    if is_all_alone:
        return [_row("all", len(replicates[0].codes), _jackknife_of_all(replicates), UNDEFINED)]
    all_series = cumulative_and_adjacent(len(replicates[0].codes))
    shown = is_shown(len(replicates[0].codes))
    has_units = replicates[0].codes.shape[1] > 0
    jackknives = dict(_jackknives(replicates, all_series, np.flatnonzero(shown).tolist()))
    resampled = np.full((len(all_series), n_resamples), np.nan)
    if has_units and n_resamples > 0:
        is_counted = np.zeros((len(replicates), len(all_series)), np.bool_)
        for index, jackknife in jackknives.items():
            is_counted[:, index] = jackknife.is_counted
        resampled = bootstrap_alphas(replicates, seed, n_resamples, is_counted)
    boot = percentile_interval(resampled)

    rows = []
    for index, jackknife in jackknives.items():
        series = all_series[index]
        published = UNDEFINED
        if series.name == "cumulative":
            published = normal_interval(jackknife.alpha, resampled[index], series.stop)
        rows.append(_row(series.name, series.stop, jackknife, Interval(*boot[index].tolist()), published=published))
    last = len(all_series) // 2 - 1
    everyone = jackknives[last]
    counted = [ratings for ratings, is_one in zip(replicates, everyone.is_counted, strict=True) if is_one]
    cells = wordings = UNDEFINED
    if counted and n_resamples > 0:
        cells = Interval(*percentile_interval(cell_alphas(counted, seed, n_resamples)).tolist())
    families = annotations.families
    if counted and families.max() + 1 >= MIN_UNITS:
        of_families = family_alphas(counted, families)
        wordings = everyone.interval(of_families, n_effective(families), variance_of_cells(counted, families))
    boot_all = Interval(*boot[last].tolist())
    published = normal_interval(everyone.alpha, resampled[last], all_series[last].stop)
    rows.append(_row("all", len(replicates[0].codes), everyone, boot_all, cells, published, wordings))
    return rows


def _jackknives(
    replicates: Sequence[Ratings], all_series: Sequence[Series], shown: Sequence[int]
) -> Iterator[tuple[int, UnitJackknife]]:
    # only the series that are shown, by their position
    counts = [unit_counts(ratings.codes) for ratings in replicates]
    numbers, level = replicates[0].numbers, replicates[0].level
    at_once = series_alphas(replicates, counts) if level == "nominal" else None
    if at_once is not None:
        columns = [getattr(at_once, field.name).tolist() for field in fields(at_once)]
        for index, row in enumerate(zip(*columns, strict=True)):
            yield index, UnitJackknife(*row)
        return
    is_disagreeing = np.stack([n.squares < n.n_values**2 for n in counts])
    for index in shown:
        series = all_series[index]
        tables = [
            series_table(ratings.codes[series.start : series.stop], n.n_values[index], n.squares[index], numbers, level)
            for ratings, n in zip(replicates, counts, strict=True)
        ]
        yield index, unit_jackknife(tables, is_disagreeing[:, index])


def _jackknife_of_all(replicates: Sequence[Ratings]) -> UnitJackknife:
    counts = [unit_counts_of_all(ratings.codes) for ratings in replicates]
    return unit_jackknife(_tables_of_all(replicates), np.stack([n.squares < n.n_values**2 for n in counts]))


def _tables_of_all(replicates: Sequence[Ratings]) -> list[SeriesTable]:
    tables: list[SeriesTable] = []
    for ratings in replicates:
        n = unit_counts_of_all(ratings.codes)
        tables.append(series_table(ratings.codes, n.n_values, n.squares, ratings.numbers, ratings.level))
    return tables


class PseudoValues(NamedTuple):
    """What each sample adds to alpha; shape (n_samples,) each."""

    sample: NDArray[np.int64]
    value: NDArray[np.float64]


def alpha_pseudo_values(annotations: Annotations, numbers: NDArray[np.float64], level: Level) -> PseudoValues:
    """Computes the jackknife pseudo-values n alpha - (n - 1) alpha(-i) of samples, for the alpha of `prompt_stability`.

    Takes the arguments of `prompt_stability`. n are the samples that are pairable in a replicate that counts; others
    have no value, and none has one where alpha is undefined or from a single sample. Without any variation each is 1,
    as alpha is.
    """
    return alpha_with_pseudo_values(annotations, numbers, level)[1]


def alpha_with_pseudo_values(
    annotations: Annotations, numbers: NDArray[np.float64], level: Level
) -> tuple[float, PseudoValues]:
    """Computes alpha, NaN where undefined, and its `alpha_pseudo_values`."""
    nothing = np.nan, PseudoValues(np.empty(0, np.int64), np.empty(0))
    replicates = ratings_by_replicate(annotations, numbers, level, None)
    if not replicates or len(replicates[0].codes) < 2:
        return nothing
    tables = _tables_of_all(replicates)
    is_degenerate = np.array([np.count_nonzero(table.label_counts) == 1 for table in tables])
    is_counted = counted_replicates(np.array([np.count_nonzero(table.n_values) for table in tables]), is_degenerate)
    kept = [table for table, is_one in zip(tables, is_counted, strict=True) if is_one]
    if not kept:
        return nothing
    is_unit = np.logical_or.reduce([table.n_values > 0 for table in kept])
    n, whole = int(is_unit.sum()), float(np.mean([table.alpha() for table in kept]))
    if n < 2 or np.isnan(whole):
        return nothing
    values = n * whole - (n - 1) * _mean_left_out(kept)[is_unit]
    return whole, PseudoValues(replicates[0].units[is_unit], values)


def _row(
    series: str,
    n_annotators: int,
    jackknife: UnitJackknife,
    boot: Interval,
    cells: Interval = UNDEFINED,
    published: Interval = UNDEFINED,
    wordings: Interval = UNDEFINED,
) -> StabilityRow:
    interval = jackknife.interval()
    is_defined = not np.isnan(jackknife.alpha)
    return StabilityRow(
        series=series,
        n_annotators=n_annotators,
        pss=jackknife.alpha,
        pss_low=interval.low,
        pss_high=interval.high,
        pss_boot_low=boot.low,
        pss_boot_high=boot.high,
        pss_cell_low=cells.low if is_defined else np.nan,
        pss_cell_high=cells.high if is_defined else np.nan,
        pss_z_low=published.low if is_defined else np.nan,
        pss_z_high=published.high if is_defined else np.nan,
        pss_wordings_low=wordings.low,
        pss_wordings_high=wordings.high,
        is_degenerate=jackknife.is_degenerate if is_defined else None,
        n_samples=jackknife.n_units,
        n_annotations=jackknife.n_annotations,
    )


def normal_interval(alpha: float, resampled: NDArray[np.float64], k: int) -> Interval:
    """Computes alpha of the first k repetitions -+ 1.96 sigma / sqrt(k), only for comparison with published figures.

    Args:
        alpha: of k annotators.
        resampled: shape (n_resamples,), the same over resamples of samples; their standard deviation, ddof 1, is sigma.
        k: the number of annotators.

    Returns:
        An interval that closes in on alpha as k grows, whatever the samples: sigma already is the spread of alpha. NaN
        below two defined resamples.

    Source:
        Barrie et al. 2025, appendix A; resamples of samples, where the published package draws cells.
    """
    alphas = resampled[~np.isnan(resampled)]
    if len(alphas) < 2:
        return UNDEFINED
    half = NORMAL_QUANTILE * float(alphas.std(ddof=1)) / np.sqrt(k)
    return Interval(float(alpha - half), float(alpha + half))


def family_alphas(replicates: Sequence[Ratings], families: WholeNumbers) -> NDArray[np.float64]:
    """Computes mean alpha over replicates without each family of annotators, shape (n_families,); NaN where undefined.

    Args:
        replicates: over the same annotators.
        families: shape (n_annotators,), dense codes.
    """
    if families.max() + 1 == len(families):
        return mean_defined(np.array([_without_each(ratings) for ratings in replicates]))[np.argsort(families)]
    left = [families != each for each in range(int(families.max()) + 1)]
    return mean_defined(np.array([[_alpha_of(ratings, others) for others in left] for ratings in replicates]))


def _alpha_of(ratings: Ratings, is_in: NDArray[np.bool_]) -> float:
    codes = ratings.codes[is_in]
    counts = unit_counts_of_all(codes)
    return series_table(codes, counts.n_values, counts.squares, ratings.numbers, ratings.level).alpha()


def _without_each(ratings: Ratings) -> NDArray[np.float64]:
    at_once = alphas_without_each(ratings) if ratings.level == "nominal" else None
    if at_once is not None:
        return at_once
    tables = (
        series_table(codes, n.n_values, n.squares, ratings.numbers, ratings.level)
        for codes, n in without_each_annotator(ratings.codes)
    )
    return np.array([table.alpha() for table in tables])


def _jackknife_variance(left_out: NDArray[np.float64]) -> float:
    # (n - 1)/n times the sum of squared deviations of n leave-one-out figures
    return float((len(left_out) - 1) * left_out.var())


@dataclass(frozen=True)
class UnitJackknife:
    """The alpha of one series, averaged over the replicates that count, with its jackknife over units."""

    alpha: float
    variance: float
    grown_alpha: float
    grown_variance: float
    n_units: int
    n_annotations: int
    is_degenerate: bool
    n_disagreeing: int
    is_counted: Sequence[bool]

    def interval(
        self, without_each: NDArray[np.float64] | None = None, n_families: float = np.inf, of_cells: float = 0.0
    ) -> Interval:
        """Computes bounds for other samples; with the alphas without each family also for other annotators.

        `n_families` is the number of families of equal size with as much information, `of_cells` the variance in both
        jackknives.
        """
        if np.isnan(self.alpha):
            return UNDEFINED
        added = 0.0
        if without_each is not None:
            if np.isnan(without_each).any():
                return UNDEFINED
            added = max(0.0, _jackknife_variance(without_each) - of_cells)
        plain = log_interval(self.alpha, self.variance + added, min(self.n_units, n_families) - 1)
        grown = log_interval(self.grown_alpha, self.grown_variance + added, min(self.n_units + 1, n_families) - 1)
        high = 1.0 if self.n_disagreeing < FEW_DISAGREEING else plain.high
        low = np.minimum(np.fmin(plain.low, grown.low), self.alpha)  # the added unit may agree more than a single one
        return Interval(max(-1.0, float(low)), high)


def unit_jackknife(tables: Sequence[SeriesTable], is_disagreeing: NDArray[np.bool_]) -> UnitJackknife:
    """Computes the jackknife over units of a series.

    Args:
        tables: of each replicate, over the same units.
        is_disagreeing: shape (n_replicates, n_units), which units have more than one label in the replicate.
    """
    is_degenerate = np.array([np.count_nonzero(table.label_counts) == 1 for table in tables])
    is_counted = counted_replicates(np.array([np.count_nonzero(table.n_values) for table in tables]), is_degenerate)
    kept = [table for table, is_one in zip(tables, is_counted, strict=True) if is_one]
    is_unit = np.logical_or.reduce([table.n_values > 0 for table in kept or tables])
    alpha = variance = grown_alpha = grown_variance = np.nan
    if kept:
        alpha = float(np.mean([table.alpha() for table in kept]))
        variance = _jackknife_variance(_mean_left_out(kept)[is_unit])
        grown = [table.with_unit(typical_split(table)) for table in kept]
        grown_alpha = float(np.mean([table.alpha() for table in grown]))
        grown_variance = _jackknife_variance(np.append(_mean_left_out(grown)[is_unit], alpha))
    return UnitJackknife(
        alpha=alpha,
        variance=variance,
        grown_alpha=grown_alpha,
        grown_variance=grown_variance,
        n_units=int(is_unit.sum()),
        n_annotations=int(sum(table.n_values.sum() for table in kept)),
        is_degenerate=bool(is_degenerate[is_counted].all()),
        n_disagreeing=int(is_disagreeing[is_counted].any(axis=0).sum()),
        is_counted=is_counted.tolist(),
    )


def log_interval(alpha: float, variance: float, degrees_of_freedom: float) -> Interval:
    """Computes 1 - (1 - alpha) exp(-+ t se / (1 - alpha)), a t interval on ln(1 - alpha).

    NaN at alpha 1 and with less than 1 degree of freedom.
    """
    if alpha >= 1 or np.isnan(variance) or degrees_of_freedom < 1:
        return UNDEFINED
    exponent = t_quantile(degrees_of_freedom) * np.sqrt(variance) / (1 - alpha)
    # beyond e^50 the bound is past -1 anyway
    return Interval(float(1 - (1 - alpha) * np.exp(min(exponent, 50.0))), float(1 - (1 - alpha) * np.exp(-exponent)))


def typical_split(table: SeriesTable) -> NDArray[np.float64]:
    """Counts the labels of a unit of median size split evenly between the series' two commonest labels.

    An odd value goes to the commoner. Where only one label occurs the other half goes to a phantom label.
    """
    counts = table.label_counts
    n_values = table.n_values[table.n_values > 0]
    size = max(2, int(np.median(n_values)))
    extra = np.zeros(len(counts))
    first = int(counts.argmax())
    others = counts.copy()
    others[first] = 0
    second = int(others.argmax()) if others.any() else len(counts) - 2
    extra[first], extra[second] = size - size // 2, size // 2
    return extra


def _mean_left_out(tables: Sequence[SeriesTable]) -> NDArray[np.float64]:
    # replicates that the unit alone made pairable drop out
    return mean_defined(np.stack([table.leave_one_out() for table in tables]))
