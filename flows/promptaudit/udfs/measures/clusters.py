"""Finds samples of one class whose p_tau lie together and away from the rest of the class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

FEWEST = 3
SEPARATION = 0.2


def separate_clusters(
    p_tau: NDArray[np.float64], fewest: int = FEWEST, separation: float = SEPARATION
) -> list[NDArray[np.int64]]:
    """Finds clusters that stand apart, by average linkage on total variation distance; their number is not assumed.

    A branch of the tree is a cluster when it has at least `fewest` samples, at most half of the class, and joins its
    neighbour at a mean distance that exceeds the mean distance among its own samples by `separation`. Of branches in
    one another the largest counts. Where p_tau scatter around one centre, hardly any branch is a cluster, since at 20
    wordings sampling alone makes distances of .1 to .2.

    Args:
        p_tau: shape (n, C), rows sum to 1.
        fewest: 2 or more.
        separation: of distances in [0, 1].

    Returns:
        Indices of each cluster's samples, ascending, the largest cluster first; none for n < 2 * fewest.
    """
    n = len(p_tau)
    if n < 2 * fewest:
        return []
    distances = pdist(p_tau, "cityblock") / 2
    tree = linkage(distances, "average")
    members: list[list[int]] = [[index] for index in range(n)]
    within = [0.0] * n  # mean distance over pairs
    joins = [0.0] * (2 * n - 1)
    for left, right, height, size in tree.tolist():
        a, b = int(left), int(right)
        # the height of a join is the mean distance between its two branches
        joins[a] = joins[b] = height
        pairs = [len(members[each]) * (len(members[each]) - 1) / 2 * within[each] for each in (a, b)]
        between = len(members[a]) * len(members[b]) * height
        within.append((sum(pairs) + between) / (size * (size - 1) / 2))
        members.append(members[a] + members[b])

    clusters, open_nodes = [], [2 * n - 2]
    while open_nodes:
        node = open_nodes.pop()
        is_of_size = fewest <= len(members[node]) <= n // 2
        if is_of_size and joins[node] - within[node] >= separation:
            clusters.append(np.sort(np.array(members[node], np.int64)))
        elif node >= n:
            open_nodes += [int(tree[node - n, 0]), int(tree[node - n, 1])]
    return sorted(clusters, key=lambda cluster: (-len(cluster), cluster.tolist()))
