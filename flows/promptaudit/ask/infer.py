"""Turns requests into predictions: asks every missing cell of a run and lands its answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence

from promptaudit.ask.first_answers import Ceiling, Look, label_reader, own_readers_of
from promptaudit.ask.land import landing_in
from promptaudit.ask.reader_advice import ReaderAdvice
from promptaudit.ask.shards.lander import Lander
from promptaudit.ask.workers import AskBatch, AskResult, OnAnswer, Workers, as_it_is
from promptaudit.engines import Answer, LandedWithoutAnswer, Request
from promptaudit.plan.budget import Purse, Spending
from promptaudit.plan.cells import CellsInWarehouse, Variant, missing_by_model, missing_requests
from promptaudit.plan.design import Design, model_order
from promptaudit.registry.ages import age_of
from promptaudit.registry.cards import ModelCard, Price
from promptaudit.registry.errors import PromptauditError
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import reader_json

MEND = "mend the prompt or the reader, or raise format.max_invalid_rate_at_first"


def infer(
    purse: Purse,
    design: Design,
    variants: Sequence[Variant],
    on_answer: OnAnswer,
    ask_batch: AskBatch = as_it_is,
    lander: Lander | None = None,
) -> AskResult:
    """Asks every missing cell of a run and lands the answers; returns how many, and notes on the models.

    `ask_batch` runs the cells of a model. With a `lander` other processes ask the models that are asked over a network.

    Raises BudgetReached, EngineError or MeasureError (the first answers are no labels), and KeyboardInterrupt, after
    landing the answers up to then.
    """
    landing = landing_in(purse.warehouse, purse.audit_run_id)
    workers = Workers(purse.budget, landing, on_answer, age_of(design.audit.retry_within), ask_batch, purse.say)
    return workers.run(_Inference(purse, design, variants, workers, on_answer, lander).ask_all())


class ModelWork:
    """Provides the missing cells of one model: its first answers are checked, all of them land."""

    what = "model"

    def __init__(
        self,
        design: Design,
        model_id: str,
        variants: Sequence[Variant],
        requests: Iterator[Request],
        workers: Workers,
        landed: LandedAnswers | None = None,
        n_missing: int = 0,
    ) -> None:
        self.name = model_id
        self.entry = design.registry.entry("models", model_id)
        self.requests = requests
        self.landed: Callable[[str, Request], str | None] | None = landed
        self._landing = workers.landing
        tasks = {task_id: reader_json(card) for task_id, card in design.tasks.items()}
        readers = {v.prompt_variant_id: v.reader or tasks[v.task_id] for v in variants}
        allowed = design.audit.format.max_invalid_rate_at_first
        own = own_readers_of({readers[v.prompt_variant_id]: f"task '{v.task_id}'" for v in variants})
        files = {
            task_id: design.registry.entry("tasks", task_id).file
            for task_id, card in design.tasks.items()
            if card.kind == "classification"
        }
        advice = ReaderAdvice(files, label_reader(readers, own))
        noun = "JSON object of the fields" if all(card.fields for card in design.tasks.values()) else "label"
        self._look = Look(f"model '{model_id}'", noun, advice.read, allowed, workers.say, MEND, advice.lines, n_missing)
        self._ceiling = Ceiling()

    async def admit(self) -> None:
        """Waits while the check of the first answers lets no more out."""
        await self._look.admit()

    def take(self, request: Request, answer: Answer, price: Price | None) -> None:
        """Lands an answer; raises MeasureError when too many of the first are no labels."""
        self._landing.add(request, answer, price)
        self._ceiling.see(request.messages, answer.prompt_tokens)
        self._look.see(request, answer)

    def end(self) -> None:
        """Lets every request that waits for the check pass."""
        self._look.end()

    def notes(self) -> list[str]:
        """Reports that the server seems to cut long prompts, if it does."""
        ceiling = self._ceiling.note()
        return [] if ceiling is None else [ceiling]


class _Inference:
    def __init__(
        self,
        purse: Purse,
        design: Design,
        variants: Sequence[Variant],
        workers: Workers,
        on_answer: OnAnswer,
        lander: Lander | None,
    ) -> None:
        self.purse, self.design, self.workers, self.on_answer = purse, design, workers, on_answer
        self._variants = in_order(variants)
        self._lander = lander

    async def ask_all(self) -> None:
        for names in model_order(self.design):
            async with asyncio.TaskGroup() as group:
                for model_id in names:
                    if self._lander is None or model_id not in self._lander.model_ids:
                        group.create_task(self._ask(model_id))
                if self._lander is not None and not self._lander.model_ids.isdisjoint(names):
                    group.create_task(self._lander.ask_all(self.workers, self.on_answer))
            # a model that perturbs another's answers reads them from the warehouse
            self.workers.landing.flush()

    def missing(self, model_id: str) -> Iterator[Request]:
        run = self.purse.audit_run_id
        return missing_requests(CellsInWarehouse(self.purse.warehouse, run), run, self.design, model_id, self._variants)

    async def _ask(self, model_id: str) -> None:
        card = self.design.models[model_id]
        if card.engine != "batch":
            run, warehouse = self.purse.audit_run_id, self.purse.warehouse
            n_missing = missing_by_model(warehouse, run, self.design, self._variants)[model_id]
            landed, requests = LandedAnswers(warehouse, run), self.missing(model_id)
            await self.workers.ask(
                ModelWork(self.design, model_id, self._variants, requests, self.workers, landed, n_missing)
            )
        elif self.workers.stopped_by is None and next(self.missing(model_id), None) is not None:
            with contextlib.suppress(PromptauditError):  # the workers know what stopped them
                await self.workers.ask_batch(model_id, lambda: self._ask_in_batches(model_id, card))

    async def _ask_in_batches(self, model_id: str, card: ModelCard) -> None:
        from promptaudit.ask.ask_in_batches import BatchContext, ask_in_batches, open_batches

        workers, spending = self.workers, Spending(self.purse.budget, card)

        def take(request: Request, answer: Answer) -> None:
            spending.settle(request, answer)
            workers.landing.add(request, answer, spending.price)
            self.on_answer(model_id, answer, None)

        context = BatchContext(
            self.purse.warehouse,
            self.purse.audit_run_id,
            model_id,
            card,
            lambda: self.missing(model_id),
            spending.set_aside,
            take,
            workers.landing.flush,
            self.purse.say,
            lambda: workers.stopped_by is not None,
        )
        try:
            batches = open_batches(card, self.purse.warehouse)
            workers.land_served(model_id, card, batches.served)
            try:
                await ask_in_batches(batches, context)
            finally:
                await batches.close()
            workers.note("model", model_id, batches.notes)
            spending.release()
        except PromptauditError as error:
            workers.stop(error)
            raise


def in_order(variants: Sequence[Variant]) -> list[Variant]:
    """Sorts variants by strategy; inside a strategy the order of the prompts stays.

    Prompts that begin alike follow each other, for the servers' caches.
    """
    order = list(dict.fromkeys(variant.strategy for variant in variants))
    return sorted(variants, key=lambda variant: order.index(variant.strategy))


class LandedAnswers:
    """Looks up completions that another model has landed in the same run, a prompt variant at a time."""

    def __init__(self, warehouse: Warehouse, audit_run_id: str) -> None:
        self._warehouse, self._run = warehouse, audit_run_id
        self._read_for: tuple[str, str] | None = None
        self._completions: dict[tuple[str, int], str | None] = {}

    def __call__(self, model_id: str, request: Request) -> str | None:
        """Looks up the landed completion of the same cell by `model_id`; None if none has landed.

        Raises LandedWithoutAnswer for a cell that has landed without a completion.
        """
        wanted = (model_id, request.prompt_variant_id)
        if wanted != self._read_for:
            rows = self._warehouse.read(
                "select sample_id, repetition, completion from raw.predictions where audit_run_id = $run "
                "and model_id = $model and prompt_variant_id = $variant",
                run=self._run,
                model=model_id,
                variant=request.prompt_variant_id,
            )
            self._completions = {(row["sample_id"], row["repetition"]): row["completion"] for row in rows}
            self._read_for = wanted
        cell = (request.sample_id, request.repetition)
        if cell in self._completions and self._completions[cell] is None:
            raise LandedWithoutAnswer
        return self._completions.get(cell)
