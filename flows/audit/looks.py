"""The looks of a run that may stop before all samples are asked: its batches of samples, and who is asked the next.

Samples are asked in equal batches in a seeded order, all wordings of one before the next. After each batch but the last the run
looks at every model, task and strategy that goes on, and lands what it saw before it asks further: a run that is resumed never
decides a look again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from flows.audit.design import Design
from flows.audit.plan import Variant
from flows.warehouse import Row, Warehouse
from flows.warehouse.rows import frame_of
from flows.warehouse.sql import sql
from models_registry.samples import seeded_rank
from udfs.designs import N_LOOKS

WATCHED = "sensitivity, micro-F1, invalid rate and label churn"
"""The measures whose differences can stop a run, as people read them."""

Group = tuple[str, str, str]
"""A model, a task and a strategy."""


def batch_rows(audit_run_id: str, design: Design) -> list[dict[str, object]]:
    """Returns the rows of raw.sample_batches of a run that opens: each task's samples in N_LOOKS batches, sizes within one."""
    seed, rows = design.audit.samples.seed, []
    for task_id, chosen in design.samples.items():
        names = [sample.sample_id for sample in chosen.samples]
        order = sorted(names, key=lambda name: seeded_rank(seed, f"batch:{task_id}", name))
        ends = [math.ceil(len(order) * batch / N_LOOKS) for batch in range(N_LOOKS + 1)]
        rows += [
            {"audit_run_id": audit_run_id, "task_id": task_id, "batch": batch, "sample_ids": order[start:end]}
            for batch, (start, end) in enumerate(pairwise(ends), start=1)
        ]
    return rows


def base_run_of(warehouse: Warehouse, design: Design) -> str | None:
    """Returns the newest complete run of the audit that asked what this design asks, and all of it; None where there is none."""
    if not warehouse.read(sql("audit", "has_scorecards")):
        return None
    rows = warehouse.read(sql("audit", "base_run"), audit=design.audit_id, plan=design.plan_fingerprint)
    return rows[0]["audit_run_id"] if rows else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleBatches:
    """The batches of a run that may stop early.

    Attributes:
        base_run_id: the run that it is compared with; None where its gate alone stops it.
        by_task: the ids of each task's samples, batch by batch.
    """

    warehouse: Warehouse
    audit_run_id: str
    base_run_id: str | None
    by_task: Mapping[str, Sequence[Sequence[str]]]

    @property
    def n_looked(self) -> int:
        """Returns how many looks have been decided."""
        return max((row["look"] for row in self._looks()), default=0)

    def stopped(self) -> dict[Group, int]:
        """Returns the groups that are asked no further, each with its look."""
        return {group_of(row): row["look"] for row in self._looks() if row["is_stopped"]}

    def to_ask(self, design: Design, variants: Sequence[Variant], first: int) -> Iterator[int]:
        """Yields the batches that are asked, from one on, as long as the looks between them leave somebody to ask."""
        for batch in range(first, N_LOOKS + 1):
            if not self.running(design, variants):
                return
            yield batch

    def running(self, design: Design, variants: Sequence[Variant]) -> list[Group]:
        """Returns the groups that go on."""
        groups = dict.fromkeys(
            (model_id, v.task_id, v.strategy) for v in variants for model_id in design.models if v.asks(model_id)
        )
        stopped = self.stopped()
        return [group for group in groups if group not in stopped]

    def up_to(self, batch: int, design: Design, variants: Sequence[Variant]) -> list[Variant]:
        """Returns the variants with the samples of the batches up to one, for the models that go on."""
        stopped = self.stopped()
        samples = {
            task_id: [each for each in design.samples[task_id].samples if each.sample_id in asked]
            for task_id, batches in self.by_task.items()
            for asked in [frozenset(chain.from_iterable(batches[:batch]))]
        }
        found = []
        for variant in variants:
            models = tuple(
                model_id
                for model_id in variant.model_ids or design.models
                if (model_id, variant.task_id, variant.strategy) not in stopped
            )
            if not models:
                continue
            dealt = {
                repetition: tuple(each.sample_id for each in variant.samples_of(repetition, samples[variant.task_id]))
                for repetition in variant.repetitions
            }
            found.append(replace(variant, dealt=dealt, model_ids=models))
        return found

    def n_samples(self, task_id: str, batch: int) -> int:
        """Returns how many samples of a task the batches up to one have."""
        return sum(len(own) for own in self.by_task[task_id][:batch])

    def notes(self, design: Design) -> list[str]:
        """Returns a line for each group that is asked no further: after how many samples, and why."""
        rows = self.warehouse.read(
            "select * from raw.looks where audit_run_id = $run and is_stopped order by task_id, strategy, model_id, subject",
            run=self.audit_run_id,
        )
        by_group: dict[Group, list[Row]] = {}
        for row in rows:
            by_group.setdefault(group_of(row), []).append(row)
        return [
            f"stopped early: {' × '.join(group)} after {own[0]['n_samples']} of {design.n_samples(group[1])} samples: "
            f"{self._why(own)}"
            for group, own in by_group.items()
        ]

    def _why(self, rows: Sequence[Row]) -> str:
        """Why a group is asked no further; `rows` are those of the look that stopped it."""
        rules = [f"{row['subject']} {row['decision']}" for row in rows if row["decision"] in ("passed", "failed")]
        moved = [f"{row['subject']} differs by {row['figure']:+.3f}" for row in rows if row["decision"] == "moved"]
        against = f"from run {self.base_run_id}"
        if self.base_run_id is None:
            return f"its rules are decided ({'; '.join(rules)})"
        differs = (
            f"{', '.join(moved)} {against}"
            if moved
            else f"no measure of {WATCHED} can differ {against} by min_effect any more"
        )
        return f"{differs} ({'; '.join(rules)})" if rules else differs

    def land(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Lands what a look saw."""
        self.warehouse.land([("looks", frame_of("looks", [dict(row) for row in rows]))])

    def _looks(self) -> list[Row]:
        return self.warehouse.read(
            "select distinct model_id, task_id, strategy, look, is_stopped from raw.looks where audit_run_id = $run",
            run=self.audit_run_id,
        )


def group_of(row: Row) -> Group:
    """Returns the model, task and strategy of a row."""
    return row["model_id"], row["task_id"], row["strategy"]


def batches_of(warehouse: Warehouse, audit_run_id: str) -> SampleBatches | None:
    """Returns the batches of a run; None of one that never stops early."""
    (design,) = warehouse.read(
        "select stop, base_run_id from raw.designs where audit_run_id = $run", run=audit_run_id
    ) or [{"stop": None}]
    if design["stop"] is None:
        return None
    rows = warehouse.read(
        "select task_id, sample_ids from raw.sample_batches where audit_run_id = $run order by task_id, batch",
        run=audit_run_id,
    )
    by_task: dict[str, list[Sequence[str]]] = {}
    for row in rows:
        by_task.setdefault(row["task_id"], []).append(row["sample_ids"])
    return SampleBatches(
        warehouse=warehouse,
        audit_run_id=audit_run_id,
        base_run_id=design["base_run_id"],
        by_task=by_task,
    )
