"""Rows of DOVE over the whole path: which kind moves a model's answers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.dove import choice_row, faults
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

N_SAMPLES = 40
ENUMERATORS, PHRASINGS = ("capitals", "lowercase", "numbers", "greek"), ("Choose.", "Pick.", "Say.")


def moved_rows() -> list[dict[str, Any]]:
    """A model that another enumerator moves in .4 of its samples, and nothing else; asked twice, with a little noise."""
    draw = random.Random(20251125)
    moved = {
        (sample, enumerator): draw.randrange(4)
        for sample in range(N_SAMPLES)
        for enumerator in ENUMERATORS[1:]
        if draw.random() < 0.4
    }
    variants: list[dict[str, str]] = [
        {},
        *({"enumerator": each} for each in ENUMERATORS[1:]),
        *({"phrasing": each} for each in PHRASINGS[1:]),
        {"order": "reversed"},
    ]
    rows = []
    for varied in variants:
        for _ in range(2):
            for sample in range(N_SAMPLES):
                said = moved.get((sample, varied.get("enumerator", "capitals")), sample % 4)
                rows.append(choice_row(sample, said=draw.randrange(4) if draw.random() < 0.05 else said, **varied))
    return rows


@pytest.mark.soak
def test_the_kind_that_moves_a_models_answers_is_named(tmp_path: Path) -> None:
    rows = moved_rows()
    assert not any(faults(row) for row in rows)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = promptaudit(tmp_path, "import", "rows.jsonl", "--resamples", "50")
    assert done.code == 0, done.err
    found = {row["variation"]: row for row in sql(tmp_path, "select * from marts.fct_variations")}
    assert {kind: row["n_variants"] for kind, row in found.items()} == {"format": 4, "wording": 3, "option_order": 2}
    moves = found["format"]
    assert moves["verdict"] == "moves_most"
    assert 0 < moves["effect_low"] < moves["effect"] < moves["effect_high"]
    assert moves["effect"] == max(row["effect"] for row in found.values())
    assert found["wording"]["verdict"] == "not_told"
    assert found["wording"]["effect_low"] < 0 < found["wording"]["effect_high"]
    (score,) = sql(tmp_path, "select distinct scoring_method from marts.fct_scores where scoring_method like 'judge:%'")
    assert score == {"scoring_method": "judge:dove"}
