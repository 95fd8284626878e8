"""A prompt is put together again from landed rows where the answer's id says that it was sent so, and is none elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptaudit.prompts.as_sent import SentPrompts
from promptaudit.prompts.put_samples import Prompter
from promptaudit.registry.cards import ModelCard, TaskCard
from promptaudit.registry.samples import ChosenSamples, Sample
from promptaudit.system.keys import prediction_id, request_sha256, sent_by
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of, sample_row, task_row
from tests.support.landed_nights import land_night

CARD = TaskCard.model_validate(
    {
        "labels": ["yes", "no"],
        "instruction": "Is {hint} asked?",
        "output_format": "One word.",
        "data": {"path": "d.csv"},
    }
)
EDITED = CARD.model_copy(update={"output_format": "Yes or no."})
MODEL = ModelCard.model_validate({"engine": "embedded", "model": "lexical"})
SAMPLE = Sample("s1", "A rather longer question about nothing", "no", {"hint": "much"}, ())
NOISE = {"input_noise": {"noise": "typos", "rate": 0.9, "seed": 3}}


def landed(
    folder: Path, *, setting: str | None, strategy: str = "simple", card: TaskCard = CARD, **run: Any
) -> Warehouse:
    """A run with one variant and one sample."""
    warehouse = Warehouse(folder / "audit.duckdb")
    warehouse.apply_schema()
    audit_run_id = land_night(warehouse.path, 1, n_rows=0, **run)
    variant = {
        "audit_run_id": audit_run_id,
        "prompt_variant_id": "w",
        "task_id": "t",
        "strategy": strategy,
        "variant_index": 1,
        "is_original": False,
        "is_edited": False,
        "instruction": CARD.instruction,
        "repetitions": [1],
        "setting": setting,
    }
    model = {
        "audit_run_id": audit_run_id,
        "model_id": "m",
        "engine": MODEL.engine,
        "model": MODEL.model,
        "card": MODEL.canonical_json(),
        "fingerprint": "f",
    }
    rows = {
        "prompt_variants": [variant],
        "models": [model],
        "tasks": [task_row(audit_run_id, "t", card)],
        "samples": [sample_row(audit_run_id, "t", 0, SAMPLE, SAMPLE.fields)],
    }
    warehouse.land([(table, frame_of(table, own)) for table, own in rows.items()])
    return warehouse


def answer(
    warehouse: Warehouse, setting: str | None, *, strategy: str = "simple", card: TaskCard = CARD
) -> dict[str, Any]:
    """The answer to what a card sends under a setting."""
    prompter = Prompter(
        card, ChosenSamples((), {}), strategy=strategy, instruction=CARD.instruction, template=None, setting=setting
    )
    request = request_sha256(sent_by(MODEL), prompter.put(SAMPLE).messages, 1)
    (run,) = warehouse.read("select audit_run_id from raw.audit_runs")
    cell = {"model_id": "m", "prompt_variant_id": "w", "sample_id": "s1", "repetition": 1}
    return {**cell, "prediction_id": prediction_id(run["audit_run_id"], "m", "w", "s1", 1, request)}


def prompts_of(warehouse: Warehouse, answers: list[dict[str, Any]]) -> tuple[list[str | None], int]:
    """The last message of each, and how many could not be put together."""
    (run,) = warehouse.read("select audit_run_id from raw.audit_runs")
    with warehouse.write() as con:
        sent = SentPrompts(con, run["audit_run_id"])
        shown = sent.shown(answers)
    return [None if each is None else each.messages[-1][1] for each in shown], sent.n_otherwise


def test_the_messages_are_those_that_the_id_is_of(tmp_path: Path) -> None:
    warehouse = landed(tmp_path, setting=json.dumps(NOISE))
    own, other = answer(warehouse, json.dumps(NOISE)), answer(warehouse, "{}")
    texts, n_otherwise = prompts_of(warehouse, [own, other])
    assert texts[0] is not None
    assert texts[0].startswith("Is much asked?")
    assert SAMPLE.text not in texts[0]
    assert (texts[1], n_otherwise) == (None, 1)


@pytest.mark.parametrize(
    ("setting", "run"), [(None, {}), (json.dumps(NOISE), {"origin": "import"}), (None, {"origin": "import"})]
)
def test_imports_and_earlier_versions_have_none_and_that_is_no_difference(
    tmp_path: Path, setting: str | None, run: dict[str, str]
) -> None:
    warehouse = landed(tmp_path, setting=setting, **run)
    assert prompts_of(warehouse, [answer(warehouse, setting)]) == ([None], 0)


def test_the_changed_arm_of_a_trial_is_asked_by_its_edited_card(tmp_path: Path) -> None:
    source = json.dumps({"edited": EDITED.canonical_json()})
    warehouse = landed(tmp_path, setting="{}", strategy="simple+tried", source=source, origin="trial")
    own = answer(warehouse, "{}", strategy="simple+tried", card=EDITED)
    (text,), n_otherwise = prompts_of(warehouse, [own])
    assert text is not None
    assert "Yes or no." in text
    assert n_otherwise == 0


@pytest.mark.parametrize(
    "statement",
    [
        "update raw.samples set input = null",
        "update raw.samples set input = '[erased]'",
        "update raw.prompt_variants set setting = '{\"input_noise\": 3}'",
        "update raw.prompt_variants set setting = '[]'",
        "update raw.prompt_variants set setting = 'no JSON'",
        "update raw.prompt_variants set setting = repeat('[', 100_000) || repeat(']', 100_000)",
        "update raw.tasks set card = '{}'",
        'update raw.models set card = \'{"engine": "of a later version"}\'',
        "delete from raw.models",
        "delete from raw.samples",
    ],
)
def test_rows_that_are_gone_or_not_understood_give_no_prompt(tmp_path: Path, statement: str) -> None:
    warehouse = landed(tmp_path, setting=json.dumps(NOISE))
    own = answer(warehouse, json.dumps(NOISE))
    with warehouse.write() as con:
        con.execute(statement)
    assert prompts_of(warehouse, [own]) == ([None], 1)
