"""Plays the working days of two weeks of a small audit, with an incident in the second, for people without nights."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from promptaudit.audit.run import run_audit
from promptaudit.audit.steps import RunOptions
from promptaudit.gate.source import NightState
from promptaudit.marts.transform import judge_nights, transform
from promptaudit.nightly.after_run import AfterRun, NightComparison, NightContext, alert, gate, report
from promptaudit.nightly.faults import Answer, Copy, Fault, exchange, incident_of, land_copy
from promptaudit.nightly.rehearse import Rehearsal, RehearsedNight, context_of, kept_apart, place_for
from promptaudit.registry.registry import load_registry
from promptaudit.system.child_processes import guarded
from promptaudit.system.clock import now
from promptaudit.system.display.compared import NightFigure
from promptaudit.system.display.progress import Progress
from promptaudit.system.files import copy_durably, private_folder
from promptaudit.system.helper_processes import DBT, start
from promptaudit.system.keys import content_id
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.sql import sql

AUDIT, MODEL, TASK = "two_weeks", "student", "general_knowledge"
CARDS = {
    f"models/{MODEL}.yml": f"{MODEL}: {{engine: embedded, model: examinee, examinee: {{accuracy: 0.85}}}}\n",
    f"audits/{AUDIT}.yml": (
        f"{AUDIT}:\n  tasks: [{TASK}]\n  models: [{MODEL}]\n  repetitions: {{original: 1, variants: 1}}\n"
        '  samples: {limit: 40}\n  gate: ["no regressed"]\n'
    ),
}
BAD = (6, 7)  # of the ten nights, counted from 0
SATURDAY = 5
NOISE = 0.02  # of the answers differ each night, as a model's at a temperature do
INCIDENT = Fault(lose=6)
# in an order that no run's id moves, so that the two weeks are the same whenever they are played
ANSWERS = "select prediction_id, sample_id, prompt_variant_id, true as is_right from raw.predictions order by 2, 3, 1"


def demonstrate(
    settings: Settings, progress: Progress, folder: Path | None, on_night: Callable[[RehearsedNight], None]
) -> Rehearsal:
    """Asks a model that needs no network once, makes two weeks of its answers, and goes through them night by night.

    Each night other answers differ by chance, and on two of them some samples get answers that are wrong. `on_night` is
    called with each. The nights and their pages stay in the folder, or in a temporary one. Raises UsageError if the
    folder is in use.
    """
    with kept_apart(), guarded(), place_for(folder or Path(tempfile.mkdtemp(prefix="promptaudit-"))) as place:
        for name, text in CARDS.items():
            (place / name).parent.mkdir()
            (place / name).write_text(text, encoding="utf-8")
        registry = load_registry([place])
        context = context_of(settings, registry.audit(AUDIT), AUDIT, place)
        start(DBT, context.warehouse.places.file.name)
        progress.say(f"asking '{MODEL}', which needs no network, for two weeks in one")
        options = RunOptions(answers_only=True)
        first = run_audit(context.settings, registry, AUDIT, context.progress, options).audit_run_id
        copies = _land(context.warehouse, first)
        runs = [copy.audit_run_id for copy in copies]
        progress.say("deriving two weeks")
        with context.warehouse.kept_open():
            transform(context.warehouse, runs, "up_to_formats", command="run")
            transform(context.warehouse, runs, "after_formats", command="run")
            judge_nights(context.warehouse, runs)
            with context.warehouse.write() as con:
                con.execute("force checkpoint")
        # without seals and Parquet files, which take longer than the nights
        private_folder(context.warehouse.published.path.parent)
        copy_durably(context.warehouse.path, context.warehouse.published.path)
        nights = []
        with context.warehouse.kept_open(), context.warehouse.published.connect():
            for copy in copies:
                nights.append(_night(context, copy))
                on_night(nights[-1])
    return Rehearsal(
        audit_id=AUDIT,
        fault=str(INCIDENT),
        model_id=MODEL,
        task_id=TASK,
        strategy="simple",
        n_normal=BAD[0],
        nights=tuple(nights),
        n_before=BAD[0],
    )


def _land(warehouse: Warehouse, first: str) -> list[Copy]:
    # the run that was asked is no night itself: it is closed as failed
    days = [day for ago in reversed(range(14)) if (day := now() - timedelta(days=ago)).weekday() < SATURDAY]
    answers = rows_as(Answer, warehouse.read(ANSWERS))
    incident = incident_of(INCIDENT, answers)
    copies = [Copy(first, content_id("rehearsed", first, str(day)), day) for day in days]
    with warehouse.write() as con:
        con.execute("begin")
        for night, copy in enumerate(copies):
            land_copy(con, copy)
            odd = random.Random(night).sample(answers, round(NOISE * len(answers)))  # noqa: S311 - no secret
            exchange(con, copy, [answer.prediction_id for answer in odd], seed=str(night))
            if night in BAD:
                exchange(con, copy, incident.struck(answers, night))
        con.execute(
            "update raw.audit_runs set state = if(audit_run_id = $first, 'failed', 'complete'), finished_at = started_at",
            {"first": first},
        )
        con.execute("commit")
    return copies


def _night(context: NightContext, copy: Copy) -> RehearsedNight:
    # it is compared with no single night, which takes most of the time of a night
    warehouse, run = context.warehouse, copy.audit_run_id
    states = tuple(rows_as(NightState, warehouse.read(sql("nightly", "states"), run=run)))
    figures = tuple(map(NightFigure.of, warehouse.read(sql("nightly", "night"), run=run)))
    compared = NightComparison(against={}, comparison_ids=(), figures=(), night=figures, states=states)
    after = AfterRun(context=context, audit_run_id=run, at=copy.started_at)
    outcome = gate(after, compared)
    alarms = alert(after, compared, outcome, page=None)
    has_news = bool(alarms.changes.news)
    return RehearsedNight(
        audit_run_id=run,
        copy_of=copy.source,
        started_at=copy.started_at,
        state=states[0].state,
        exit_code=outcome.exit_code,
        is_told=has_news,
        composed=alarms.message,
        report=report(after, compared) if has_news else None,
    )
