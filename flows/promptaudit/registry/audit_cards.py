"""Defines the cards of audits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BeforeValidator, Field

from promptaudit.registry.ages import Age
from promptaudit.registry.base import Card, Name, Names, Rate, SomeNames, listed
from promptaudit.registry.errors import nearest
from promptaudit.registry.expectation_suites import ExpectationSuite
from promptaudit.registry.gates import sound_rule
from promptaudit.registry.rephraser_cards import Rephrasing

Policy = Literal["fail", "quarantine", "warn"]
Strategy = Literal["simple", "detail", "one_shot", "structured"]
_Strategies = Annotated[tuple[Strategy, ...], Field(min_length=1)]
_BLOCK = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")


def sound_block(text: str) -> str:
    """Accepts the name of a block of Prefect's server, `type/name`.

    Raises ValueError for others. It does not quote them.
    """
    if _BLOCK.fullmatch(text) is None:
        msg = "a block is named by its type and name on Prefect's server, such as slack-webhook/oncall; its address stays there"
        raise ValueError(msg)
    return text


class Repetitions(Card):
    """The number of times each wording is asked."""

    original: int = Field(10, ge=1, le=10_000, description="the original wording")
    variants: int = Field(2, ge=1, le=10_000, description="each rephrasing; 2 separates wording from noise")
    twice: float | None = Field(
        None,
        gt=0,
        lt=1,
        description=(
            "the share of samples for which wordings that are asked once are asked a second time, drawn by the seed of "
            "`samples`; it separates wording from noise at a part of the price; default: none"
        ),
    )

    def of_every_sample(self, *, is_original: bool) -> int:
        """Gives how often the original wording, or a rephrasing, is asked for each sample."""
        return self.original if is_original else self.variants

    def at_most(self, *, is_original: bool) -> int:
        """Gives the most asks of a wording for one sample: one more where `twice` repeats wordings asked once."""
        n = self.of_every_sample(is_original=is_original)
        return n + 1 if n == 1 and self.twice is not None else n

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        if self.twice is not None and self.variants != 1:
            yield f"twice is a share of what is asked once, and variants is {self.variants}; write variants: 1"


class SamplesOfTask(Card):
    """The choice of the rows of one task, where it differs from the audit's."""

    limit: int | None = Field(None, ge=1, description="at most this many rows; default: the audit's")
    balanced: bool | None = Field(None, description="as in `samples`; default: the audit's")


class Samples(Card):
    """The choice of the rows that are asked."""

    limit: int | None = Field(None, ge=1, description="at most this many rows; default: all")
    seed: int = Field(42, description="seed of the hash that orders the rows")
    balanced: bool = Field(
        default=True, description="whether every gold label gets the same number of rows, as far as they reach"
    )
    each_night: int | None = Field(
        None,
        ge=10,
        description=(
            "at most this many of the chosen rows in one run, and the next ones in the next run, so that figures rest "
            "on more samples than one night pays for; default: all in every run"
        ),
    )
    by_task: dict[Name, SamplesOfTask] = Field(
        default_factory=dict, description="task id to the limit and the balance that hold for that task only"
    )

    def of(self, task_id: str) -> Samples:
        """Builds the choice that holds for a task: the task's own values where it has some, else the audit's."""
        own = self.by_task.get(task_id, SamplesOfTask())
        return Samples(
            limit=self.limit if own.limit is None else own.limit,
            seed=self.seed,
            balanced=self.balanced if own.balanced is None else own.balanced,
            each_night=self.each_night,
        )

    def n_panels(self, n_rows: int) -> int:
        """Counts the panels that so many rows are split into; 1 if all are asked in every run."""
        return 1 if self.each_night is None else max(1, math.ceil(n_rows / self.each_night))

    def in_one_run(self, n_rows: int) -> int:
        """Counts the rows of the largest panel of so many rows."""
        return math.ceil(n_rows / self.n_panels(n_rows))


def _file_or_suite(value: object) -> object:
    is_suite = isinstance(value, ExpectationSuite) or (
        isinstance(value, dict) and "sha256" in value
    )  # as a run keeps it
    if value is None or is_suite or (isinstance(value, str) and "\0" not in value):
        return value
    msg = "the name of a JSON file in the registry folder"
    raise ValueError(msg)


class FormatLimits(Card):
    """The limits that a variant's answers must keep, checked before anything is aggregated."""

    max_invalid_rate: Rate = Field(0.1, description="share of landed answers that are not valid")
    max_invalid_rate_at_first: Rate = Field(
        0.5,
        description=(
            "share of a model's first 50 answers that may be no label; if more are, the run stops before the others "
            "cost anything"
        ),
    )
    max_error_rate: Rate = Field(0.1, description="share of planned cells that ended in an error")
    expectations: Annotated[
        ExpectationSuite | str | None, BeforeValidator(_file_or_suite, json_schema_input_type=Name)
    ] = Field(
        None,
        description=(
            "your own suite of Great Expectations over the same summary: a JSON file, relative to the registry, as "
            "`suite.to_json_dict()` writes it; the policy decides what follows when an expectation fails; default: "
            "none"
        ),
    )
    policy: Policy = Field(
        "warn",
        description=(
            "what follows when a limit is broken: fail (the run is not measured) or warn. Every wording counts in every figure "
            "either way; quarantine, of before, means warn"
        ),
    )

    @property
    def notes(self) -> tuple[str, ...]:
        """Lists notes to print about a policy whose meaning has changed."""
        if self.policy != "quarantine":
            return ()
        return (
            "policy quarantine means warn now: every wording counts in every figure, and those that break are named beside it",
        )

    @property
    def suite(self) -> ExpectationSuite | None:
        """Gives the suite of a loaded card; None if it names none."""
        return self.expectations if isinstance(self.expectations, ExpectationSuite) else None


