"""Clusters of p_tau that stand apart are found, and none where samples scatter around one centre."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.measures.clusters import separate_clusters

NEAR = [[0.9, 0.1, 0.0], [1.0, 0.0, 0.0], [0.95, 0.05, 0.0], [1.0, 0.0, 0.0], [0.9, 0.0, 0.1]]
FAR = [[0.3, 0.4, 0.3], [0.35, 0.35, 0.3], [0.4, 0.3, 0.3]]


def test_a_group_away_from_the_rest() -> None:
    p_tau = np.array([*NEAR[:2], *FAR, *NEAR[2:]])
    assert [cluster.tolist() for cluster in separate_clusters(p_tau)] == [[2, 3, 4]]


def test_two_groups_the_larger_first() -> None:
    wrong = [[0.0, 0.0, 1.0]] * 4
    found = separate_clusters(np.array([*NEAR, *NEAR, *FAR, *wrong]))
    assert [cluster.tolist() for cluster in found] == [[13, 14, 15, 16], [10, 11, 12]]


def test_the_rule_is_kept() -> None:
    p_tau = np.array([*NEAR, *FAR])
    assert separate_clusters(p_tau, fewest=4) == []
    # mean distance to the rest, and among themselves
    far, near = np.array(FAR), np.array(NEAR)
    apart = np.abs(far[:, None] - near).sum(axis=2).mean() / 2
    within = np.abs(far[:, None] - far).sum(axis=2).sum() / 2 / 6
    assert separate_clusters(p_tau, separation=apart - within + 1e-9) == []
    assert len(separate_clusters(p_tau, separation=apart - within - 1e-9)) == 1


def test_more_than_half_is_the_class_itself() -> None:
    assert separate_clusters(np.array([*FAR, *NEAR[:2]])) == []


def test_few_or_equal_samples() -> None:
    assert separate_clusters(np.empty((0, 3))) == []
    assert separate_clusters(np.tile([0.5, 0.5], (30, 1))) == []


@pytest.mark.parametrize("p", [[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.34, 0.33, 0.33]])
def test_the_noise_of_twenty_wordings_makes_hardly_any(p: list[float]) -> None:
    rng = np.random.default_rng(4)
    drawn = [rng.multinomial(20, p, size=40) / 20 for _ in range(100)]
    assert sum(len(separate_clusters(each)) for each in drawn) <= 3
