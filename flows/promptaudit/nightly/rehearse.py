"""Rehearses an audit's alarm: puts a fault into copies of recorded nights and finds the first night that reports it.

Nobody is asked and nothing is written to the warehouse: its published copy is copied, and each night is gone through
there as `nightly` goes through one whose answers have landed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from promptaudit.audit.steps import AuditRun, RunOptions, derive
from promptaudit.gate.alerts.alarms import Changes, Key, Problem
from promptaudit.gate.alerts.message import Message, Night, compose
from promptaudit.gate.night_rules import FULL_RULE
from promptaudit.nightly.after_run import AfterRun, NightContext, finish
from promptaudit.nightly.faults import Answer, Copy, Fault, incident_of, land_faulty
from promptaudit.registry.audit_cards import AuditCard, Retention
from promptaudit.registry.errors import MeasureError, UsageError, WarehouseError
from promptaudit.registry.registry import Registry
from promptaudit.system.child_processes import guarded
from promptaudit.system.clock import now
from promptaudit.system.display.encode import NOT_ENCODED, encoded_property
from promptaudit.system.display.progress import Progress
from promptaudit.system.files import private_folder
from promptaudit.system.helper_processes import CHECKS, DBT, start
from promptaudit.system.keys import content_id
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.run_names import chosen
from promptaudit.warehouse.sql import sql

NIGHTS = 3
"""How many nights a rehearsal has at most. A fault has to be noticed within so many nights of its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedNight:
    """Describes a night of a rehearsal: the run it copies, its state against normal nights, its message if any."""

    audit_run_id: str
    copy_of: str
    started_at: datetime
    state: str
    exit_code: int
    is_told: bool
    composed: Message | None = field(metadata=NOT_ENCODED)
    report: Path | None = None

    @encoded_property
    def title(self) -> str | None:
        """Gives the title of the night's message; None without one."""
        return None if self.composed is None else self.composed.title

    @encoded_property
    def message(self) -> str | None:
        """Gives the text of the night's message; None without one."""
        return None if self.composed is None else self.composed.text

    @property
    def line(self) -> str:
        """Writes its date, its state against normal nights, its exit code, and the title of its message, if any."""
        title = "" if self.title is None else f"  {self.title}"
        return f"{self.started_at:%Y-%m-%d}  {self.state.replace('_', ' '):<12}  exit code {self.exit_code}{title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Says which nights would have reported a fault. `n_before` of its nights are from before the fault."""

    audit_id: str
    fault: str
    model_id: str
    task_id: str
    strategy: str
    n_normal: int
    nights: tuple[RehearsedNight, ...]
    n_before: int = 0

    @encoded_property
    def told_on(self) -> int | None:
        """Gives the first night that reports it, counted from 1, the night on which the fault begins; None if none does."""
        nights = enumerate(self.nights[self.n_before :], start=1)
        return next((number for number, night in nights if night.is_told), None)

    @property
    def reporting_night(self) -> RehearsedNight | None:
        """Gives the first night that reports the fault; None if none does."""
        return None if self.told_on is None else self.nights[self.n_before + self.told_on - 1]

    @encoded_property
    def exit_code(self) -> int:
        """Gives 0 if a night reports the fault, else 1."""
        return int(self.told_on is None)

    def lines(self) -> Iterator[str]:
        """Writes on which night the fault was reported, with the whole message and where its page lies."""
        who = f"{self.fault}: {self.model_id} / {self.task_id} / {self.strategy}"
        against = f"against {self.n_normal} normal nights"
        night = self.reporting_night
        if night is None:
            yield f"NOT TOLD  {who}, on none of {len(self.nights)} nights, {against}"
            return
        yield f"TOLD      {who}, on night {self.told_on}, {against}"
        yield from ("", night.title or "", "", *(night.message or "").splitlines(), "")
        if night.report:
            yield f"report    {night.report}"
        else:
            yield "kept      nothing; --folder keeps the nights and their pages"


