"""Krippendorff's alpha against published figures and arithmetic done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.stability.krippendorff import LEVELS, Level
from tests.support.plain_krippendorff import krippendorff_alpha

GAP = None
# Krippendorff (2011), four coders and twelve units with gaps
FOUR_CODERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, GAP, GAP, GAP],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, GAP, 3],
    [GAP, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, GAP],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, GAP],
]


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)])
def test_four_coders_with_gaps(level: Level, published: float) -> None:
    units = list(zip(*FOUR_CODERS, strict=True))
    assert krippendorff_alpha(units, level) == pytest.approx(published, abs=1e-6)


def test_three_annotators_by_hand() -> None:
    # units aab, bbb: coincidences ab = ba = 2 * 1/2 = 1... ordered pairs ab 2, ba 2, each over m - 1 = 2
    # D_o = (1 + 1)/6; counts a 2, b 4: D_e = 2 * 2 * 4 / (6 * 5)
    assert krippendorff_alpha(["aab", "bbb"], "nominal") == pytest.approx(1 - (2 / 6) / (16 / 30))


@pytest.mark.parametrize("level", LEVELS)
def test_edges(level: Level) -> None:
    assert krippendorff_alpha([[1, 1], [1, 1]], level) == 1
    assert krippendorff_alpha([[1, 1], [2, 2]], level) == 1
    assert np.isnan(krippendorff_alpha([[1, None], [2]], level))
    assert np.isnan(krippendorff_alpha([], level))


def test_units_with_one_value_drop_out_before_anything_else() -> None:
    units = [[1, 1], [2, 2], [1, 2]]
    assert krippendorff_alpha([*units, [9, None]], "interval") == krippendorff_alpha(units, "interval")


def test_ordinal_needs_order_alone() -> None:
    units = [[1, 2], [2, 2], [3, 1], [3, 3]]
    stretched = [[{1: 0, 2: 10, 3: 11}[x] for x in unit] for unit in units]
    assert krippendorff_alpha(stretched, "ordinal") == pytest.approx(krippendorff_alpha(units, "ordinal"))
    assert krippendorff_alpha(stretched, "interval") != pytest.approx(krippendorff_alpha(units, "interval"))
