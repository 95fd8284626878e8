"""Decides at a look who is asked no further samples: by the rules of the gate, and by the differences from an earlier run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import polars as pl

from flows.audit.design import Design
from flows.audit.looks import Group, SampleBatches, group_of
from flows.gate.value_rules import finite, selects
from flows.warehouse import Row, now
from flows.warehouse.sql import sql
from models_registry.gate_rules import ValueRule
from models_registry.gates import parse_gate
from udfs.comparison.measured import MeanDifference
from udfs.designs.stopping import Operator, Part, rule_at, scale_of
from udfs.designs.stopping_pairs import ONE_SIDED, WATCHED, night_at, pair_at, watched_differences
from udfs.resampling import lower_bound

NO_SUBJECT = "none"
"""What a look lands of a group that no rule and no difference is about."""

Decision = Literal["passed", "failed", "moved", "quiet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectLook:
    """What a look saw of one rule of the gate or of one measure, and its decision; None where more samples have to tell."""

    subject: str
    decision: Decision | None
    figure: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLook:
    """What a look saw of a model, task and strategy, and whether it is asked no further."""

    group: Group
    subjects: tuple[SubjectLook, ...]
    stops: bool


def look(
    batches: SampleBatches, design: Design, groups: Sequence[Group], number: int, *, is_measurable: bool = True
) -> list[GroupLook]:
    """Returns what the look after a batch says of the groups that were asked it.

    A group stops where every rule of the gate about it is decided and, with a run to hold it against, the night is settled. It
    goes on where a wording of its was quarantined by what may be chance, and a model whose answers another one perturbs goes on
    as long as that one does.

    Args:
        batches: of the run, whose marts are derived from the samples asked by now.
        design: of the run; its card's rules are held against the marts.
        groups: the models, tasks and strategies that go on.
        number: of the batch, below that of the last.
        is_measurable: whether the formats of the answers so far let the run be measured; nobody stops where they do not.
    """
    rules = [rule for rule in parse_gate(design.audit.gate) if isinstance(rule, ValueRule)]
    marts = {table: _mart(batches, table) for table in dict.fromkeys(rule.table for rule in rules)}
    n_groups = len(design.models) * len(design.tasks) * len(design.audit.strategies)
    found = {}
    for group in groups:
        of_rules = [
            _rule_look(rule, marts[rule.table], group, number, batches.n_samples(group[1], number)) for rule in rules
        ]
        about_it = [each for each in of_rules if each is not None]
        if batches.base_run_id is None:
            found[group] = _by_gate(group, about_it)
        else:
            found[group] = _by_difference(batches, design, group, number, about_it, n_groups)
    doubtful = set(found) if not is_measurable else _doubtful(batches, design)
    found |= {group: replace(own, stops=False) for group, own in found.items() if group in doubtful}
    while waiting := [own for own in found.values() if own.stops and _is_needed(own.group, found, design)]:
        found |= {own.group: replace(own, stops=False) for own in waiting}
    return list(found.values())


def rows_of_look(batches: SampleBatches, looks: Iterable[GroupLook], number: int) -> list[dict[str, object]]:
    """Returns the rows of raw.looks."""
    at = now()
    return [
        {
            "audit_run_id": batches.audit_run_id, "model_id": each.group[0], "task_id": each.group[1],
            "strategy": each.group[2], "look": number, "subject": subject.subject,
            "n_samples": batches.n_samples(each.group[1], number), "decision": subject.decision, "figure": subject.figure,
            "low": subject.low, "high": subject.high, "is_stopped": each.stops, "looked_at": at,
        }
        for each in looks
        for subject in each.subjects or (SubjectLook(subject=NO_SUBJECT, decision=None),)
    ]  # fmt: skip


def _doubtful(batches: SampleBatches, design: Design) -> set[Group]:
    """The groups with a wording that is quarantined though its rate of invalid answers may be within the card's limit."""
    limit = design.audit.format.max_invalid_rate
    rows = batches.warehouse.read(sql("audit", "quarantined_at_look"), run=batches.audit_run_id)
    return {group_of(row) for row in rows if lower_bound(row["n_invalid"], row["n_answers"]) <= limit}


def _is_needed(group: Group, found: dict[Group, GroupLook], design: Design) -> bool:
    """Whether a model that perturbs the answers of this one goes on."""
    return any(
        not other.stops and other.group[1:] == group[1:] and design.models[other.group[0]].of == group[0]
        for other in found.values()
    )