class Budget(Card):
    """The limits at which a run stops."""

    max_usd: float | None = Field(None, ge=0, description="the most that a run may spend, in US dollars")
    max_requests: int | None = Field(None, ge=0, description="the most requests that a run may send")


def sound_schedule(value: str) -> str:
    """Accepts a cron expression of five fields and gives it back unchanged; raises ValueError for any other text."""
    fields = value.split()
    try:
        CronSim(value, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        msg = f"{value!r} is no cron expression: {error}; every night at two is '0 2 * * *'"
        raise ValueError(msg) from None
    if len(fields) != 5:  # noqa: PLR2004 - minute, hour, day, month, weekday
        msg = f"{value!r} has {len(fields)} fields, cron's are five; every night at two is '0 2 * * *'"
        raise ValueError(msg)
    return value


NAskers = Annotated[int, Field(ge=1, le=1000)]


def _askers(value: object) -> object:
    return {"n": value} if isinstance(value, int | str) else value


class Askers(Card):
    """The processes that ask an audit's models beside each other, each a shard of the cells."""

    n: NAskers = Field(1, description="how many processes ask; with 1 the run asks by itself")
    work_pool: Name | None = Field(
        None, description="the work pool of Prefect's server whose workers run them; default: processes of this machine"
    )


class Retention(Card):
    """The number of older runs whose raw rows the warehouse keeps; others are written to files beside it before they leave."""

    raw_nights: int | None = Field(
        None, ge=1, description="how many of the newest complete runs keep their raw rows; default: all"
    )


class AuditCard(Card):
    """An audit: the design tasks × models × strategies × wordings × repetitions, and the gate for its runs."""

    tasks: SomeNames = Field(description="task cards")
    models: SomeNames = Field(description="model cards")
    strategies: Annotated[_Strategies, BeforeValidator(listed, json_schema_input_type=Strategy | _Strategies)] = Field(
        ("simple",), description="how the instruction is dressed"
    )
    rephrasing: Rephrasing | None = Field(None, description="default: the original wording alone")
    repetitions: Repetitions = Field(default_factory=Repetitions, description="how often each wording is asked")
    samples: Samples = Field(default_factory=Samples, description="which rows are asked")
    format: FormatLimits = Field(default_factory=FormatLimits, description="limits on the answers' format")
    judges: Names = Field((), description="judge cards")
    model_sets: dict[Name, Names] = Field(
        default_factory=dict, description="named subsets of the models, ranked on their own beside all of them"
    )
    budget: Budget = Field(default_factory=Budget, description="the limits at which a run stops")
    askers: Annotated[Askers, BeforeValidator(_askers, json_schema_input_type=NAskers | Askers)] = Field(
        default_factory=Askers, description="how many processes ask: a number, or {n: …, work_pool: …}"
    )
    gate: Annotated[
        tuple[Annotated[str, AfterValidator(sound_rule)], ...],
        BeforeValidator(listed, json_schema_input_type=str | tuple[str, ...]),
    ] = Field((), description="rules that a run must pass, in the grammar of flows/promptaudit/registry/gates.py")
    critical: Names = Field(
        (),
        description=(
            "samples that must not be lost: ids, or columns of the data that say yes, true or 1; where there are any, "
            "the rule `no sample lost` is about these only"
        ),
    )
    max_age: Age = Field(
        "36h", description="how long after its start the gate takes a run for today's: a whole number with m, h, d or w"
    )
    retry_within: Age = Field(
        "1h",
        description=(
            "how long cells that failed for now are asked again, in rounds, as long as each round lands answers: a "
            "whole number with m, h, d or w"
        ),
    )
    max_duration: Age | None = Field(
        None,
        description="how long a night may take before it is stopped: a whole number with m, h, d or w; default: until the next "
        "one of the schedule is due, at most a day",
    )
    min_effect: Rate = Field(0.02, description="smallest difference between two runs that counts as a difference")
    max_cost_increase: float | None = Field(
        None,
        ge=0,
        description="share by which a run may cost more than the one before; default: a rise is reported and never judged",
    )
    max_latency_increase: float | None = Field(
        None,
        ge=0,
        description=(
            "share by which answers may take longer than in the run before; default: a rise is reported and never "
            "judged"
        ),
    )
    retention: Retention = Field(default_factory=Retention, description="what is kept of older runs")
    notify_blocks: Annotated[
        tuple[Annotated[str, AfterValidator(sound_block)], ...],
        BeforeValidator(listed, json_schema_input_type=str | tuple[str, ...]),
    ] = Field(
        (),
        description="whom Prefect's server tells of a deployed night that is late, crashed or missed: its notification "
        "blocks, as slack-webhook/oncall",
    )
    schedule: Annotated[str, AfterValidator(sound_schedule)] | None = Field(
        None, description="when `promptaudit serve` begins a night: a cron expression of five fields, UTC"
    )
    seed: int = Field(20250601, description="seed of every resample of the measures")
    resamples: int = Field(1000, ge=0, le=100_000, description="how many resamples each interval takes")

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        for field in ("tasks", "models", "strategies", "judges"):
            names: Any = getattr(self, field)
            if len(set(names)) != len(names):
                yield f"{field} names one thing twice"
        for name in self.samples.by_task:
            if name not in self.tasks:
                yield f"samples.by_task names '{name}', which the audit does not ask{nearest(name, set(self.tasks))}"
        if "all" in self.model_sets:
            yield "model_sets: 'all' is the set of all models"
