"""One model's cells of a small audit, asked in batches, without Prefect, dbt or a report.

`python -m tests.support.batch_audit FOLDER` asks what is missing in a process of its own, which a test may kill, and says each
line of what goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from promptaudit.ask.ask_in_batches import BatchContext, ask_in_batches, open_batches
from promptaudit.ask.land import Landing, landing_in
from promptaudit.cards.prices import price_of
from promptaudit.engines import Answer, Request
from promptaudit.plan.cells import CellsInWarehouse, Variant, missing_requests
from promptaudit.plan.design import Design, design_audit
from promptaudit.registry.errors import BudgetReached
from promptaudit.registry.registry import load_registry
from promptaudit.system.keys import prompt_variant_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.segments import replay
from tests.support.files import write_files
from tests.support.loopback import LABELS

RUN = "0123456789abcdef"
INSTRUCTIONS = ("Classify the question.", "Sort the question.")


def write_cards(folder: Path, url: str, n_samples: int, texts: Sequence[str] = (), **card: Any) -> None:
    """A registry of one batch model `nightly`, one task and one audit; `texts` are the first questions."""
    batching = {"poll_s": 0.05, **card.pop("batch", {})}
    limits = {"timeout_s": 10, "max_attempts": 3, **card.pop("limits", {})}
    made = {"engine": "batch", "model": "m", "batch": batching, "limits": limits, "api_key_env": "BATCH_KEY", **card}
    if url:
        made["base_url"] = url
    questions = [*texts, *(f"What is number {n}?" for n in range(len(texts), n_samples))]
    files = {
        "models/m.yml": json.dumps({"nightly": made}),
        "tasks/t.yml": json.dumps(
            {
                "questions": {
                    "labels": list(LABELS),
                    "instruction": INSTRUCTIONS[0],
                    "output_format": "Reply with the label alone.",
                    "data": {"path": "datasets/d.jsonl", "id": "id", "input": "q", "gold_label": "gold"},
                }
            }
        ),
        "audits/a.yml": json.dumps(
            {"a": {"tasks": ["questions"], "models": ["nightly"], "samples": {"balanced": False}}}
        ),
        "datasets/d.jsonl": "".join(
            json.dumps({"id": f"s{n}", "q": question, "gold": LABELS[n % 6]}) + "\n"
            for n, question in enumerate(questions)
        ),
    }
    write_files(folder / "cards", files)


def variants() -> list[Variant]:
    """An original, asked twice, and one rewording, asked once: three cells a sample."""
    made = []
    for index, instruction in enumerate(INSTRUCTIONS):
        variant_id = prompt_variant_id("questions", "simple", None, index, instruction)
        repetitions = (1, 2) if index == 0 else (1,)
        made.append(
            Variant(
                prompt_variant_id=variant_id,
                task_id="questions",
                strategy="simple",
                paraphrase_temperature=None,
                variant_index=index,
                is_original=index == 0,
                instruction=instruction,
                repetitions=repetitions,
            )
        )
    return made


def designed(folder: Path) -> Design:
    """The audit of `folder`, with the schema of its warehouse made."""
    Warehouse(folder / "audit.duckdb").apply_schema()
    return design_audit(load_registry([folder / "cards"]), "a")


async def ask(folder: Path, said: list[str] | None = None, max_requests: int | None = None) -> Landing:
    """Asks what is missing, as a run does; `max_requests` is a budget."""
    warehouse = folder / "audit.duckdb"
    with Warehouse(warehouse).kept_open():  # its rounds are milliseconds apart here, and minutes otherwise
        return await _ask(warehouse, designed(folder), said, max_requests)


async def _ask(warehouse: Path, design: Design, said: list[str] | None, max_requests: int | None) -> Landing:
    replay(Warehouse(warehouse))
    card = design.models["nightly"]
    landing = landing_in(Warehouse(warehouse), RUN)
    n_reserved = 0

    def reserve(_: Request) -> None:
        nonlocal n_reserved
        if max_requests is not None and n_reserved == max_requests:
            msg = f"{n_reserved} requests made"
            raise BudgetReached(msg)
        n_reserved += 1

    def take(request: Request, answer: Answer) -> None:
        landing.add(request, answer, price_of(card))

    context = BatchContext(
        warehouse=Warehouse(warehouse),
        audit_run_id=RUN,
        model_id="nightly",
        card=card,
        missing=lambda: missing_requests(
            CellsInWarehouse(Warehouse(warehouse), RUN), RUN, design, "nightly", variants()
        ),
        reserve=reserve,
        take=take,
        flush=landing.flush,
        say=partial(print, flush=True) if said is None else said.append,
    )
    batches = open_batches(card, Warehouse(warehouse))
    try:
        await ask_in_batches(batches, context)
    finally:
        await batches.close()
        landing.flush()
    return landing


def query(folder: Path, text: str) -> list[tuple[Any, ...]]:
    """Rows of a query on the warehouse of `folder`."""
    with contextlib.closing(duckdb.connect(str(folder / "audit.duckdb"))) as con:
        return con.execute(text).fetchall()


def states(folder: Path) -> list[list[str]]:
    """The recorded states of each batch, in order; batches in the order they were recorded."""
    rows = query(
        folder, "select list(state order by recorded_at) from raw.batches group by batch_id order by min(recorded_at)"
    )
    return [row[0] for row in rows]


if __name__ == "__main__":
    asyncio.run(ask(Path(sys.argv[1])))