def _by_gate(group: Group, rules: Sequence[SubjectLook]) -> GroupLook:
    is_decided = bool(rules) and all(rule.decision is not None for rule in rules)
    return GroupLook(group=group, subjects=tuple(rules), stops=is_decided)


def _rule_look(rule: ValueRule, mart: Sequence[Row], group: Group, number: int, n_samples: int) -> SubjectLook | None:
    """What a look saw of a rule, of several rows in the one that keeps it from passing; None: it is not about the group."""
    conditions = (*rule.implied, *rule.conditions)
    names = dict(zip(("model_id", "task_id", "strategy"), group, strict=True))
    if not all(selects(each, names) for each in conditions if each.column in names):
        return None
    rows = [row for row in mart if group_of(row) == group and all(selects(each, row) for each in conditions)]
    by_decision = {each.decision: each for each in reversed([_row_look(rule, row, number, n_samples) for row in rows])}
    seen = by_decision.get("failed") or by_decision.get(None) or by_decision.get("passed")
    return seen or SubjectLook(subject=str(rule), decision=None)


def _row_look(rule: ValueRule, row: Row, number: int, n_samples: int) -> SubjectLook:
    estimate, low, high = rule.columns.interval_of(rule.figure) or (rule.figure,) * 3
    part: Part = "low" if rule.figure == low else "high" if rule.figure == high else "figure"
    own, n_measured = finite(row[rule.figure]), row.get("n_samples", n_samples)
    (operator,) = (each for each in get_args(Operator) if each == rule.op)
    seen = rule_at(
        number, *(_or_nan(row[name]) for name in (estimate, low, high)), n_samples=min(n_samples, n_measured), part=part,
        operator=operator, limit=rule.limit, scale=scale_of(estimate), figure=own if part == "figure" else None,
    )  # fmt: skip
    decision: Decision | None = None if seen.passes is None else "passed" if seen.passes else "failed"
    return SubjectLook(subject=str(rule), decision=decision, figure=own, low=finite(seen.low), high=finite(seen.high))


def _or_nan(value: object) -> float:
    figure = finite(value)
    return math.nan if figure is None else figure


def _mart(batches: SampleBatches, table: str) -> list[Row]:
    query = f"select * from marts.{table} where audit_run_id = $run"  # noqa: S608 - a table of ours
    return batches.warehouse.read(query, run=batches.audit_run_id)


def _by_difference(  # noqa: PLR0913 - what a look is taken of
    batches: SampleBatches, design: Design, group: Group, number: int, rules: Sequence[SubjectLook], n_groups: int
) -> GroupLook:
    """What a look saw of a group held against the base run: it is settled where a measure has moved, or none can any more."""
    model_id, task_id, strategy = group
    answers = batches.warehouse.frame(
        sql("audit", "answers_to_hold_together"), run=batches.audit_run_id, base=batches.base_run_id, model=model_id,
        task=task_id, strategy=strategy,
    )  # fmt: skip
    differences = _differences(answers, len(design.tasks[task_id].labels) + 1)
    seen = {
        measure: pair_at(
            number, differences[measure], min_effect=design.audit.min_effect, n_comparisons=len(WATCHED) * n_groups,
            is_one_sided=measure in ONE_SIDED,
        )
        for measure in WATCHED
        if measure in differences
    }  # fmt: skip
    measures = [
        SubjectLook(
            subject=measure,
            decision=pair.decision,
            figure=finite(pair.difference),
            low=finite(pair.low),
            high=finite(pair.high),
        )
        for measure, pair in seen.items()
    ]
    is_decided = all(rule.decision is not None for rule in rules) and night_at(seen.values()) is not None
    return GroupLook(group=group, subjects=(*rules, *measures), stops=is_decided)


def _differences(answers: pl.DataFrame, n_classes: int) -> dict[str, MeanDifference]:
    """By how much each sample's answers differ between the runs, by measure; nothing where a task has no labels."""
    if answers.is_empty() or n_classes == 1:
        return {}
    columns = {name: answers[name].cast(pl.Int64).to_numpy() for name in answers.columns}
    return watched_differences(
        columns["side"], columns["sample"], columns["variant"], columns["temperature"], columns["is_original"].astype(bool),
        columns["repetition"], columns["label"], columns["gold"], n_classes=n_classes,
    )  # fmt: skip
