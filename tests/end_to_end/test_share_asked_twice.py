"""An audit that asks a share of its cells twice: what is planned, asked, measured and traced, and what a trial of it asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import promptaudit, sql

pytestmark = pytest.mark.soak

CARD = """part:
  tasks: [question_type]
  models: [lexical_noisy, lexical]
  rephrasing: {rephraser: rules, variants: 6}
  repetitions: {original: 3, variants: 1, twice: 0.25}
  samples: {limit: 40}
"""
N_CELLS = 40 * (3 + 5) + 5 * 10


def test_a_share_asked_twice_from_the_card_to_the_trace(tmp_path: Path) -> None:
    (tmp_path / "registry/audits").mkdir(parents=True)
    (tmp_path / "registry/audits/part.yml").write_text(CARD)
    plan = promptaudit(tmp_path, "plan", "part", "--json")
    assert f'"requests": {N_CELLS},' in plan.out
    ended = promptaudit(tmp_path, "run", "part")
    assert ended.code == 0, ended.err
    rows = sql(
        tmp_path, "select n_planned, n_landed, noise_share from marts.rpt_audit where model_id = 'lexical_noisy'"
    )
    assert [(row["n_planned"], row["n_landed"]) for row in rows] == [(N_CELLS, N_CELLS)]
    assert rows[0]["noise_share"] > 0
    (design,) = sql(tmp_path, "select * from marts.dim_designs where model_id = 'lexical_noisy'")
    assert (design["twice"], design["n_planned"], design["n_cells_of_grid"]) == (0.25, N_CELLS, 40 * 13)

    page = (tmp_path / "warehouse/published/report.html").read_text(encoding="utf-8")
    row = next(word for word in page.replace('"', " ").split() if word.startswith("rpt_audit.pss_inter."))
    digits = row.split(".")[2]
    figures = [f"rpt_audit.{name}.{digits}" for name in ("pss_inter", "n_planned", "noise_share")]
    traced = promptaudit(tmp_path, "trace", *figures, "--recompute")
    assert traced.code == 0, traced.out + traced.err
    assert traced.out.count(", the same") == len(figures)
    assert "5 asks of a part of the samples" in traced.out

    tried = ("try", "part", "--on", "least_consistent:8", "--add", "Answer with one label.", "--no-control")
    priced = promptaudit(tmp_path, *tried, "--plan", "--json")
    n_tried = 2 * (8 * (3 + 5) + 5 * 2)
    assert f'"requests": {n_tried},' in priced.out
