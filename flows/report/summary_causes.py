"""Says what changed since the last comparable night and which earlier alarms stand or are over, one sentence a cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flows.alerts.alarms import Alarm, Key, StandingAlarm, changes
from flows.alerts.from_comparisons import problems_of, summary
from flows.alerts.message import WHY, told_together
from flows.display.figures import ABSENT, cut, when
from flows.gate.outcome import GateResult
from flows.report.ask_copy import Copy
from flows.report.queries import query
from flows.warehouse import Row

Figure = tuple[str | None, str | None, str | None, str | None]
"""Model, task, strategy and measure."""
CauseKind = Literal["regressed", "changed", "improved", "recorded", "alarm", "recovered"]

NAME = 60
REASON = 200
VALUE = 60
UNTOLD = "promptaudit_changed"  # a newer version of this program is no cause where no figure moved
RECORDED = {
    "served_model": "the provider serves", "system_fingerprint": "the provider's system fingerprint is",
    "engine": "the engine is", "model_card": "the model's card is", "instruction": "the instruction is",
    "output_format": "the output format is", "prompts": "the prompts are", "reader": "the reader is",
    "samples": "the samples are", "labels": "the labels are", "scoring_version": "the version of the scoring is",
    "judge_card": "the judge's card is",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that changed, in one sentence."""

    kind: CauseKind
    sentence: str


def last_comparable(compared: Iterable[Row]) -> list[Row]:
    """Returns the comparison with the newest earlier run, of a baseline where there is no other; empty without any."""
    by_id: dict[str, list[Row]] = {}
    for row in compared:
        by_id.setdefault(row["comparison_id"], []).append(row)
    ranked = sorted(
        by_id.values(),
        key=lambda rows: (
            rows[0]["baseline"] is None,
            rows[0]["base_started_at"] is not None,
            rows[0]["base_started_at"],
        ),
    )
    return ranked[-1] if ranked else []


def base_of(row: Row) -> str:
    """Returns with what a comparison compares, in words."""
    run = f"run {row['base_run_id'][:12]} of {when(row['base_started_at'])}"
    return run if row["baseline"] is None else f"baseline {cut(row['baseline'], NAME)}, {run}"


def causes_of(copy: Copy, compared: Sequence[Row], gate: GateResult | None) -> list[Cause]:
    """Returns what changed: figures that moved together as one, then what is recorded otherwise, then earlier alarms."""
    last = last_comparable(compared)
    moved = list(_moved(last))
    recorded = copy.if_there(query("recorded_changes"), comparison=last[0]["comparison_id"]) if last else []
    told = {row["cause"] for row in last if row["verdict"] in ("regressed", "changed", "improved")}
    return [*moved, *_recorded(recorded, told), *_alarms(copy, compared, last, gate)]


def _moved(last: Sequence[Row]) -> Iterator[Cause]:
    problems, _ = problems_of(last, {row["base_run_id"]: "last_night" for row in last})
    for group in told_together(problems, lambda problem: (problem.cause, problem.model_id)):
        worst = max(group, key=lambda problem: (problem.kind == "regressed", _size(problem.key, last)))
        kind: CauseKind = "regressed" if worst.kind == "regressed" else "changed"
        figures: list[Figure] = [(each.model_id, each.task_id, each.strategy, each.measure) for each in group]
        of_worst = (worst.model_id, worst.task_id, worst.strategy, worst.measure)
        yield Cause(kind=kind, sentence=_told(kind, figures, of_worst, worst.summary, worst.cause, worst.reason))
    better = [row for row in last if row["verdict"] == "improved"]
    for rows in told_together(better, lambda row: (row["cause"], row["model_id"])):
        best = max(rows, key=lambda row: abs(row["difference"] or 0.0))
        sentence = _told(
            "improved", [_place(row) for row in rows], _place(best), summary(best), best["cause"], best["reason"]
        )
        yield Cause(kind="improved", sentence=sentence)


def _place(row: Mapping[str, Any]) -> Figure:
    return row["model_id"], row["task_id"], row["strategy"], row["measure"]


def _size(key: Key, last: Sequence[Row]) -> float:
    """How far a figure moved; of costs and times no more than of any other."""
    sizes = (abs(row["difference"] or 0.0) for row in last if _place(row) == key[1:5])
    return min(next(sizes, 0.0), 1.0)


