"""The measures of a run written plainly, sample by sample and pair by pair, to hold the fast ones against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.differences.answers_table import AnswersTable, answers_table
from promptaudit.udfs.differences.matching import SAME_WORDING
from promptaudit.udfs.stability.krippendorff import Level
from tests.support.plain_krippendorff import krippendorff_alpha

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ask:
    """What one wording got under one temperature: labels of shape (n_repetitions, N), -1 missing."""

    temperature: int
    labels: NDArray[np.int16]


@dataclass(frozen=True)
class Variant:
    """One wording of one run."""

    is_original: bool
    is_shared: bool
    asks: tuple[Ask, ...]


@dataclass(frozen=True)
class Task:
    """What the labels are, and which is right of each sample (-1 unknown)."""

    gold: Codes
    n_classes: int
    numbers: Floats
    level: Level


def random_answers(
    seed: int, *, n: int = 12, q: int = 4, n_labels: int = 3, redrawn: bool = False, awkward: bool = True
) -> list[NDArray]:
    """Columns of `paired_values` of two small runs: N/A, missing answers, unequal repetitions, unknown gold labels."""
    rng = np.random.default_rng(seed)
    rows = []
    favourite = rng.integers(0, n_labels, n)
    gold = np.where(rng.random(n) < (0.2 if awkward else 0), -1, favourite)
    for side in (0, 1):
        for k in range(q):
            code = 100 + k + (50 * side if redrawn and k else 0)
            n_asks = (3 + side if awkward else 4) if k == 0 else 2
            for i in range(n + side * awkward):  # a sample more in the candidate run
                for repetition in range(1, n_asks + 1):
                    if awkward and rng.random() < 0.08:
                        continue
                    right = favourite[min(i, n - 1)]
                    label = right if rng.random() < 0.5 else rng.integers(-1, n_labels)
                    known = gold[i] if i < n else -1
                    rows.append((side, 7 * i, code, -1, k == 0, repetition, label, known))
    order = rng.permutation(len(rows))
    columns = [np.array(column)[order] for column in zip(*rows, strict=True)]
    columns[4] = columns[4].astype(np.bool_)
    return columns


def table_of(columns: Sequence[NDArray], n_classes: int) -> AnswersTable:
    table = answers_table(*columns, n_classes)
    assert isinstance(table, AnswersTable)
    return table


def runs_of(table: AnswersTable) -> list[list[Variant]]:
    """The variants of both runs, slot by slot."""
    return [
        [
            Variant(
                bool(table.is_original[slot]),
                bool(table.stratum[slot] == SAME_WORDING),
                tuple(
                    Ask(int(table.ask_temperature[a]), table.labels[run, a])
                    for a in np.flatnonzero(table.ask_slot == slot)
                ),
            )
            for slot in range(table.n_slots)
        ]
        for run in (0, 1)
    ]


def shares(variant: Variant, i: int, n_classes: int) -> Floats | None:
    """p_ivc: the mean over asks of the mean over repetitions; None where the cell is missing."""
    of_asks = []
    for ask in variant.asks:
        given = [label for label in ask.labels[:, i] if label >= 0]
        if given:
            of_asks.append(np.bincount(given, minlength=n_classes) / len(given))
    return np.mean(of_asks, axis=0) if of_asks else None


def cells(run: Sequence[Variant], task: Task) -> list[list[Floats]]:
    """Per sample the shares of the variants that have it."""
    every = [[shares(variant, i, task.n_classes) for variant in run] for i in range(len(task.gold))]
    return [[p for p in row if p is not None] for row in every]


def sensitivity(run: Sequence[Variant], task: Task) -> float:
    figures = []
    for row in cells(run, task):
        if len(row) >= 2:
            p = np.mean(row, axis=0)
            figures.append(-sum(x * np.log(x) for x in p if x > 1e-12) / np.log(task.n_classes))
    return float(np.mean(figures)) if figures else np.nan


def consistency(run: Sequence[Variant], task: Task) -> float:
    total, n_pairs = 0.0, 0
    p_tau = [np.mean(row, axis=0) if row else None for row in cells(run, task)]
    for gold in set(task.gold.tolist()) - {-1}:
        members = [p for p, own in zip(p_tau, task.gold, strict=True) if own == gold and p is not None]
        total += sum(np.abs(p - q).sum() / 2 for p in members for q in members)
        n_pairs += len(members) ** 2
    return 1 - total / n_pairs


def rate(run: Sequence[Variant], task: Task, *, of_right: bool) -> float:
    figures = []
    for row, gold in zip(cells(run, task), task.gold, strict=True):
        if row and (gold >= 0 or not of_right):
            figures.append(np.mean([p[gold] if of_right else p[-1] for p in row]))
    return float(np.mean(figures))


def _alpha(annotators: Sequence[NDArray], task: Task) -> float:
    """Of annotators' labels, shape (N,) each."""
    numbers = np.arange(len(task.numbers)) if task.level == "ordinal" else task.numbers
    if task.level == "nominal":  # N/A is one more label
        numbers = np.append(numbers, np.inf)
    units = [
        [numbers[labels[i]] if 0 <= labels[i] < len(numbers) else None for labels in annotators]
        for i in range(len(task.gold))
    ]
    return krippendorff_alpha(units, task.level)


def pss_inter(run: Sequence[Variant], task: Task) -> float:
    """Repetitions count that every variant was asked; `run` has no paraphrase temperatures."""
    n_asks = [int((variant.asks[0].labels >= 0).any(axis=1).sum()) for variant in run]
    figures = [_alpha([variant.asks[0].labels[r] for variant in run], task) for r in range(min(n_asks))]
    return float(np.nanmean(figures))


def pss_intra(run: Sequence[Variant], task: Task) -> float:
    asks = [ask for variant in run if variant.is_original and variant.is_shared for ask in variant.asks]
    return _alpha([labels for ask in asks for labels in ask.labels], task)


def figures(run: Sequence[Variant], task: Task) -> dict[str, float]:
    """Every measure of a run."""
    return {
        "sensitivity": sensitivity(run, task),
        "consistency": consistency(run, task),
        "micro_f1": rate(run, task, of_right=True),
        "invalid_rate": rate(run, task, of_right=False),
        "pss_intra": pss_intra(run, task),
        "pss_inter": pss_inter(run, task),
    }
