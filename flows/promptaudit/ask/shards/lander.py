"""Lands the answers of a run's askers, lends them what they may spend, and ends when every shard has been asked.

The askers' reports and their leases are files of the shared folder, so that another lander can go on where one was
killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import time
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import polars as pl

from promptaudit.ask.shards.deal import deal
from promptaudit.ask.shards.land_segments import SILENT_S, Asker, SegmentLanding
from promptaudit.ask.shards.messages import LANDED, LANDER, LEASE, TERMS, LanderState, Lease, Terms, write_message
from promptaudit.ask.shards.placement import ENDS_WITHIN_S, AskersSetting, ChildProcesses, Placement
from promptaudit.ask.workers import OnAnswer, Workers
from promptaudit.engines import Answer
from promptaudit.plan.budget import Budget, Purse
from promptaudit.plan.cells import Variant, count_landed
from promptaudit.plan.design import Design
from promptaudit.registry.errors import BudgetReached, MeasureError, PromptauditError
from promptaudit.system.shared_folder import SharedFolder
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.raw_tables import TABLES
from promptaudit.warehouse.sql import sql

P = ParamSpec("P")
T = TypeVar("T")

NETWORK_ENGINES = ("openai_api", "vllm_server")
"""Lists the engines whose models askers ask; batches, and models that this machine computes, are asked by the night."""
SIGN_EVERY_S = 1.0
"""Sets how often the lander signals the askers that it is there; each sign is forced to the disk."""
MOST_VAIN = 3
"""Bounds how many askers of a shard may die one after the other without an answer."""


def network_models(design: Design) -> frozenset[str]:
    """Lists the models of a design that askers can ask."""
    return frozenset(
        name
        for name, card in design.models.items()
        if card.engine in NETWORK_ENGINES or (card.engine == "llama_cpp" and card.base_url)
    )


class Lander:
    """Starts askers for the shards of a run, and lands their answers.

    A run has one: the process that holds the warehouse.
    """

    def __init__(  # noqa: PLR0913 - what a run is landed with
        self,
        *,
        warehouse: Warehouse,
        audit_run_id: str,
        design: Design,
        variants: Sequence[Variant],
        n_shards: int,
        budget: Budget,
        folder: SharedFolder,
        placement: Placement,
        say: Callable[[str], None],
    ) -> None:
        # the models that askers ask
        self.model_ids = network_models(design)
        self._warehouse, self._run, self._budget, self._n_shards = warehouse, audit_run_id, budget, n_shards
        self._folder, self._placement, self._say = folder, placement, say
        self._dealt = deal(design, self.model_ids, variants, n_shards)
        sizes = {v.prompt_variant_id: v.n_cells(design) for v in variants}
        self._sizes = {pair: sizes[pair[1]] for pair in self._dealt}
        self._terms = Terms(
            plan_fingerprint=design.plan_fingerprint,
            n_shards=n_shards,
            model_ids=tuple(sorted(self.model_ids)),
            variants=tuple(variants),
            sample_ids={task: [each.sample_id for each in own.samples] for task, own in design.samples.items()},
        )
        self._landing = SegmentLanding(warehouse, folder, audit_run_id, say, self._take)
        self._turn = asyncio.Lock()  # guards the landing and the leases in it
        self._given_back: set[str] = set()
        self._complete: set[int] = set()
        self._beat = 0
        self._signed_at = time.monotonic()
        self._is_over = False
        self._reached: BudgetReached | None = None
        self._workers: Workers | None = None
        self._on_answer: OnAnswer = lambda *_: None

    async def ask_all(self, workers: Workers, on_answer: OnAnswer) -> None:
        """Lets askers ask every missing cell of the models, and lands it; stops the workers if askers cannot go on."""
        self._workers, self._on_answer = workers, on_answer
        n_missing = self._n_missing()
        shards = [shard for shard in range(1, self._n_shards + 1) if n_missing.get(shard)]
        self._complete = set(range(1, self._n_shards + 1)) - set(shards)
        if not shards or self._is_stopped():
            return
        write_message(self._folder, LANDER, LanderState(beat=0))
        write_message(self._folder, TERMS, self._terms)
        is_in_haste = True
        try:
            async with asyncio.TaskGroup() as group:
                looking = group.create_task(self._keep_looking())
                await asyncio.wait([group.create_task(self._show(workers, shard)) for shard in shards])
                looking.cancel()
            is_in_haste = False
        finally:
            self._is_over = True
            await asyncio.shield(self._end(is_in_haste=is_in_haste))

    async def _show(self, workers: Workers, shard: int) -> None:
        # as a batch that a person can watch; an error of one shard stops all
        with contextlib.suppress(PromptauditError):  # the workers know what stopped them
            await workers.ask_batch(f"shard {shard} of {self._n_shards}", lambda: self._see_through(workers, shard))

    async def _see_through(self, workers: Workers, shard: int) -> None:
        # starts askers of a shard until one has asked all of it
        try:
            await self._ask(shard)
        except PromptauditError as error:
            workers.stop(error)
        if workers.stopped_by is not None:
            raise workers.stopped_by

    async def _ask(self, shard: int) -> None:
        n_vain, n_missing, death, name = 0, -1, "", f"shard {shard} of {self._n_shards}"
        while not self._is_stopped():
            n_before, n_missing = n_missing, (await asyncio.to_thread(self._n_missing)).get(shard, 0)
            if not n_missing:
                break
            if n_before >= 0:
                n_vain = n_vain + 1 if n_missing == n_before else 0
                if n_vain == MOST_VAIN:
                    msg = f"{name}: {n_vain} askers in a row died without an answer; the last: {death}"
                    raise MeasureError(msg)
                self._say(f"{name}: its asker died, {death}; {n_missing} cells are asked again")
            await self._placement.start(shard)
            how = await self._end_of(shard)
            if how is None:
                break
            death = how
        self._complete.add(shard)

    async def _end_of(self, shard: int) -> str | None:
        # how the asker died, None if it did not; raises the failure that it reports
        while True:
            await asyncio.sleep(self._folder.poll_s)
            death = await self._placement.ended(shard)
            askers = [asker for asker in self._landing.of(shard) if not asker.is_settled]
            is_gone = death is not None or (bool(askers) and all(asker.is_over for asker in askers))
            if not is_gone and not (self._is_stopped() and not askers):
                continue
            await self._settle(askers)
            last = next((asker.state for asker in reversed(askers) if asker.has_ended), None)
            if last is None or self._workers is None:
                return death or "without a word"
            self._workers.notes += [note for note in last.notes if note not in self._workers.notes]
            if last.failure is None:
                return "interrupted" if last.is_interrupted else None
            failure = last.failure.error()
            # with the run's figures, not the asker's
            raise self._reached if isinstance(failure, BudgetReached) and self._reached is not None else failure

    def _is_stopped(self) -> bool:
        return self._is_over or (self._workers is not None and self._workers.stopped_by is not None)

    async def _keep_looking(self) -> None:
        try:
            while True:
                await self._look()
                await asyncio.sleep(self._folder.poll_s)
        except PromptauditError as error:
            if self._workers is not None:
                self._workers.stop(error)

    async def _end(self, *, is_in_haste: bool) -> None:
        # ends the askers that still ask, and lands the answers they have
        until = time.monotonic() + (0 if is_in_haste else ENDS_WITHIN_S)
        try:
            with contextlib.suppress(PromptauditError):  # which stopped the run, and the next start lands the rest
                await self._look()
                while not all(asker.is_over for asker in self._landing.askers.values()) and time.monotonic() < until:
                    await asyncio.sleep(self._folder.poll_s)
                    await self._look()
        finally:
            await self._placement.stop()
        with contextlib.suppress(PromptauditError):
            await self._look()
            await self._settle([asker for asker in self._landing.askers.values() if asker.is_over])
            if all(asker.is_settled for asker in self._landing.askers.values()):
                for name in (TERMS, LANDER):
                    self._folder.remove(name)
                self._folder.sweep()

    async def _look(self) -> None:
        # one look at every asker: lands its files, reads its state, lends what it wants
        async with self._turn:
            askers = await _in_thread(self._land)
            self._take_back()
            for asker in self._lend(askers):
                if asker.lease is not None:
                    await _in_thread(write_message, self._folder, asker.prefix + LEASE, asker.lease)

    def _land(self) -> list[Asker]:
        # lands the files of askers and admits new ones; returns the askers that ask
        if self._is_stopped() or time.monotonic() - self._signed_at > SIGN_EVERY_S:
            self._give_sign()
        self._landing.hear()  # before the files: an asker that has reported its end has written all of its files
        askers = [asker for asker in self._landing.askers.values() if not asker.is_settled]
        self._landing.land(askers)
        for asker in askers:
            if asker.lease is None and not asker.is_over:
                self._admit(asker)
        return [asker for asker in askers if asker.lease is not None and not asker.is_over]

    def _give_sign(self) -> None:
        self._beat += 1
        self._signed_at = time.monotonic()
        write_message(self._folder, LANDER, LanderState(beat=self._beat, is_over=self._is_stopped()))

    def _take(self, rows: pl.DataFrame) -> None:
        # reports landed predictions, and gives a sign if many files take long
        if time.monotonic() - self._signed_at > SIGN_EVERY_S:
            self._give_sign()
        if self._workers is not None:
            self._workers.landing.n_landed += rows.height
        for model_id, n_in, n_out in rows.select("model_id", "prompt_tokens", "completion_tokens").iter_rows():
            self._on_answer(model_id, Answer(completion="", prompt_tokens=n_in, completion_tokens=n_out), None)

    def _admit(self, asker: Asker) -> None:
        # after the askers of its shard before it have ended; its file lists the cells that have landed
        others = [other for other in self._landing.of(asker.shard) if other is not asker and not other.is_settled]
        for other in others:
            if other.is_over or (other.lease is not None and other.lease.is_over and other.silent_s > SILENT_S):
                self._landing.settle(other)
            elif other.lease is not None and not other.lease.is_over:
                other.lease.is_over = True
                write_message(self._folder, other.prefix + LEASE, other.lease)
        if all(other.is_settled or other.lease is None for other in others):
            self._folder.write(asker.prefix + LANDED, self._landed_cells(asker.shard))
            asker.lease = Lease(max_requests=0, max_usd=0.0)

    def _landed_cells(self, shard: int) -> bytes:
        pairs = [pair for pair, owner in self._dealt.items() if owner == shard]
        rows = self._warehouse.read(
            sql("ask", "landed_cells"),
            run=self._run,
            models=[model_id for model_id, _ in pairs],
            variants=[prompt_variant_id for _, prompt_variant_id in pairs],
        )
        names = ("model_id", "prompt_variant_id", "sample_id", "repetition")
        content = io.BytesIO()
        pl.DataFrame(rows, schema={name: TABLES["predictions"].columns[name] for name in names}).write_parquet(content)
        return content.getvalue()

    def _lend(self, askers: Sequence[Asker]) -> list[Asker]:
        # as far as the budget goes; returns the askers whose lease changed. A lease is final for lack of budget only
        # once no asker can give any back
        parts, changed, is_spent = self._parts(), [], self._is_spent()
        for asker in askers:
            lease, state = asker.lease, asker.state
            if lease is None or state is None:
                continue
            before = lease.model_copy(deep=True)
            n_left, usd_left = self._budget.left
            n_lent = 0 if n_left is None else min(n_left, max(state.wants_requests - (lease.max_requests or 0), 0))
            usd_lent = 0.0 if usd_left is None else min(usd_left, max(state.wants_usd - (lease.max_usd or 0.0), 0.0))
            lease.max_requests = None if n_left is None else (lease.max_requests or 0) + n_lent
            lease.max_usd = None if usd_left is None else (lease.max_usd or 0.0) + usd_lent
            is_unlimited = n_left is None and usd_left is None
            lease.is_final = lease.is_final or is_unlimited or is_spent
            lease.is_over = lease.is_over or self._is_stopped()
            lease.parts = parts
            if lease != before:
                self._budget.lend(n_lent, usd_lent)
                changed.append(asker)
        return changed

    def _is_spent(self) -> bool:
        # nothing is left to lend, and every asker that is not settled waits, so that none can give any back
        n_left, usd_left = self._budget.left
        if n_left != 0 and (usd_left is None or usd_left > 0):
            return False
        askers = [each for each in self._landing.askers.values() if each.lease is not None and not each.is_settled]
        if not all(each.is_waiting for each in askers):
            return False
        most_usd = max((each.state.usd_a_request for each in askers if each.state is not None), default=0.0)
        self._reached = self._reached or self._budget.reached(most_usd)
        return True

    def _parts(self) -> dict[str, float]:
        # a model's limits a minute, in equal parts for the shards that may still ask it
        shards: dict[str, set[int]] = {}
        for (model_id, _), shard in self._dealt.items():
            if shard not in self._complete:
                shards.setdefault(model_id, set()).add(shard)
        return {model_id: 1 / len(still) for model_id, still in shards.items()}

    async def _settle(self, askers: Sequence[Asker]) -> None:
        async with self._turn:
            for asker in askers:
                await _in_thread(self._landing.settle, asker)
            self._take_back()

    def _take_back(self) -> None:
        # what an asker that has ended did not spend; an asker that died gives nothing back. What has landed counts as
        # spent, whatever the asker reports
        for asker in self._landing.askers.values():
            lease, state = asker.lease, asker.state
            if not asker.is_settled or asker.name in self._given_back or lease is None or state is None:
                continue
            self._given_back.add(asker.name)
            if asker.has_ended:
                n_spent, usd = max(state.n_requests, lease.n_landed), max(state.usd, lease.usd_landed)
                n_unspent = 0 if lease.max_requests is None else lease.max_requests - n_spent
                self._budget.lend(-n_unspent, 0.0 if lease.max_usd is None else usd - lease.max_usd)

    def _n_missing(self) -> dict[int, int]:
        # by shard
        counts = count_landed(self._warehouse, self._run)
        n_missing: dict[int, int] = {}
        for pair, shard in self._dealt.items():
            n_missing[shard] = n_missing.get(shard, 0) + self._sizes[pair] - counts.get(pair, 0)
        return n_missing


async def _in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    # a cancelled caller keeps waiting for the thread, and so keeps its turn
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def placement_of(purse: Purse, audit_id: str, askers: AskersSetting) -> Placement:
    """Picks where the askers of a run are started: as processes of this machine, or in a work pool."""
    if askers.work_pool is None:
        return ChildProcesses(audit_id, purse.audit_run_id, askers.n, purse.warehouse.path, askers.registry)
    from promptaudit.ask.shards.work_pool import WorkPool  # Prefect takes seconds to import

    return WorkPool(askers.work_pool, audit_id, purse.audit_run_id, askers.n, purse.warehouse.path, purse.say)


def lander_of(purse: Purse, design: Design, variants: Sequence[Variant], askers: AskersSetting) -> Lander | None:
    """Makes the lander of a run that other processes ask; None if this process asks."""
    if askers.n == 1 and askers.work_pool is None:
        return None
    run = purse.audit_run_id
    return Lander(
        warehouse=purse.warehouse,
        audit_run_id=run,
        design=design,
        variants=variants,
        n_shards=askers.n,
        budget=purse.budget,
        folder=askers.folder(purse.warehouse, run),
        say=purse.say,
        placement=placement_of(purse, design.audit_id, askers),
    )
