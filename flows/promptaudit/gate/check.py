"""Checks a run's published figures and comparisons against the rules of its audit's card: the gate.

A rule holds for every row that it selects. What has no row or no figure, and a run that is too old or not complete, is
unmeasured: never a pass. Queries are our own words; what rules name is looked up in the rows that they return.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from promptaudit.gate.lost_samples import check_lost
from promptaudit.gate.night_rules import check_night
from promptaudit.gate.outcome import GateResult, RuleResult, RuleRow
from promptaudit.gate.source import RUN, GatedRun, Source, Waiver, source_of
from promptaudit.gate.value_rules import check_values
from promptaudit.gate.verdict_rules import check_inside, check_verdicts
from promptaudit.registry.ages import age_of
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.errors import CardError, MeasureError
from promptaudit.registry.gate_rules import INSIDE, DriftRule, LostRule, Rule, ValueRule
from promptaudit.registry.gates import parse_gate
from promptaudit.system.clock import age, ahead, is_ahead
from promptaudit.system.clock import now as this_instant
from promptaudit.system.display.figures import when
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.run_names import resolve

if TYPE_CHECKING:
    from promptaudit.registry.registry import Registry
    from promptaudit.system.settings import Settings


def check_run(
    warehouse: Warehouse,
    audit_run_id: str,
    *,
    rules: Sequence[str] | None = None,
    max_age: str | None = None,
    now: datetime | None = None,
    comparison_ids: Collection[str] = (),
) -> GateResult:
    """Checks a run against its gate; writes nothing.

    Args:
        warehouse: the writer's file; the published copy beside it is what is read.
        audit_run_id: the run, its whole id.
        rules: the gate; by default the one in the card that the run landed with.
        max_age: how old a run may be, `36h` or `2d`; by default the landed card's.
        now: this instant in UTC, without a zone.
        comparison_ids: comparisons to read where one pair has several; by default the newest of a pair.

    Raises:
        CardError: a rule cannot be read.
        UsageError: there is no such run.
    """
    moment = now or this_instant()
    with source_of(warehouse, audit_run_id, comparison_ids) as source:
        run, landed = source.run, _landed(source.run)
        gate = parse_gate(landed.get("gate", ()) if rules is None else rules)
        limit = _age(max_age or landed.get("max_age") or AuditCard.model_fields["max_age"].default)
        blocked = _unmeasurable(run, moment, limit)
        if blocked is not None:
            unmeasured = partial(RuleResult, outcome="unmeasured", reason=blocked[0], look_closer=(blocked[1],))
            results = [unmeasured(rule=str(rule)) for rule in gate]
        else:
            waivers = source.waivers(moment)
            results = [_waived(_result(rule, source), waivers) for rule in gate]
    return GateResult(
        audit_run_id=audit_run_id,
        audit_id=run.audit_id,
        started_at=run.started_at,
        checked_at=moment,
        rules=tuple(results),
        blocked=None if blocked is None else blocked[0],
    )


def check_named(settings: Settings, registry: Registry, run: str) -> GateResult:
    """Checks the run that a name stands for against the rules its audit's card has today.

    Raises:
        MeasureError: the name stands for the newest run of an audit, and a newer one has failed or is not complete.
    """
    warehouse = Warehouse(settings.warehouse)
    with warehouse.published.connect():
        named = resolve(warehouse, run)
        if not named.audit_run_id.startswith(run):  # else it is meant by its id
            _refuse_older(warehouse, named.audit_id, named.audit_run_id, run)
        return check_run(warehouse, named.audit_run_id, **rules_of(registry, named.audit_id))


def rules_of(registry: Registry, audit_id: str) -> dict[str, Any]:
    """Takes the gate of an audit's card as options of `check_run`. Empty without a card: the run's own gate holds."""
    if registry.find("audits", audit_id) is None:
        return {}
    card = registry.audit(audit_id)
    return {"rules": card.gate, "max_age": card.max_age}


def _refuse_older(warehouse: Warehouse, audit_id: str, audit_run_id: str, name: str) -> None:
    newest_first = f"{RUN} where origin = 'run' and audit_id = $audit_id order by run_index desc"
    runs = rows_as(GatedRun, warehouse.published.read(newest_first, audit_id=audit_id))
    newest = next(iter(runs), None)
    if newest and newest.audit_run_id != audit_run_id and newest.state != "complete" and "~" not in name:
        msg = (
            f"run {newest.audit_run_id} of '{audit_id}' is newer than {audit_run_id} and {newest.state}: "
            f"there is nothing of it to pass; `promptaudit nightly {audit_id}` goes on with it, "
            f"`promptaudit check {audit_run_id}` looks at the older"
        )
        raise MeasureError(msg)


def _result(rule: Rule, source: Source) -> RuleResult:
    if isinstance(rule, ValueRule):
        return check_values(rule, source)
    if isinstance(rule, LostRule):
        return check_lost(rule, source)
    if isinstance(rule, DriftRule):
        return check_night(rule, source)
    return check_inside(rule, source) if rule.reference.startswith(INSIDE) else check_verdicts(rule, source)


def _landed(run: GatedRun) -> dict[str, Any]:
    # an import landed no card
    card = json.loads(run.card or "{}")
    audits = card.get("audits") if isinstance(card, dict) else None
    own = audits.get(run.audit_id) if isinstance(audits, dict) else None
    return own if isinstance(own, dict) else {}


def _age(text: str) -> timedelta:
    try:
        return age_of(text)
    except ValueError as error:
        msg = f"max_age: {error}, found {text!r}"
        raise CardError(msg) from None


def _unmeasurable(run: GatedRun, moment: datetime, limit: timedelta) -> tuple[str, str] | None:
    audit = shlex.quote(run.audit_id)
    if run.state != "complete":
        return f"the run is {run.state}, not complete", f"promptaudit run {audit}"
    if not run.is_published:
        return "the run is not published", f"promptaudit run {audit}"
    again = f"promptaudit nightly {audit}" if run.origin == "run" else "promptaudit import FILE"
    if is_ahead(run.started_at, moment):
        return f"the run started {ahead(run.started_at, moment)}: how old it is cannot be known", again
    old = age(run.started_at, moment)
    if old > limit:
        reason = f"the run started {when(run.started_at)}, {_span(old)} ago; at most {_span(limit)} is allowed"
        return reason, again
    return None


def _span(length: timedelta) -> str:
    hours = length.total_seconds() / 3600
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.1f} days"  # noqa: PLR2004 - two days read better in hours


def _waived(result: RuleResult, waivers: Sequence[Waiver]) -> RuleResult:
    # a result whose failed rows are all accepted passes
    rows = tuple(_accepted(result.rule, row, waivers) for row in result.rows)
    n_failed, n_waived = (sum(row.state == state for row in rows) for state in ("failed", "waived"))
    if not n_waived:
        return result
    if n_failed:
        return replace(result, rows=rows, reason=f"{result.reason}; {n_waived} of these accepted")
    if any(row.state == "unmeasured" for row in rows):
        reason = f"{result.reason}, accepted; others have no figure"
        return replace(result, rows=rows, outcome="unmeasured", reason=reason)
    first = min(row.waived_until for row in rows if row.waived_until is not None)
    reason = f"{result.reason}, accepted until {when(first)}"
    return replace(result, rows=rows, outcome="waived", reason=reason)


def _accepted(rule: str, row: RuleRow, waivers: Sequence[Waiver]) -> RuleRow:
    key = (rule, row.model_id, row.task_id, row.strategy, row.key)
    for waiver in waivers:
        if row.state == "failed" and waiver[:5] == key:
            return replace(row, state="waived", waived_until=waiver.valid_until, waived_because=waiver.reason)
    return row
