"""Finds groups of samples of one gold class that are answered alike and unlike the rest, and the words they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.query.diagnosis.material import Unit
from promptaudit.query.diagnosis.samples import PointsTo, SampleFinding
from promptaudit.system.display.compared import names_of
from promptaudit.udfs.measures.clusters import separate_clusters
from promptaudit.udfs.measures.shared_words import Contrast, SharedWord, shared_words
from promptaudit.udfs.measures.wording_effect import discoveries
from promptaudit.udfs.resampling import generator

MOST_OF_A_CLASS = 2000
MOST_WORDS = 6
ALPHA = 0.05
_PURPOSE = 13
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word that sets a group apart: how many of its samples have it, and how many of the rest of the class."""

    word: str
    z: float
    p_value: float
    n_in_group: int
    n_in_rest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Samples of one gold class whose p_tau lie together, away from the rest, and that share words."""

    group: int  # its number, from 1, as `try --on group:K` takes it
    model_id: str
    task_id: str
    strategy: str
    gold_label: str
    sample_ids: tuple[str, ...]
    n_rest: int
    distance: float  # between the mean p_tau of the group and of the rest
    sensitivity: float | None
    rest_sensitivity: float | None
    said: tuple[tuple[str | None, float], ...]  # label and its share of p_tau, the largest first
    words: tuple[Word, ...]  # none where the task's texts are not shown
    p_value: float
    points_to: PointsTo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The groups of a run, and what was left out."""

    groups: tuple[Group, ...]
    n_clusters_without_words: int
    n_samples_not_looked_at: int  # beyond the most of a class


class _Candidate(NamedTuple):
    unit: int
    gold: int
    members: NDArray[np.int64]  # samples of the unit
    rest: NDArray[np.int64]


def words_of(text: str) -> frozenset[str]:
    """Splits a text into its different words: runs of Unicode letters and digits, case folded."""
    return frozenset(_WORD.findall(text.casefold()))


def find_groups(
    units: Sequence[Unit],
    inputs: Mapping[str, Mapping[str, str | None]],
    findings: Sequence[Sequence[SampleFinding]],
    seed: int,
) -> Groups:
    """Finds the groups of all units and lists them with the surest first.

    A cluster of at least three samples, at most half of its class, that stands apart by .2 in total variation distance
    (`udfs.measures.clusters`) is a group when its texts share words that the rest lack: p at most .05 among all words
    and clusters of the unit (`promptaudit.udfs.measures.shared_words`), and at most one in twenty units expected false
    (Benjamini-Hochberg).
    """
    candidates: list[_Candidate] = []
    words: list[list[tuple[list[str], list[SharedWord]]]] = []
    n_left_out = 0
    for number, unit in enumerate(units):
        own, beyond = _candidates(number, unit, seed)
        n_left_out += beyond
        candidates += own
        words.append(_words(unit, own, inputs[unit.task_id], seed))
    flat = [each for of_unit in words for each in of_unit]
    p_values = np.array([shared[0].p_value if shared else 1.0 for _, shared in flat])
    unit_of = np.array([candidate.unit for candidate in candidates], np.int64)
    smallest = np.array([p_values[unit_of == number].min() for number in np.unique(unit_of)])
    passed = smallest[discoveries(smallest, ALPHA)]
    threshold = passed.max(initial=-1.0)
    groups = [
        _group(units[candidate.unit], candidate, vocabulary, shared, findings[candidate.unit])
        for candidate, (vocabulary, shared), p_value in zip(candidates, flat, p_values, strict=True)
        if p_value <= threshold
    ]
    groups.sort(key=lambda g: (g.p_value, -g.distance, g.task_id, g.strategy, g.model_id, g.gold_label, g.sample_ids))
    return Groups(
        groups=tuple(replace(group, group=number) for number, group in enumerate(groups, start=1)),
        n_clusters_without_words=len(candidates) - len(groups),
        n_samples_not_looked_at=n_left_out,
    )


def _candidates(number: int, unit: Unit, seed: int) -> tuple[list[_Candidate], int]:
    candidates, n_left_out = [], 0
    for gold in np.unique(unit.gold[unit.gold >= 0]).tolist():
        own = np.flatnonzero(unit.gold == gold)
        if len(own) > MOST_OF_A_CLASS:
            n_left_out += len(own) - MOST_OF_A_CLASS
            own = np.sort(generator(seed, _PURPOSE).choice(own, MOST_OF_A_CLASS, replace=False))
        candidates += [
            _Candidate(number, gold, own[cluster], np.delete(own, cluster))
            for cluster in separate_clusters(unit.p_tau[own])
        ]
    return candidates, n_left_out


def _words(
    unit: Unit, candidates: Sequence[_Candidate], inputs: Mapping[str, str | None], seed: int
) -> list[tuple[list[str], list[SharedWord]]]:
    if not candidates:
        return []
    texts = [words_of(inputs.get(sample) or "") for sample in unit.sample_ids]
    counts = Counter(word for text in texts for word in text)
    # a word of fewer samples can set none of three apart
    vocabulary = sorted(word for word, n in counts.items() if n >= 3)  # noqa: PLR2004
    place = {word: index for index, word in enumerate(vocabulary)}
    has = np.zeros((len(texts), len(vocabulary)), np.bool_)
    for index, text in enumerate(texts):
        has[index, [place[word] for word in text if word in place]] = True
    contrasts = []
    for candidate in candidates:
        own = np.sort(np.append(candidate.members, candidate.rest))
        contrasts.append(Contrast(candidate.gold, has[own], np.searchsorted(own, candidate.members)))
    frequency = np.array([counts[word] for word in vocabulary], np.float64)
    mean_words = float(np.mean([len(text) for text in texts]))
    return [(vocabulary, shared) for shared in shared_words(contrasts, frequency, mean_words, seed)]


def _group(
    unit: Unit,
    candidate: _Candidate,
    vocabulary: Sequence[str],
    shared: Sequence[SharedWord],
    findings: Sequence[SampleFinding],
) -> Group:
    mean, rest = unit.p_tau[candidate.members].mean(axis=0), unit.p_tau[candidate.rest].mean(axis=0)
    names = {unit.sample_ids[index] for index in candidate.members.tolist()}
    kinds = Counter(finding.points_to for finding in findings if finding.sample_id in names)
    labels = sorted(
        ((share, label) for share, label in zip(mean.tolist(), unit.labels, strict=True) if share > 0),
        key=lambda pair: -pair[0],
    )
    return Group(
        group=0,  # until the groups are ranked
        **names_of(unit),
        gold_label=str(unit.labels[candidate.gold]),
        sample_ids=tuple(unit.sample_ids[index] for index in candidate.members.tolist()),
        n_rest=len(candidate.rest),
        distance=float(np.abs(mean - rest).sum() / 2),
        sensitivity=_mean(unit.sensitivity[candidate.members]),
        rest_sensitivity=_mean(unit.sensitivity[candidate.rest]),
        said=tuple((label, share) for share, label in labels),
        words=tuple(
            Word(
                word=vocabulary[word.word],
                z=word.z,
                p_value=word.p_value,
                n_in_group=word.n_members,
                n_in_rest=word.n_others,
            )
            for word in shared[:MOST_WORDS]
            if word.p_value <= ALPHA
        ),
        p_value=shared[0].p_value,
        points_to=kinds.most_common(1)[0][0],
    )


def _mean(values: NDArray[np.float64]) -> float | None:
    return None if np.isnan(values).all() else float(np.nanmean(values))
