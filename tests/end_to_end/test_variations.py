"""Models that one kind of variation moves, asked for real: the split names the kind, and no kind where none moves answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.warehouse.figure_names import figure_id
from tests.support.shell import promptaudit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

N_SAMPLES = 40
KINDS = ("format", "option_order", "input_noise")
CARDS = {
    "data/pick.csv": "id,question,gold,a,b,c,d\n"
    + "".join(
        f"s{n},Which word comes after number {n}?,{'ABCD'[n % 4]},red {n},green {n},blue {n},grey {n}\n"
        for n in range(N_SAMPLES)
    ),
    "tasks/pick.yml": """
pick:
  kind: multiple_choice
  labels: [A, B, C, D]
  templates: pick
  scoring: [option_letter]
  data: {path: data/pick.csv, id: id, input: question, gold_label: gold, options: [a, b, c, d]}
""",
    "templates/pick.yml": r"""
pick:
  kind: multiple_choice
  templates: [{text: "{question}\n{options}\nAnswer with the letter."}]
""",
    "models/simulated.yml": "".join(
        f"""
by_{kind or "nothing"}:
  engine: embedded
  model: simulated
  simulated:
    distributions: [{{A: 0.9, B: 0.1}}, {{B: 1.0}}, {{C: 0.8, D: 0.2}}]
    sensitive_to: [{kind}]
    moved_rate: 0.3
"""
        for kind in ("format", "option_order", "")
    ),
    "audits/kinds.yml": f"""
kinds:
  tasks: [pick]
  models: [by_format, by_option_order, by_nothing]
  repetitions: {{original: 2, variants: 2}}
  resamples: 50
  rephrasing: {{kinds: [{", ".join(KINDS)}], variants: 5}}
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the published run."""
    folder = tmp_path_factory.mktemp("kinds")
    for name, text in CARDS.items():
        (folder / "registry" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "registry" / name).write_text(text)
    done = promptaudit(folder, "run", "kinds")
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def rows(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """fct_variations by model and kind."""
    with duckdb.connect(str(folder / "warehouse/published/audit.duckdb"), read_only=True) as con:
        frame = con.sql("select * from marts.fct_variations").pl()
    return {(row["model_id"], row["variation"]): row for row in frame.to_dicts()}


def test_the_kind_that_moves_is_named_and_none_where_none_does(rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    named = {key for key, row in rows.items() if row["verdict"] == "moves_most"}
    assert named == {("by_format", "format"), ("by_option_order", "option_order")}
    for key in named:
        row = rows[key]
        # the original and a variant differ in .3 of the samples, two variants in about .3 * .7 * 2 + .09 * 2 / 3 = .48, six of
        # the ten pairs of five prompts: .41 where answers have no noise of their own
        assert 0.25 < row["effect"] < 0.55
        assert 0 < row["effect_low"] < row["effect"] < row["effect_high"]
        assert row["effect_share"] > 0.85
    assert {key for key in rows if key not in named} == {
        (f"by_{of}", kind) for of in ("format", "option_order", "nothing") for kind in KINDS if of != kind
    }
    for key in rows.keys() - named:
        assert rows[key]["verdict"] == "not_told"
        assert rows[key]["effect_low"] < 0 < rows[key]["effect_high"]


def test_each_kind_has_the_measures_of_its_own_variants(rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    for (model, kind), row in rows.items():
        assert (row["n_variants"], row["n_samples"]) == (5, N_SAMPLES)
        calm = rows["by_nothing", kind]
        if model == f"by_{kind}":
            assert row["sensitivity"] > calm["sensitivity"] + 0.1
            assert row["pss_inter"] < calm["pss_inter"] - 0.2
        elif model != "by_nothing":
            assert abs(row["sensitivity"] - calm["sensitivity"]) < 0.1
        assert row["sensitivity_low"] <= row["sensitivity"] <= row["sensitivity_high"]
        assert row["consistency_low"] is None or row["consistency_low"] <= row["consistency"] <= row["consistency_high"]


def test_the_report_says_it_in_a_heading_and_prints_the_marts_figures(
    folder: Path, rows: dict[tuple[str, str], dict[str, Any]]
) -> None:
    page = (folder / "warehouse/published/report.html").read_text("utf-8")
    (text,) = re.findall(r'<section class="fold">((?:(?!<section).)*id="variations".*?)</section>', page, re.DOTALL)
    first = max((row for row in rows.values() if row["verdict"] == "moves_most"), key=lambda row: row["effect"])
    effect = f"{first['effect']:.3f} [{first['effect_low']:.3f}, {first['effect_high']:.3f}]"
    kind = first["variation"].replace("_", " ")
    finding = f"{kind.capitalize()} moves answers of {first['model_id']} most, {effect} beyond repeating; 1 more below"
    assert f"<h2>{finding}</h2>" in text
    assert '<span class="kicker">What moves the answers</span>' in text
    assert "<strong>no kind told from repeating</strong>: by_nothing, simple" in text
    assert text.count('<div class="chart"') == 3
    for row in rows.values():
        for column in ("effect", "effect_low", "effect_high", "disagreement", "sensitivity", "pss_inter"):
            assert f'value="{row[column]!r}" data-figure="{figure_id("fct_variations", row, column)}"' in text


@pytest.mark.soak  # test_evidence traces figures of one kind
def test_a_figure_is_traced_and_comes_out_again(folder: Path, rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    figure = figure_id("fct_variations", rows["by_format", "format"], "effect")
    done = promptaudit(folder, "trace", figure, "--recompute", "--json")
    assert done.code == 0, done.err
    traced = done.json()
    assert traced["recomputed"] == pytest.approx(traced["value"], abs=1e-9)
    asked = {row["prompt_variant_id"] for row in traced["raw"]["predictions"]}
    assert len(asked) == 1 + 4 * len(KINDS)  # what repeating gives, and what it is told from, rest on all of them
