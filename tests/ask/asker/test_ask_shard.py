"""An asker by itself: what it needs from a lander, and what it says where it cannot ask."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from promptaudit.ask.asker.ask_shard import ask_shard
from promptaudit.ask.shards.land_segments import askers_folder
from promptaudit.ask.shards.messages import (
    ASKER,
    LANDED,
    LANDER,
    LEASE,
    TERMS,
    AskerState,
    LanderState,
    Lease,
    Terms,
    read_message,
    write_message,
)
from promptaudit.ask.wordings.paraphrase import paraphrase
from promptaudit.plan.budget import Budget, Purse
from promptaudit.registry.errors import CardError, MeasureError
from promptaudit.registry.registry import load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import settings_of
from promptaudit.system.shared_folder import SharedFolder
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.raw_tables import TABLES
from tests.support.http_audit import AUDIT, opened, write_cards
from tests.support.openai_server import running_server
from tests.support.prefect_server import wait_for

QUIET = Progress(quiet=True)
RUN = "0" * 32


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cards of an audit on a server of this machine, and the settings that lead to them."""
    cards = write_cards(tmp_path / "cards", "http://127.0.0.1:9/v1", variants=2)
    monkeypatch.setenv("PROMPTAUDIT_WAREHOUSE", str(tmp_path / "audit.duckdb"))
    monkeypatch.setenv("PROMPTAUDIT_REGISTRY", str(cards))
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    return cards


def states(folder: SharedFolder) -> list[AskerState]:
    found = [read_message(folder, name, AskerState) for name in folder.names() if name.endswith("asker.json")]
    return [state for state in found if state is not None]


def test_an_asker_whom_nobody_lands_for_says_so(tmp_path: Path, registry: Path) -> None:
    with pytest.raises(MeasureError, match="nobody lands this run now"):
        ask_shard(settings_of(), load_registry([registry]), AUDIT, RUN, 1, 1, QUIET)
    assert not Warehouse(tmp_path / "audit.duckdb").places.askers.exists()


def test_an_asker_of_an_earlier_start_ends_without_a_word_to_the_lander(tmp_path: Path, registry: Path) -> None:
    folder = askers_folder(Warehouse(tmp_path / "audit.duckdb"), None).under(RUN)
    write_message(
        folder, TERMS, Terms(plan_fingerprint="0", n_shards=3, model_ids=("api",), variants=(), sample_ids={})
    )
    with pytest.raises(MeasureError, match="is now asked in 3 shards: this asker of 2 is of an earlier start"):
        ask_shard(settings_of(), load_registry([registry]), AUDIT, RUN, 1, 2, QUIET)
    assert folder.names() == [TERMS]


def test_an_asker_with_other_cards_asks_nothing(tmp_path: Path, registry: Path) -> None:
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    run, design = opened(warehouse.path, registry)
    variants = paraphrase(Purse(warehouse, run, Budget(None, None)), design).variants
    folder = askers_folder(warehouse, None).under(run)
    terms = Terms(
        plan_fingerprint=design.plan_fingerprint,
        n_shards=2,
        model_ids=("api",),
        variants=tuple(variants),
        sample_ids={task: [each.sample_id for each in own.samples] for task, own in design.samples.items()},
    )
    write_message(folder, TERMS, terms)
    write_message(folder, LANDER, LanderState(beat=1))
    write_cards(registry, "http://127.0.0.1:9/v1", variants=3)
    with pytest.raises(CardError, match="are not those that run"):
        ask_shard(settings_of(), load_registry([registry]), AUDIT, run, 1, 2, QUIET)
    (state,) = states(folder)
    assert state.failure is not None
    assert isinstance(state.failure.error(), CardError)


@pytest.mark.slow
def test_an_asker_whose_lease_is_gone_ends_and_hands_over_what_it_has(tmp_path: Path, registry: Path) -> None:
    with running_server(latency_s=0.05) as server:
        write_cards(registry, server.base_url, n_samples=200, variants=2)
        warehouse = Warehouse(tmp_path / "audit.duckdb")
        run, design = opened(warehouse.path, registry)
        variants = paraphrase(Purse(warehouse, run, Budget(None, None)), design).variants
        folder = askers_folder(warehouse, None).under(run)
        terms = Terms(
            plan_fingerprint=design.plan_fingerprint,
            n_shards=1,
            model_ids=("api",),
            variants=tuple(variants),
            sample_ids={task: [each.sample_id for each in own.samples] for task, own in design.samples.items()},
        )
        write_message(folder, TERMS, terms)
        write_message(folder, LANDER, LanderState(beat=1))
        asking = subprocess.Popen([sys.executable, "-m", "promptaudit.ask.asker", AUDIT, run, "1", "1"], cwd=tmp_path)
        wait_for(lambda: any(name.endswith(ASKER) for name in folder.names()), "the asker")
        (name,) = (name.removesuffix(ASKER) for name in folder.names() if name.endswith(ASKER))
        content = io.BytesIO()
        columns = ("model_id", "prompt_variant_id", "sample_id", "repetition")
        pl.DataFrame(schema={column: TABLES["predictions"].columns[column] for column in columns}).write_parquet(
            content
        )
        folder.write(name + LANDED, content.getvalue())
        write_message(folder, name + LEASE, Lease(is_final=True))
        wait_for(lambda: server.counters()["requests"] > 20, "requests")
        folder.remove(name + LEASE)
        assert asking.wait(30) == 0
        n_asked = server.counters()["requests"]
    assert n_asked < 400
    (state,) = states(folder)
    assert (state.state, state.failure) == ("ended", None)
    files = [each for each in folder.names() if each.endswith(".predictions.jsonl")]
    assert n_asked - 8 <= sum((folder.read(each) or b"").count(b"\n") for each in files) <= n_asked


@pytest.mark.usefixtures("registry")
def test_the_module_ends_with_the_error_s_exit_code_and_without_a_word(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "promptaudit.ask.asker", AUDIT, RUN, "1", "1"]
    done = subprocess.run(line, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (MeasureError.exit_code, "", "")