class Recorded(NamedTuple):
    """Describes a model under a task and strategy on an audit's newest night.

    `runs` are its normal nights whose answers are in the warehouse and not in the archive.
    """

    model_id: str
    task_id: str
    strategy: str
    state: str
    started_at: datetime
    n_normal: int
    runs: list[str] | None

    @property
    def is_ready(self) -> bool:
        """Checks whether a fault that begins now would be compared with enough normal nights."""
        return self.state == "normal" and self.n_normal >= FULL_RULE and bool(self.runs)

    def key(self) -> Key:
        """Makes the key that an alarm about this model, task and strategy touches."""
        return Key("regressed", self.model_id, self.task_id, self.strategy, None, None)


@contextlib.contextmanager
def kept_apart() -> Iterator[None]:
    """Switches off the lake, the events of lineage and Prefect for the block, by environment variables."""
    kept = dict(os.environ)
    try:
        for name in [each for each in os.environ if each.upper() in ("PROMPTAUDIT_LAKE", "PROMPTAUDIT_LINEAGE")]:
            del os.environ[name]
        os.environ |= {"PROMPTAUDIT_LINEAGE": "off", "PROMPTAUDIT_PREFECT": "off"}
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


@contextlib.contextmanager
def place_for(folder: Path | None) -> Iterator[Path]:
    """Yields an empty folder for a rehearsal: the named one, or a temporary one that is deleted after the block.

    Raises UsageError if the named folder is in use.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="promptaudit-") as temporary:
            yield Path(temporary)
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = f"--folder {folder}: there is something already; name a folder that is new or empty"
        raise UsageError(msg)
    private_folder(folder)
    yield folder


def context_of(settings: Settings, card: AuditCard, audit_id: str, folder: Path) -> NightContext:
    """Makes a night's context in a folder of its own; such a night sends no message and retires nothing."""
    apart = dict.fromkeys(("notify", "heartbeat_url", "report_url", "lake", "lake_data", "spool"))
    return NightContext(
        settings=settings.model_copy(update={**apart, "warehouse": folder / "warehouse" / "audit.duckdb"}),
        card=card.model_copy(update={"retention": Retention()}),
        audit_id=audit_id,
        progress=Progress(quiet=True),
        scheduled_at=None,
    )


def rehearse(
    settings: Settings,
    registry: Registry,
    audit_id: str,
    fault: Fault,
    progress: Progress,
    *,
    names: Mapping[str, str | None],
    folder: Path | None = None,
) -> Rehearsal:
    """Puts a fault into copies of the newest recorded nights of an audit, as its next nights, until one reports it.

    The fault is in one model under one task and strategy. `names` narrows the choice by model, task and
    strategy; of what is left, the one with most right answers is struck, or the first if a judge is swapped.

    Raises:
        UsageError: the names, the folder or the fault do not fit what was recorded.
        MeasureError: too few normal nights are recorded, or an alarm stands.
    """
    card = registry.audit(audit_id)
    published = Warehouse(settings.warehouse).published
    recorded = []
    if published.path.is_file():
        recorded = rows_as(Recorded, published.read(sql("nightly", "recorded_nights"), audit=audit_id))
    ready = _ready(recorded, audit_id, names, fault)
    with kept_apart(), guarded(), place_for(folder) as place:
        context = context_of(settings, card, audit_id, place)
        _copy(published.path, context.warehouse)
        start(DBT, context.warehouse.places.file.name)
        start(CHECKS)
        struck, answers = _struck(context.warehouse, ready, fault)
        incident = incident_of(fault, answers)
        runs, nights = (struck.runs or [])[-NIGHTS:], []
        began = max(struck.started_at + timedelta(days=1), now())
        for night in range(NIGHTS):
            source = runs[night % len(runs)]
            own = content_id("rehearsed", source, str(fault), str(night))
            copy = Copy(source=source, audit_run_id=own, started_at=began + timedelta(days=night))
            progress.say(f"night {night + 1} with {fault}: a copy of {source}")
            land_faulty(context.warehouse, copy, incident, _answers(context.warehouse, struck, source), night)
            nights.append(_night(context, struck, copy, keeps=folder is not None))
            if nights[-1].is_told:
                break
        return Rehearsal(
            audit_id=audit_id,
            fault=str(fault),
            model_id=struck.model_id,
            task_id=struck.task_id,
            strategy=struck.strategy,
            n_normal=struck.n_normal,
            nights=tuple(nights),
        )


