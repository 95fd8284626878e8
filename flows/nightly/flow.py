"""The nightly audit as a Prefect flow: its schedule, its limits, the names and artifacts people see; the steps are in `night`.

Parameters, artifacts and logs hold ids and figures; nothing is pickled.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from prefect import flow, task
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.client.schemas.objects import State
from prefect.concurrency.sync import concurrency
from prefect.context import FlowRunContext
from prefect.exceptions import FailedRun
from prefect.logging import get_run_logger
from prefect.runner import Runner
from prefect.runtime import flow_run
from prefect.settings import get_current_settings
from prefect.states import Completed, Failed

from flows.alerts.notify import report_link
from flows.audit.check_cards import check_audit
from flows.audit.prefect_server import apart
from flows.audit.prefect_steps import AGAIN, DERIVES, STEP, Steps, end_of, kept_at_hand
from flows.comparison.result import NEWS, run_comparison
from flows.display.figures import shown
from flows.display.progress import Progress
from flows.engines.openai_api.addresses import base_urls
from flows.gate.formats import markdown
from flows.nightly.night import AfterRun, NightResult, is_missed, night
from flows.report.terminal.scorecard import scorecard_rows
from flows.settings import Settings, registry_of, settings_of, silence
from flows.warehouse import Warehouse
from models_registry.cards import AuditCard
from models_registry.errors import CardError, PromptauditError, UsageError, raise_all
from models_registry.registry import Registry

STEPS = 7  # of a night: five of its run, the comparison, and what is told
LEASE_S = 60  # how long a killed night's places stay taken: the least Prefect allows; its own default is 300
FOLDER = "AUDIT_FOLDER"  # the variable, of a worker too, that names the folder with warehouse/ and registry/
FIGURES = ("sensitivity", "sensitivity_corrected", "consistency", "micro_f1", "pss_intra", "pss_inter", "invalid_rate")


@task(name="compare", task_run_name="compare", **STEP | AGAIN | DERIVES)
def compare(audit_run_id: str) -> State[Any]:
    """Compares the run with earlier ones."""
    return end_of("compare", audit_run_id, AfterRun.compare)


@task(name="report", task_run_name="report", **STEP | AGAIN | DERIVES)
def report(audit_run_id: str) -> State[Any]:
    """Writes the run's page, with what changed."""
    return end_of("report", audit_run_id, AfterRun.report)


@task(name="gate", task_run_name="gate", **STEP | DERIVES)
def gate(audit_run_id: str) -> State[Any]:
    """Holds the rules of the audit's card against the run."""
    return end_of("gate", audit_run_id, AfterRun.gate)


@task(name="alert", task_run_name="alert", **STEP)
def alert(audit_run_id: str) -> State[Any]:
    """Settles the alarms, and tells the people of the card."""
    return end_of("alert", audit_run_id, AfterRun.alert)


@task(name="publish", task_run_name="publish", **STEP | AGAIN | DERIVES)
def publish(audit_run_id: str) -> State[Any]:
    """Retires older raw rows, and publishes that the night is finished."""
    return end_of("publish", audit_run_id, AfterRun.publish)


def take(after: AfterRun) -> None:
    """Takes the steps that follow a night's run, each as a task."""
    with kept_at_hand(Steps(after)) as steps:
        for step in (compare, report, gate, alert, publish):
            steps.run(step)


def night_name() -> str:
    """What a person calls a run of the flow: `nightly quickstart 2026-11-22`."""
    parameters: dict[str, Any] = flow_run.parameters or {}
    return f"nightly {parameters.get('audit_id', '')} {datetime.now(UTC):%Y-%m-%d}"


