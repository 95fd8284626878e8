"""Defines the faults that a rehearsal puts into copies of recorded nights, and lands such copies."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from promptaudit.registry.errors import UsageError
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection, rows_of
from promptaudit.warehouse.insert import NEXT_INDEX
from promptaudit.warehouse.sql import sql

SEED = 20250601
COPIED = (
    "models",
    "tasks",
    "task_labels",
    "samples",
    "prompt_variants",
    "option_orders",
    "designs",
    "grid",
    "predictions",
    "engines",
    "judges",
    "judge_controls",
    "verdicts",
)
"""Tables of what a run asks and is answered; not what was made of it, nor what people said of it."""
LAND = "insert into raw.{0} by name select * replace ({1}) from raw.{0} where audit_run_id = $source"
WITHOUT = (
    "delete from raw.verdicts where audit_run_id = $run "
    "and (list_contains($wrong, prediction_id) or coalesce(list_contains($wrong, other_prediction_id), false))"
)


class Copy(NamedTuple):
    """Names a run that copies another run's answers, as of another night."""

    source: str
    audit_run_id: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Describes one fault, which lasts from its first night on; without any the copies stay as they are.

    lose: this many samples that were right get another sample's answer under every wording.
    shift: this share of the right answers, written below 0, is wrong, others each night.
    breaks_wording: the answers to one wording are empty.
    swaps_judge: another model rules in the judges' place, and turns one ruling in four.
    """

    lose: int = 0
    shift: float = 0.0
    breaks_wording: bool = False
    swaps_judge: bool = False

    def __str__(self) -> str:
        """Says the fault in words."""
        if self.lose:
            return f"{self.lose} samples lost under every wording" if self.lose > 1 else "1 sample lost"
        if self.shift:
            return f"{-self.shift:.3g} of the right answers wrong"
        if self.breaks_wording:
            return "one wording without an answer"
        return "another model in the judge's place" if self.swaps_judge else "no fault"


def fault_of(*, lose: int | None, shift: float | None, breaks_wording: bool, swaps_judge: bool) -> Fault | None:
    """Makes the fault of a command's options, None without any; raises UsageError for several or a wrong shift."""
    if (lose is not None) + (shift is not None) + breaks_wording + swaps_judge > 1:
        msg = "--lose, --shift, --break-wording and --swap-judge: name one of them"
        raise UsageError(msg)
    if shift is not None and not -1 <= shift < 0:
        msg = f"--shift {shift:g}: a share of the right answers that becomes wrong, from -1 to below 0, as -.05"
        raise UsageError(msg)
    fault = Fault(lose=lose or 0, shift=shift or 0.0, breaks_wording=breaks_wording, swaps_judge=swaps_judge)
    return None if fault == Fault() else fault


class Answer(NamedTuple):
    """Holds an answer of the night that is copied, and whether it is right."""

    prediction_id: str
    sample_id: str
    prompt_variant_id: str
    is_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Holds a fault with the samples, or the wording, that it strikes on all its nights."""

    fault: Fault
    sample_ids: frozenset[str] = frozenset()
    prompt_variant_id: str | None = None

    def struck(self, answers: Sequence[Answer], night: int) -> list[str]:
        """Picks the ids of the answers of a night that change. `night` counts from 0, on which the incident begins."""
        if self.fault.shift:
            right = [answer.prediction_id for answer in answers if answer.is_right]
            draw = random.Random(SEED + night)  # noqa: S311 - no secret
            return draw.sample(right, round(-self.fault.shift * len(right)))
        return [
            answer.prediction_id
            for answer in answers
            if answer.sample_id in self.sample_ids or answer.prompt_variant_id == self.prompt_variant_id
        ]


def incident_of(fault: Fault, answers: Iterable[Answer]) -> Incident:
    """Chooses what a fault strikes: a wording, or samples that are right in most of their answers, most right first.

    Raises UsageError if there are fewer such samples than are to be lost.
    """
    draw = random.Random(SEED)  # noqa: S311 - no secret
    rights: dict[str, list[bool]] = defaultdict(list)
    wordings = set()
    for answer in answers:
        rights[answer.sample_id].append(answer.is_right)
        wordings.add(answer.prompt_variant_id)
    if fault.breaks_wording:
        return Incident(fault=fault, prompt_variant_id=draw.choice(sorted(wordings)))
    share = {sample: sum(right) / len(right) for sample, right in sorted(rights.items()) if 2 * sum(right) > len(right)}
    if fault.lose > len(share):
        msg = f"--lose {fault.lose}: only {len(share)} samples are right in most of their answers"
        raise UsageError(msg)
    mixed = draw.sample(sorted(share), len(share))
    return Incident(fault=fault, sample_ids=frozenset(sorted(mixed, key=lambda sample: -share[sample])[: fault.lose]))


def land_copy(con: Connection, copy: Copy) -> None:
    """Lands what a run asked and was answered a second time, as an open run of another night."""
    of_run = {"source": copy.source, "run": copy.audit_run_id}
    opened = "$run as audit_run_id, 'running' as state, $at as started_at, null as finished_at, null as flow_run_id"
    opened += f", {NEXT_INDEX} as run_index"
    con.execute(LAND.format("audit_runs", opened), of_run | {"at": copy.started_at})
    for table in COPIED:
        con.execute(LAND.format(table, "$run as audit_run_id"), of_run)


def exchange(con: Connection, copy: Copy, wrong: Collection[str], *, seed: str = "", to_nothing: bool = False) -> None:
    """Replaces answers of a copy by other samples' answers, or by empty ones; its judges, if any, rule against them."""
    values = {
        "run": copy.audit_run_id,
        "source": copy.source,
        "wrong": list(wrong),
        "seed": seed,
        "to_nothing": to_nothing,
    }
    is_judged = bool(rows_of(con, "select 1 from raw.verdicts where audit_run_id = $run limit 1", **values))
    if is_judged:
        rows_of(con, sql("nightly", "move_rulings"), **values)
        rows_of(con, WITHOUT, **values)
    rows_of(con, sql("nightly", "exchange_answers"), **values)
    if is_judged:
        rows_of(con, sql("nightly", "rule_on_exchanged"), **values)


def land_faulty(warehouse: Warehouse, copy: Copy, incident: Incident, answers: Sequence[Answer], night: int) -> None:
    """Lands a copy of a recorded night with an incident. `night` counts from 0, on which the incident begins."""
    with warehouse.write() as con:
        con.execute("begin")
        land_copy(con, copy)
        wrong = incident.struck(answers, night)
        if wrong:
            exchange(con, copy, wrong, to_nothing=incident.fault.breaks_wording)
        if incident.fault.swaps_judge:
            rows_of(con, sql("nightly", "swap_judges"), run=copy.audit_run_id, source=copy.source, seed=str(SEED))
        con.execute("commit")