def _ready(recorded: list[Recorded], audit_id: str, names: Mapping[str, str | None], fault: Fault) -> list[Recorded]:
    if recorded:
        recorded = chosen(recorded, f"the newest night of '{audit_id}' has none", **names)
    own = [each for each in recorded if each.model_id.startswith("judge:") == fault.swaps_judge]
    if recorded and not own:
        what = "no judge" if fault.swaps_judge else "a judge alone"
        msg = f"the newest night of '{audit_id}' has {what} there; --swap-judge is about judges, every other fault about models"
        raise UsageError(msg)
    ready = [each for each in own if each.is_ready]
    if not ready:
        most = max((each.n_normal for each in own), default=0)
        again = f"`promptaudit nightly {shlex.quote(audit_id)}` records one"
        states = ", ".join(sorted({each.state.replace("_", " ") for each in own if each.state != "normal"}))
        why = f"it has {most} of the {FULL_RULE} normal nights that a rehearsal needs: {again}"
        if most >= FULL_RULE:
            why = f"its newest night is {states}" if states else "the answers of its normal nights are in the archive"
        msg = f"whether '{audit_id}' would tell cannot be told: {why}"
        raise MeasureError(msg)
    return ready


def _copy(published: Path, warehouse: Warehouse) -> None:
    private_folder(warehouse.path.parent)
    try:
        shutil.copyfile(published, warehouse.path)
    except OSError as error:
        msg = f"{published} cannot be copied to {warehouse.path.parent}: {error.strerror}"
        raise WarehouseError(msg) from None


def _answers(warehouse: Warehouse, group: Recorded, run: str) -> list[Answer]:
    of = {"run": run, "model": group.model_id, "task": group.task_id, "strategy": group.strategy}
    return rows_as(Answer, warehouse.read(sql("nightly", "answers_of_night"), **of))


def _struck(warehouse: Warehouse, ready: list[Recorded], fault: Fault) -> tuple[Recorded, list[Answer]]:
    # with the answers that the first night copies
    of_each = [(each, _answers(warehouse, each, (each.runs or [])[-NIGHTS:][0])) for each in ready]
    return (
        of_each[0] if fault.swaps_judge else max(of_each, key=lambda each: sum(answer.is_right for answer in each[1]))
    )


def _night(context: NightContext, struck: Recorded, copy: Copy, *, keeps: bool) -> RehearsedNight:
    # the answers of the night have landed; `is_told` is about what the fault strikes, not about other alarms
    run = AuditRun(
        warehouse=context.warehouse,
        audit_run_id=copy.audit_run_id,
        progress=context.progress,
        options=RunOptions(writes_page=False),
    )
    try:
        derive(run)
    except MeasureError as error:
        problem = Problem(kind="unmeasured", summary="; ".join(error.lines))
        night = Night(
            audit_id=context.audit_id,
            audit_run_id=copy.audit_run_id,
            started_at=copy.started_at,
            exit_code=error.exit_code,
        )
        return RehearsedNight(
            audit_run_id=copy.audit_run_id,
            copy_of=copy.source,
            started_at=copy.started_at,
            state="cannot_tell",
            exit_code=error.exit_code,
            is_told=True,
            composed=compose(night, Changes(raised=(problem,), news=(problem,))),
        )
    at = copy.started_at + timedelta(hours=1)
    ending = finish(AfterRun(context=context, audit_run_id=copy.audit_run_id, at=at))
    states = {each.group: each.state for each in ending.compared.states}
    return RehearsedNight(
        audit_run_id=copy.audit_run_id,
        copy_of=copy.source,
        started_at=copy.started_at,
        state=states.get(struck[:3], "cannot_tell"),
        exit_code=ending.outcome.exit_code if ending.outcome.rules else 0,
        is_told=any(problem.key.touches(struck.key()) for problem in ending.alarms.changes.news),
        composed=ending.alarms.message,
        report=ending.page if keeps else None,
    )