@flow(name="nightly", flow_run_name=night_name, persist_result=False)
def nightly(audit_id: str, warehouse: str | None = None, *, new: bool = False) -> State[Any]:
    """One night of an audit; the run fails when its gate does, or when it could not be measured, and says so."""
    silence()
    for logger in ("prefect.engine", "prefect.flow_runs"):
        logging.getLogger(logger).addFilter(_is_news)
    if (folder := Path(os.environ.get(FOLDER, ""))).is_absolute():
        os.chdir(folder)
    log = get_run_logger()
    bar = Bar(log.info, log.warning)
    try:
        settings = settings_of(None if warehouse is None else Path(warehouse))
        card, limits = _card_and_limits(settings, audit_id)
        scheduled_at = _scheduled_at()
        if card is not None and scheduled_at is not None and is_missed(card, scheduled_at):
            said = f"the night of {scheduled_at:%Y-%m-%d %H:%M} UTC: a later one is due already"
            return Failed(name="Missed", message=said)
        with held(limits, bar):
            told = night(
                settings, lambda: registry_of(settings), audit_id, bar, new=new, scheduled_at=scheduled_at, take=take
            )
    except PromptauditError as error:
        said = f"exit code {error.exit_code}: {type(error).__name__}; the worker's output says it whole"
        bar.warn(str(error))
        return Failed(name=OUTCOMES.get(error.exit_code, "Failed"), message=said)
    show_artifacts(settings, told, bar)
    message = f"exit code {told.exit_code}: {told.checked.headline}"
    if told.is_repeated:
        message = f"nothing was asked, this night had been measured; {message}"
    if told.exit_code:
        return Failed(name=OUTCOMES[told.exit_code], message=message)
    return Completed(name="Already measured" if told.is_repeated else None, message=message)


OUTCOMES = {1: "Gate failed", 3: "Could not measure", 4: "Budget reached"}


def _card_and_limits(settings: Settings, audit_id: str) -> tuple[AuditCard | None, list[str]]:
    """The audit's card and its night's limits; None of cards that cannot be read: the night says, and tells, what is wrong."""
    try:
        registry = registry_of(settings)
        return registry.audit(audit_id), limits_of(registry, audit_id)
    except PromptauditError:
        return None, ["warehouse"]


def _scheduled_at() -> datetime | None:
    """The time for which a schedule made this run, in UTC and without a zone; None of a run that somebody asked for."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or not context.flow_run.auto_scheduled:
        return None
    at: datetime = flow_run.scheduled_start_time
    return at.astimezone(UTC).replace(tzinfo=None)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether Prefect may log it: a run that ended in a failed state of ours says so by that state, and has no stack to show."""
    return record.exc_info is None or not isinstance(record.exc_info[1], FailedRun)


@contextlib.contextmanager
def held(limits: list[str], bar: Bar) -> Iterator[None]:
    """The named limits held, as far as the server has them; while it is away a night goes on without."""
    places = concurrency(limits, lease_duration=LEASE_S, strict=False)
    with contextlib.ExitStack() as stack:
        bar.show(lambda: stack.enter_context(places))
        try:
            yield
        finally:
            bar.is_away = False  # it may be back
            bar.show(stack.close)


