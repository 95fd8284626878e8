"""A small audit over HTTP as far as its answers: cards, run, wordings and asking, without Prefect, dbt or a report.

`python -m tests.support.http_audit WAREHOUSE REGISTRY [ask N [AUDIT] | judge]` asks what is missing of the audit's newest run, by
N askers, or has it judged, in a process of its own, which a test may kill.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from promptaudit.ask.infer import infer
from promptaudit.ask.judge import judge
from promptaudit.ask.shards.land_segments import land_left, lost_in
from promptaudit.ask.shards.lander import lander_of
from promptaudit.ask.shards.placement import AskersSetting
from promptaudit.ask.wordings.paraphrase import paraphrase
from promptaudit.ask.workers import AskResult
from promptaudit.audit.runs import newest_run, open_run
from promptaudit.engines import silent
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.plan.design import Design, design_audit
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support import questions
from tests.support.files import write_files
from tests.support.openai_server import LABELS

AUDIT = "asked"
SPOOL = "PROMPTAUDIT_SPOOL"


def write_cards(
    folder: Path,
    *urls: str,
    n_samples: int = 20,
    variants: int = 3,
    repetitions: int = 1,
    model: str = "",
    sampling: str = "{temperature: 0, max_tokens: 16}",
    limits: str = "{max_connections: 32}",
    price: str = "{input_usd_per_mtok: 1, output_usd_per_mtok: 2}",
    strategies: str = "simple",
    audit: str = "",
    judges: str = "",
    max_invalid_rate_at_first: float = 0.5,
) -> Path:
    """A registry of one model, one task of `n_samples` rows, one audit with wordings by rules, and cards of judges."""
    files = {
        "models/api.yml": (
            f"api:\n  engine: openai_api\n  model: small\n  base_url: [{', '.join(urls)}]\n  api_key_env: AUDIT_KEY\n"
            f"  sampling: {sampling}\n  limits: {limits}\n  price: {price}\n{model}"
        ),
        "judges/judges.yml": judges,
        f"audits/{AUDIT}.yml": (
            f"{AUDIT}:\n  tasks: [questions]\n  models: [api]\n  strategies: [{strategies}]\n"
            f"  rephrasing: {{rephraser: rules, variants: {variants}}}\n"
            f"  repetitions: {{original: {repetitions}, variants: {repetitions}}}\n  samples: {{balanced: false}}\n"
            f"  format: {{max_invalid_rate_at_first: {max_invalid_rate_at_first}}}\n{audit}"
        ),
    }
    write_files(folder, files)
    write_questions(folder, n_samples)
    return folder


def write_questions(folder: Path, n_samples: int) -> None:
    """The card and the data of a task of so many questions, whose labels follow one another."""
    questions.write_questions(folder, questions.numbered(n_samples, LABELS), labels=LABELS)


def opened(warehouse: Path, registry: Path, audit_id: str = AUDIT) -> tuple[str, Design]:
    """The audit's newest run, made where there is none, and its design."""
    design = design_audit(load_registry([registry]), audit_id)
    Warehouse(warehouse).apply_schema()
    found = newest_run(Warehouse(warehouse), audit_id)
    return (open_run(Warehouse(warehouse), design) if found is None else found.audit_run_id), design


@contextlib.contextmanager
def _opened_purse(
    warehouse: Path,
    registry: Path,
    audit_id: str,
    max_usd: float | None,
    max_requests: int | None,
    said: list[str] | None,
) -> Iterator[tuple[Design, Callable[[], Purse]]]:
    """The design of the audit's newest run, and what makes a purse of what the run may still spend."""
    with Warehouse(warehouse).kept_open():
        audit_run_id, design = opened(warehouse, registry, audit_id)
        land_left(Warehouse(warehouse), os.environ.get(SPOOL), silent)

        def purse() -> Purse:
            budget = budget_of(Warehouse(warehouse), audit_run_id, design.audit.budget, max_usd, max_requests)
            lost = lost_in(AskersSetting(spool=os.environ.get(SPOOL)).folder(Warehouse(warehouse), audit_run_id))
            budget.lend(lost.n_requests, lost.usd)
            return Purse(Warehouse(warehouse), audit_run_id, budget, silent if said is None else said.append)

        yield design, purse


def ask(
    warehouse: Path,
    registry: Path,
    *,
    max_usd: float | None = None,
    max_requests: int | None = None,
    said: list[str] | None = None,
    audit_id: str = AUDIT,
    n_askers: int = 1,
) -> AskResult:
    """Asks what is missing of the audit's newest run, as `promptaudit run` does."""
    askers = AskersSetting(n=n_askers, registry=(registry,), spool=os.environ.get(SPOOL))
    with _opened_purse(warehouse, registry, audit_id, max_usd, max_requests, said) as (design, purse):
        variants = paraphrase(purse(), design).variants
        ready = purse()
        return infer(ready, design, variants, lambda *_: None, lander=lander_of(ready, design, variants, askers))


def have_judged(
    warehouse: Path, registry: Path, *, max_requests: int | None = None, said: list[str] | None = None
) -> AskResult:
    """Has the answers of the audit's newest run judged, as `promptaudit run` does."""
    with _opened_purse(warehouse, registry, AUDIT, None, max_requests, said) as (design, purse):
        return judge(purse(), design, lambda _: contextlib.nullcontext(lambda *_: None))


def query(warehouse: Path, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Rows of a query on the writer's file."""
    with contextlib.closing(duckdb.connect(str(warehouse))) as con:
        return con.execute(text, list(parameters)).fetchall()


def cells(warehouse: Path) -> tuple[int, int]:
    """Landed rows, and distinct cells among them."""
    text = "select count(*), count(distinct (model_id, prompt_variant_id, sample_id, repetition)) from raw.predictions"
    ((n_rows, n_cells),) = query(warehouse, text)
    return n_rows, n_cells


if __name__ == "__main__":
    warehouse, registry, *rest = sys.argv[1:]
    if rest == ["judge"]:
        have_judged(Path(warehouse), Path(registry))
    else:
        _, n_askers, audit_id = (*rest, *("ask", "1", AUDIT)[len(rest) :])
        ask(Path(warehouse), Path(registry), n_askers=int(n_askers), audit_id=audit_id)