def _told(  # noqa: PLR0913 - what a sentence is made of
    verb: str,
    figures: Sequence[Figure],
    first: Figure,
    moved: str,
    cause: str | None,
    reason: str | None,
) -> str:
    """Who, how, where most and by how much, how many figures more, and why."""
    models = list(dict.fromkeys(model or "a model" for model, *_ in figures))
    who = cut(models[0], NAME) + (f" and {len(models) - 1} more" if len(models) > 1 else "")
    of_model = f"{cut(first[0] or '', NAME)}, " if len(models) > 1 else ""
    where = f"{first[3]} of {of_model}{cut(first[1] or '', NAME)}, {cut(first[2] or '', NAME)}"
    more = f", and {_counted(len(figures) - 1, 'more figure')}" if len(figures) > 1 else ""
    why = WHY.get(cause or "", "")
    because = cut(reason or "", REASON)
    because = f": {why} ({because})" if why and because and cause != "nothing_changed" else f": {because or why}"
    return f"{who} {verb}: {where}, {moved}{more}{because if because != ': ' else ''}."


def _recorded(rows: Sequence[Row], told: set[str]) -> Iterator[Cause]:
    """What the runs recorded otherwise and no moved figure is told with."""
    for group in told_together(
        (row for row in rows if row["cause"] not in told and row["cause"] != UNTOLD),
        lambda row: (row["cause"], row["model_id"]),
    ):
        first = group[0]
        whose = cut(first["model_id"] or first["task_id"] or "this audit", NAME)
        what = RECORDED.get(first["what"], f"{first['what']} is")
        values = f"{_value(first['candidate'])}, was {_value(first['base'])}"
        more = f", and {_counted(len(group) - 1, 'more change')}" if len(group) > 1 else ""
        yield Cause(kind="recorded", sentence=f"{WHY[first['cause']].capitalize()} of {whose}: {what} {values}{more}.")


def _value(text: str | None) -> str:
    return ABSENT if text is None else cut(text, VALUE)


def _alarms(copy: Copy, compared: Sequence[Row], last: Sequence[Row], gate: GateResult | None) -> Iterator[Cause]:
    alarms = [
        Alarm(key=Key(*(row.pop(part) for part in Key._fields)), **row)
        for row in map(dict, copy.if_there(query("alarms_before")))
    ]
    if not alarms:
        return
    # what a comparison with an alarm's own base says of it; the gate's rules that fail are told as the outcome
    problems, verdicts = problems_of(compared, {row["base_run_id"]: "last_night" for row in compared})
    settled = changes([alarm for alarm in alarms if alarm.key.is_compared], problems, verdicts)
    told = {row["base_run_id"] for row in last}  # as what moved
    standing = [
        (item.alarm, _note(item)) for item in settled.standing if item.note or item.alarm.key.base_run_id not in told
    ]
    yield from _folded("alarm", standing)
    over = [(item.alarm, item.reason) for item in settled.recovered]
    yield from _folded("recovered", [*over, *_rules_that_hold(alarms, gate)])


def _note(item: StandingAlarm) -> str:
    return item.note or item.alarm.summary


def _rules_that_hold(alarms: Sequence[Alarm], gate: GateResult | None) -> list[tuple[Alarm, str]]:
    """The alarms of rules that pass now; one on comparisons is told as the comparison that it rests on."""
    outcomes = {} if gate is None else {result.rule: result.outcome for result in gate.rules}
    return [
        (alarm, "the rule holds again")
        for alarm in alarms
        if not alarm.key.is_compared and outcomes.get(alarm.key.measure or "") == "passed"
        and not (alarm.key.measure or "").startswith("no ")
    ]  # fmt: skip


def _folded(kind: Literal["alarm", "recovered"], items: Sequence[tuple[Alarm, str]]) -> Iterator[Cause]:
    """A sentence for the alarms of one model, or of one rule, that were raised on the same night."""
    groups: dict[tuple[str | None, ...], list[tuple[Alarm, str]]] = {}
    for alarm, note in items:
        of = alarm.key.model_id if alarm.key.is_compared else alarm.key.measure
        groups.setdefault((of, alarm.audit_run_id), []).append((alarm, note))
    for group in groups.values():
        alarm, note = group[0]
        parts = (alarm.key.model_id, alarm.key.task_id, alarm.key.strategy, alarm.key.measure)
        what = ", ".join(cut(part, NAME) for part in parts if part) or "the night"
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        state = "still stands" if kind == "alarm" else "is over"
        yield Cause(
            kind=kind, sentence=f"The alarm of {alarm.since:%Y-%m-%d} {state}: {what}{more} ({cut(note, REASON)})."
        )


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