class Bar(Progress):
    """Says the steps of a night in its logs, and how far it is in a progress artifact; answers are shown in neither."""

    def __init__(self, info: Callable[[str], None], warning: Callable[[str], None]) -> None:
        super().__init__(quiet=True)
        self._info, self._warning, self._n_steps, self.is_away = info, warning, 0, False
        self._bar = self.show(lambda: create_progress_artifact(0.0, key="night", description="how far the night is"))

    def show(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever Prefect gives
        """What Prefect's server is asked to keep, or None: it fails no night, and once away is not waited for again."""
        if self.is_away:
            return None
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises
            self.is_away = _is_outage(error)
            self._warning(f"Prefect's server did not take it: {type(error).__name__}")
            return None

    def step(self, text: str) -> None:
        """One line, and one step of the bar."""
        self._info(text)
        self.heard(text)
        self._n_steps += 1
        self._move(100 * min(self._n_steps, STEPS - 1) / STEPS)

    def warn(self, text: str) -> None:
        """A line that should not be missed: that there is one, and in the worker's own output what."""
        self._warning("a warning, which the worker's output has whole")
        super().warn(text)

    def end(self) -> None:
        """The bar full."""
        self._move(100.0)

    def _move(self, percent: float) -> None:
        if self._bar is not None:
            self.show(lambda: update_progress_artifact(self._bar, percent))


def show_artifacts(settings: Settings, told: NightResult, bar: Bar) -> None:
    """The scorecard, what differs from earlier runs, the gate and where the report is, as artifacts of the run."""
    warehouse, key = Warehouse(settings.warehouse), _key(told.audit_id)
    bar.show(
        lambda: create_table_artifact(
            [_figures(row) for row in scorecard_rows(warehouse, told.audit_run_id)],
            key=f"scorecard-{key}", description=f"run {told.audit_run_id}",
        )
    )  # fmt: skip
    bar.show(
        lambda: create_table_artifact(
            [
                _difference(row)
                for each in told.comparison_ids
                for row in run_comparison(warehouse, each).rows
                if row["verdict"] in NEWS
            ],
            key=f"comparison-{key}", description="what differs by more than chance",
        )
    )  # fmt: skip
    bar.show(lambda: create_markdown_artifact(markdown(told.checked), key=f"gate-{key}", description="the gate"))
    link = report_link(warehouse, told.audit_run_id, settings)
    report_key, about = f"report-{key}", "the run's page"
    if "://" in link:
        bar.show(lambda: create_link_artifact(link, "report", key=report_key, description=about))
    else:  # no page of a server may link to a file
        where = f"On the worker, since PROMPTAUDIT_REPORT_URL names no address:\n\n```\n{shown(link)}\n```"
        bar.show(lambda: create_markdown_artifact(where, key=report_key, description=about))
    bar.end()


def limits_of(registry: Registry, audit_id: str) -> list[str]:
    """The named limits a night holds where the server has them: the warehouse, each provider, each GPU; raises CardError."""
    names = {"warehouse"}
    cards = [registry.model(model_id) for model_id in registry.models_of(audit_id)]
    for card in cards:
        if card.is_by_vllm:
            names.add("gpu-0")
        elif card.engine in ("openai_api", "batch"):
            names |= {f"provider-{_key(_provider(urlsplit(url).hostname or ''))}" for url in base_urls(card)}
    return sorted(names)


def serve_nightly(settings: Settings, registry: Registry, audit_id: str, progress: Progress) -> None:
    """Serves the flow on the schedule of the audit's card until interrupted; a server of Prefect has to be there."""
    raise_all(check_audit(registry, audit_id).errors)
    card = registry.audit(audit_id)
    if card.schedule is None:
        msg = f"audit '{audit_id}' has no schedule; put one in its card: schedule: \"0 2 * * *\""
        raise CardError(msg)
    if not get_current_settings().api.url:
        msg = "PREFECT_API_URL names no server; start one with `prefect server start` and set it"
        raise UsageError(msg)
    progress.say(f"serving '{audit_id}' on '{card.schedule}' (UTC); Ctrl-C ends it")
    runner = Server(name=f"nightly {audit_id}", limit=1, pause_on_shutdown=False)
    runner.add_flow(
        nightly,
        name=f"nightly {audit_id}",
        cron=card.schedule,
        parameters={"audit_id": audit_id, "warehouse": str(settings.warehouse.resolve())},
        tags=["promptaudit", audit_id],
    )
    os.environ[FOLDER] = str(Path.cwd())  # of its nights, whose processes start apart as well
    with apart():
        asyncio.run(runner.start())


class Server(Runner):
    """Serves until interrupted: SIGTERM ends it, and the night it is in, as Ctrl-C does."""

    def handle_sigterm(self, *_: object) -> None:
        """In place of Prefect's own, which leaves with 0; without its night it need not wait for that to end."""
        for served in multiprocessing.active_children():
            served.terminate()
        signal.raise_signal(signal.SIGINT)


def _is_outage(error: BaseException | None) -> bool:
    """Whether an error came of a server that did not answer in all the tries of Prefect's client, rather than refused."""
    while error is not None and not isinstance(error, httpx.TransportError):
        error = error.__cause__
    return error is not None


def _figures(row: dict[str, Any]) -> dict[str, Any]:
    names = {name: row[name] for name in ("model_id", "task_id", "strategy", "n_samples", "n_variants")}
    return names | {name: _rounded(row[name]) for name in FIGURES}


def _difference(row: dict[str, Any]) -> dict[str, Any]:
    names: Sequence[str] = ("verdict", "model_id", "task_id", "strategy", "measure", "cause", "base_run_id")
    figures = ("base", "candidate", "difference", "difference_low", "difference_high", "q_value")
    return {name: row[name] for name in names} | {name: _rounded(row[name]) for name in figures}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


def _key(name: str) -> str:
    """A name as Prefect takes keys: lower case letters, digits and dashes."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-") or "audit"


def _provider(host: str) -> str:
    """The name a provider goes by: `openai` of api.openai.com, an address or a plain host as it is."""
    labels = host.split(".")
    is_address = host.replace(".", "").isdigit()
    return "-".join(labels) if is_address or len(labels) < 2 else labels[-2]  # noqa: PLR2004 - a host and its domain
