"""Which wordings each sample of a balanced incomplete grid is asked under."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.designs.incomplete_grid import assigned_wordings


@given(n_samples=st.integers(0, 60), n_wordings=st.integers(1, 12), data=st.data())
def test_wordings_of_a_sample_differ_and_each_is_asked_the_floor_or_the_ceiling_of_its_share(
    n_samples: int, n_wordings: int, data: st.DataObject
) -> None:
    q = data.draw(st.integers(1, n_wordings))
    grid = assigned_wordings(n_samples, n_wordings, q, "key")
    assert [len(set(wordings)) for wordings in grid] == [q] * n_samples
    n_asked = Counter(wording for wordings in grid for wording in wordings)
    share, over = divmod(n_samples * q, n_wordings)
    expected = [share] * (n_wordings - over) + [share + 1] * over
    assert sorted(n_asked[wording] for wording in range(n_wordings)) == expected


def test_a_wording_passed_over_at_the_seam_goes_to_the_next_sample() -> None:
    # permutations of 3 wordings under this key: 0 1 2, then 2 1 0
    assert assigned_wordings(2, 3, 3, "d") == [(0, 1, 2), (2, 1, 0)]
    # the second sample has 2 of the first, passes over 2 of the second and takes 1; the third begins with that 2
    assert assigned_wordings(3, 3, 2, "d") == [(0, 1), (2, 1), (2, 0)]


def test_every_two_wordings_meet_about_equally_often() -> None:
    # 2000 * 6 * 5 / (30 * 29) = 69 times each, with the Poisson deviation of 8.3
    grid = assigned_wordings(2000, 30, 6, "key")
    meetings = Counter(pair for wordings in grid for pair in combinations(sorted(wordings), 2))
    assert len(meetings) == 30 * 29 / 2
    assert min(meetings.values()) > 69 - 4 * 8.3
    assert max(meetings.values()) < 69 + 4 * 8.3


def test_equal_keys_give_equal_grids_whose_first_samples_stay_when_more_are_added() -> None:
    grid = assigned_wordings(50, 30, 6, "one")
    assert grid == assigned_wordings(80, 30, 6, "one")[:50]
    assert grid != assigned_wordings(50, 30, 6, "another")


@pytest.mark.parametrize("wordings_per_sample", [0, 4])
def test_more_wordings_than_there_are_or_none_raise(wordings_per_sample: int) -> None:
    with pytest.raises(ValueError, match="1 to 3 wordings"):
        assigned_wordings(5, 3, wordings_per_sample, "key")
