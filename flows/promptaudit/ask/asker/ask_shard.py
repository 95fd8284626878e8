"""Asks one shard of a run. Another process holds the warehouse: this one reads and writes files of a shared folder."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import polars as pl

from promptaudit.ask.infer import ModelWork, in_order
from promptaudit.ask.land import Landing
from promptaudit.ask.shards.deal import deal
from promptaudit.ask.shards.land_segments import askers_folder
from promptaudit.ask.shards.leased_budget import LeasedBudget
from promptaudit.ask.shards.messages import (
    ASKER,
    LANDED,
    LANDER,
    LEASE,
    OPEN,
    TERMS,
    AskerState,
    Failure,
    LanderState,
    Lease,
    Terms,
    read_message,
    write_message,
)
from promptaudit.ask.workers import Workers
from promptaudit.cards.check_cards import check_audit
from promptaudit.cards.trust.refuse import refuse_untrusted
from promptaudit.plan.cells import missing_requests
from promptaudit.plan.design import Design, design_audit
from promptaudit.registry.ages import age_of
from promptaudit.registry.errors import CardError, MeasureError, PromptauditError, raise_all
from promptaudit.registry.registry import Registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.processes import began_at, machine
from promptaudit.system.settings import Settings
from promptaudit.system.shared_folder import SharedFolder
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.spool import Spool

REPORTS_EVERY_S = 0.5
LANDER_AWAY_S = 300.0
"""Sets how long an asker waits for a lander that gives no sign, before it ends."""


def ask_shard(
    settings: Settings,
    registry: Registry,
    audit_id: str,
    audit_run_id: str,
    shard: int,
    n_shards: int,
    progress: Progress,
) -> int:
    """Asks the cells of a shard that have not landed, and writes each answer for the lander; returns how many.

    If the shared folder is on this machine or a volume, no answer is lost when this process dies. Raises what stopped
    it; the lander gets that too, and reports it.
    """
    folder = askers_folder(Warehouse(settings.warehouse), settings.spool).under(audit_run_id)
    terms = _terms(folder)
    if n_shards != terms.n_shards:  # it reports nothing to the lander, which has another asker for this shard
        msg = f"run {audit_run_id} is now asked in {terms.n_shards} shards: this asker of {n_shards} is of an earlier start"
        raise MeasureError(msg)
    with contextlib.suppress(_NightOver), _Contact(folder, shard, progress) as contact:
        checked = check_audit(registry, audit_id)
        raise_all([*checked.errors, *checked.lacking_data])
        refuse_untrusted(settings, checked.cards.used, progress)
        design = design_audit(registry, audit_id, checked)
        if design.plan_fingerprint != terms.plan_fingerprint:
            msg = f"the cards or data of audit '{audit_id}' here are not those that run {audit_run_id} is asked by"
            raise CardError(msg)
        asking = _Shard(contact, design.asking(terms.sample_ids), terms, audit_run_id)
        asking.workers.run(asking.ask())
    return asking.workers.landing.n_landed


def _terms(folder: SharedFolder) -> Terms:
    # raises MeasureError if no lander has written any
    terms = read_message(folder, TERMS, Terms)
    if terms is None:
        msg = "nobody lands this run now: its night has ended, or it has another warehouse or spool folder"
        raise MeasureError(msg)
    return terms


class _Contact:
    # writes this asker's state for the lander and reads the lander's files; its end is reported on exit

    def __init__(self, folder: SharedFolder, shard: int, progress: Progress) -> None:
        self.folder, self.shard, self.progress = folder, shard, progress
        self.name = uuid.uuid4().hex
        self.prefix = f"{shard}/{self.name}/"
        self.state = AskerState(machine=machine(), pid=os.getpid(), began_at=began_at(), beat=0)
        self._lander: LanderState | None = None
        self._heard_at = time.monotonic()

    def __enter__(self) -> Self:
        self.report()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _NightOver):
            pass
        elif isinstance(error, PromptauditError):
            self.state.failure = Failure.of(error)
        elif isinstance(error, Exception):
            self.state.failure = Failure.of(MeasureError(f"an asker ended with {type(error).__name__}"))
        # the night goes on and cells may be missing: another asks them
        self.state.is_interrupted = isinstance(error, _PresumedDead) or (
            error is not None and not isinstance(error, Exception)
        )
        self.state.state = "ended"
        self.report()

    def report(self) -> None:
        self.state.beat += 1
        write_message(self.folder, self.prefix + ASKER, self.state)

    def lease(self) -> Lease | None:
        # None before this asker is admitted; raises MeasureError if the lander is gone
        lander = read_message(self.folder, LANDER, LanderState)
        if lander is not None and lander != self._lander:
            self._lander, self._heard_at = lander, time.monotonic()
        lease = read_message(self.folder, self.prefix + LEASE, Lease)
        is_away = time.monotonic() - self._heard_at > LANDER_AWAY_S
        if is_away and (lease is None or not lease.is_final):
            msg = f"the lander gave no sign for {LANDER_AWAY_S:g} s"
            raise MeasureError(msg)
        if lander is not None and lander.is_over:
            return (lease or Lease()).model_copy(update={"is_over": True})
        return lease

    def landed(self) -> bytes:
        # Parquet: the cells that had landed when this asker was admitted
        content = self.folder.read(self.prefix + LANDED)
        if content is None:
            msg = f"{self.prefix}{LANDED} is gone"
            raise MeasureError(msg)
        return content


class _NightOver(MeasureError):
    """The lander wants no more: not a failure of this asker."""


class _PresumedDead(_NightOver):
    """The lander wants no more of this asker, and another asks its cells."""


class _Shard:
    def __init__(self, contact: _Contact, design: Design, terms: Terms, audit_run_id: str) -> None:
        self._contact, self._design, self._run = contact, design, audit_run_id
        self._variants = in_order(terms.variants)
        dealt = deal(design, terms.model_ids, terms.variants, terms.n_shards)
        self._pairs = {pair for pair, shard in dealt.items() if shard == contact.shard}
        self._model_ids = [name for name in design.models if any(name == model_id for model_id, _ in self._pairs)]
        connections = [design.models[name].limits.max_connections for name in self._model_ids]
        self._budget = LeasedBudget(2 * sum(connections))
        folder = contact.folder.spool(f"{contact.prefix}{OPEN}")
        spool = Spool(folder or Path(tempfile.mkdtemp(prefix="promptaudit-asker-")))
        landing = Landing(audit_run_id, spool, self._hand_over)
        self.workers = Workers(
            self._budget, landing, lambda *_: None, age_of(design.audit.retry_within), say=contact.progress.say
        )

    def _hand_over(self, files: Sequence[Path]) -> None:
        for path in files:
            self._contact.folder.take(path, f"{self._contact.prefix}{path.name}")

    async def ask(self) -> None:
        lease = await self._admitted()
        if lease is None:
            return
        landed = _CellsInFile(await asyncio.to_thread(self._contact.landed))
        looking = asyncio.create_task(self._look())
        try:
            async with asyncio.TaskGroup() as group:
                for model_id in self._model_ids:
                    mine = [v for v in self._variants if (model_id, v.prompt_variant_id) in self._pairs]
                    requests = missing_requests(landed, self._run, self._design, model_id, mine)
                    group.create_task(self.workers.ask(ModelWork(self._design, model_id, mine, requests, self.workers)))
        finally:
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking
            self._contact.state.notes = self.workers.notes
            self._contact.state.n_requests, self._contact.state.usd = self._budget.spent
            self._contact.state.is_waiting = False

    async def _admitted(self) -> Lease | None:
        # None if the run is over before the first lease
        while True:
            await asyncio.to_thread(self._contact.report)
            lease = await asyncio.to_thread(self._contact.lease)
            if lease is not None:
                self._take(lease)
                return None if lease.is_over else lease
            await asyncio.sleep(self._contact.folder.poll_s)

    def _take(self, lease: Lease) -> None:
        self._budget.take(lease)
        self._contact.state.max_requests, self._contact.state.max_usd = lease.max_requests, lease.max_usd
        self.workers.share(lease.parts)
        if lease.is_over:
            self.workers.stop(_NightOver("the night is over"))

    async def _look(self) -> None:
        # keeps the lease up to date, and the lander informed
        contact, state = self._contact, self._contact.state
        reported_at = 0.0
        try:
            while True:
                lease = await asyncio.to_thread(contact.lease)
                if lease is None:
                    self.workers.stop(_PresumedDead("the lander holds this asker to be dead"))
                    return
                self._take(lease)
                self.workers.landing.turn_if_due()  # what is in a segment of this machine is lost with it
                since = time.monotonic() - reported_at
                state.is_waiting, before = self._budget.is_waiting, state.is_waiting
                if since > REPORTS_EVERY_S or state.is_waiting != before:
                    state.n_requests, state.usd = self._budget.spent
                    state.wants_requests, state.wants_usd = self._budget.wanted(min(since, 60.0))
                    state.usd_a_request = self._budget.most_usd
                    reported_at = time.monotonic()
                    await asyncio.to_thread(contact.report)
                await asyncio.sleep(contact.folder.poll_s)
        except PromptauditError as error:
            self.workers.stop(error)


class _CellsInFile:
    # the cells of a shard that had landed when its asker was admitted

    def __init__(self, content: bytes) -> None:
        rows = pl.read_parquet(io.BytesIO(content))
        self._cells: dict[tuple[str, str], set[tuple[str, int]]] = {}
        for model_id, prompt_variant_id, sample_id, repetition in rows.iter_rows():
            self._cells.setdefault((model_id, prompt_variant_id), set()).add((sample_id, repetition))

    def counts(self) -> dict[tuple[str, str], int]:
        return {pair: len(cells) for pair, cells in self._cells.items()}

    def cells(self, model_id: str, prompt_variant_id: str) -> set[tuple[str, int]]:
        return self._cells.get((model_id, prompt_variant_id), set())
