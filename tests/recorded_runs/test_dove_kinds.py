"""Rows of DOVE over the whole path: which kind moves a model's answers, and kinds of a run of ours that come back."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from promptaudit.flows.recorded_runs.read_files import read_recordings
from tests.support.dove import choice_row, faults, without_nulls
from tests.support.files import write_files
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

N_SAMPLES = 40
ENUMERATORS, SEPARATORS, PHRASINGS = (
    ("capitals", "lowercase", "numbers", "greek"),
    ("\n", "; ", " | "),
    ("Choose.", "Pick.", "Say."),
)


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


CARDS = {
    "data/pick.csv": "id,question,gold,a,b,c\n"
    + "".join(f"s{n},Which comes after number {n}?,{'ABC'[n % 3]},red {n},green {n},blue {n}\n" for n in range(6)),
    "tasks/pick.yml": """
pick:
  kind: multiple_choice
  labels: [A, B, C]
  templates: pick
  data: {path: data/pick.csv, id: id, input: question, gold_label: gold, options: [a, b, c]}
""",
    "templates/pick.yml": r"""
pick:
  kind: multiple_choice
  templates:
    - text: "Solved questions:\n{examples}\n\nQuestion: {question}\n{options}\nAnswer with the letter of the right option."
      examples:
        - {question: "Which comes after red?", answer: "A"}
        - {question: "Which comes after blue?", answer: "C"}
        - {question: "Which comes after grey?", answer: "B"}
""",
    "models/simulated.yml": """
simulated:
  engine: embedded
  model: simulated
  simulated: {distributions: [{A: 0.9, B: 0.1}, {B: 1.0}]}
""",
    "audits/kinds.yml": """
kinds:
  tasks: [pick]
  models: [simulated]
  resamples: 20
  rephrasing:
    {rephraser: rules, templates: true, kinds: [wording, option_order, examples, format, input_noise], variants: 3}
""",
}


@pytest.mark.soak  # what is exported and what comes back of it are held against each other in other tests, without kinds
def test_kinds_of_a_run_come_back(tmp_path: Path) -> None:
    write_files(tmp_path / "registry", CARDS)
    done = promptaudit(tmp_path, "run", "kinds")
    assert done.code == 0, done.err
    assert promptaudit(tmp_path, "export", "--format", "dove", "--to", "rows").code == 0
    rows = [without_nulls(row) for row in pl.read_parquet(tmp_path / "rows/predictions.parquet").to_dicts()]
    assert not any(faults(row) for row in rows)
    done = promptaudit(tmp_path, "import", "rows/predictions.parquet", "--audit", "again", "--resamples", "20")
    assert done.code == 0, done.err

    def variants(audit: str) -> list[tuple[str, str]]:
        query = (
            "select variation, setting from marts.dim_prompt_variants join marts.dim_audit_runs using (audit_run_id) where "
            f"audit_id = '{audit}' and refused_because is null order by variant_index"
        )
        return [(row["variation"], row["setting"]) for row in sql(tmp_path, query)]

    assert variants("again") == variants("kinds")
    kinds = [kind for kind, _ in variants("kinds")]
    assert set(kinds) == {"original", "wording", "option_order", "examples", "format", "input_noise"}
    query = (
        "select variation, n_variants from marts.fct_variations join marts.dim_audit_runs using (audit_run_id) where"
    )
    again, before = (sql(tmp_path, f"{query} audit_id = '{audit}' order by all") for audit in ("again", "kinds"))
    assert again == before

    # without our columns, of what DOVE has dimensions for: a form changes the text, and noise nothing that its rows have
    named = [row for row in rows if row["prompt_config"]["dimensions"]["variation"] not in ("format", "input_noise")]
    for row in named:
        given = row["prompt_config"]["dimensions"]
        for name in ("variation", "setting", "variant_index", "paraphrase_temperature", "strategy"):
            given.pop(name, None)
    (tmp_path / "named.jsonl").write_text("".join(json.dumps(row) + "\n" for row in named))
    frame = read_recordings([tmp_path / "named.jsonl"]).frame
    found = frame.unique("variant_index").sort(pl.col("variant_index").cast(pl.Int64))["variation"].to_list()
    assert found == [kind for kind in kinds if kind not in ("format", "input_noise")]
