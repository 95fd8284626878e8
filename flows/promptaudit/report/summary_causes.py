"""Says what changed since the last comparable night and which alarms stand or are over, one sentence per cause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptaudit.gate.alerts.alarms import Alarm, changes
from promptaudit.gate.alerts.message import by_cause
from promptaudit.gate.alerts.problems import problems_of, problems_of_night, summary
from promptaudit.gate.outcome import GateResult
from promptaudit.marts.comparison.result import NEWS
from promptaudit.report.ask_copy import Copy
from promptaudit.report.blocks.blocks import by, group_of
from promptaudit.report.queries import query
from promptaudit.system.display.compared import Compared, NightFigure, RunsCompared
from promptaudit.system.display.figures import ABSENT, cut, when
from promptaudit.system.display.movement import in_words, why
from promptaudit.udfs.causes import PHRASES
from promptaudit.warehouse import Row

Noted = tuple[Alarm, str]
CauseKind = Literal["regressed", "changed", "improved", "recorded", "alarm", "recovered"]

NAME = 60
REASON = 2000
VALUE = 60
OWN_CHANGE = "promptaudit_changed"  # a newer version of this program is a cause only if a figure moved
RECORDED = {
    "served_model": "the provider serves",
    "system_fingerprint": "the provider's system fingerprint is",
    "engine": "the engine is",
    "model_card": "the model's card is",
    "instruction": "the instruction is",
    "output_format": "the output format is",
    "prompts": "the prompts are",
    "reader": "the reader is",
    "samples": "the samples are",
    "labels": "the labels are",
    "scoring_version": "the version of the scoring is",
    "judge_card": "the judge's card is",
    "judge_served_model": "the judge's provider serves",
    "judge_system_fingerprint": "the judge's provider's system fingerprint is",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that changed, in one sentence."""

    kind: CauseKind
    sentence: str


def last_comparable(compared: Iterable[Row]) -> list[Row]:
    """Picks the comparison with the newest earlier run, or with a baseline if there is no other; empty without any."""

    def newness(rows: list[Row]) -> tuple[Any, ...]:
        run_index = rows[0]["base_run_index"]
        return rows[0]["baseline"] is None, run_index is not None, run_index

    ranked = sorted(by(list(compared), "comparison_id").values(), key=newness)
    return ranked[-1] if ranked else []


def is_of_nights(row: Row) -> bool:
    """Checks whether a row is from rpt_night_verdicts and not from rpt_run_comparisons."""
    return row["n_nights_normal"] is not None


def base_of(row: Row) -> str:
    """Names the base of a comparison in words."""
    if is_of_nights(row):
        return f"normal nights, the newest of {when(row['base_started_at'])}"
    run = f"run {row['base_run_id'][:12]} of {when(row['base_started_at'])}"
    return run if row["baseline"] is None else f"baseline {cut(row['baseline'], NAME)}, {run}"


def causes_of(copy: Copy, compared: Sequence[Row], gate: GateResult | None) -> list[Cause]:
    """Lists what changed: figures that moved together as one cause, then recorded differences, then earlier alarms."""
    last = last_comparable(compared)
    standing, over = _alarms(copy, compared, last, gate)
    news = [row for row in last if row["verdict"] in NEWS and not _is_consistency_alone(row, last)]
    recovered = {alarm.key.model_id for alarm, _ in over if alarm.key.is_compared}
    better = {row["model_id"] for group in _together(news) if _kind(group) == "improved" for row in group} & recovered
    recorded = copy(query("recorded_changes"), comparison=last[0]["comparison_id"]) if last else []
    return [
        *differences_of(news, recorded, better),
        *_folded("alarm", standing),
        *_folded("recovered", [item for item in over if item[0].key.model_id not in better]),
    ]


def differences_of(news: Sequence[Row], recorded: Sequence[Row], recovered: Collection[str] = ()) -> list[Cause]:
    """Lists what differs between two runs: figures that moved together as one cause, then recorded differences.

    `news` are rows of rpt_run_comparisons, `recorded` of rpt_run_changes. Alarms of the models in `recovered` are over.
    """
    moved = (_moved(group, recovered) for group in _together(news))
    return [*moved, *_recorded(recorded, {row["cause"] for row in news})]


def _together(news: Iterable[Row]) -> list[list[Row]]:
    return by_cause(news, lambda row: (row["cause"], row["model_id"]))


def _is_consistency_alone(row: Row, last: Sequence[Row]) -> bool:
    # a consistency that regressed beside nothing else in its group raises no alarm either
    if row["verdict"] != "regressed" or row["measure"] != "consistency":
        return False
    of_group = [each for each in last if group_of(each) == group_of(row) and each["measure"] != "consistency"]
    return not any(each["verdict"] == "regressed" for each in of_group)


def _kind(group: Sequence[Row]) -> Literal["regressed", "improved", "changed"]:
    # the gravest verdict; changed labels are no news if a figure improved
    verdicts = {row["verdict"] for row in group}
    return "regressed" if "regressed" in verdicts else "improved" if "improved" in verdicts else "changed"


def _moved(group: Sequence[Row], recovered: Collection[str]) -> Cause:
    kind = _kind(group)
    first = max((row for row in group if row["verdict"] == kind), key=_size)
    models = list(dict.fromkeys(row["model_id"] for row in group))
    who = cut(models[0], NAME) + (f" and {len(models) - 1} more" if len(models) > 1 else "")
    places = [first[name] for name in ("model_id", "task_id", "strategy")][0 if len(models) > 1 else 1 :]
    figures = [Compared.of(row) for row in (first, *group) if row["verdict"] == kind]
    words = next((words for figure in figures if (words := in_words(figure))), None)
    where = f"{first['measure']} of {', '.join(cut(place, NAME) for place in places)}"
    where = where if words is None else f"{words}; {where}"
    more = f", and {_counted(len(group) - 1, 'more figure')}" if len(group) > 1 else ""
    reason = cut(why(figures[0]) or PHRASES.get(first["cause"] or "", ""), REASON)
    end = "; its alarm is over" if set(models) <= set(recovered) else ""
    sentence = f"{who} {kind}: {where}, {summary(figures[0])}{more}{f': {reason}' if reason else ''}{end}."
    return Cause(kind="recovered" if end else kind, sentence=sentence)


def _size(row: Row) -> float:
    # capped at 1, so that costs and times count no more than other figures
    return min(abs(float(row["difference"] or 0)), 1.0)


def _recorded(rows: Sequence[Row], causes: set[str]) -> Iterator[Cause]:
    # recorded differences that are not the cause of a figure's move
    for group in _together(row for row in rows if row["cause"] not in {*causes, OWN_CHANGE}):
        first = group[0]
        whose = cut(first["model_id"] or first["task_id"] or first.get("judge_id") or "this audit", NAME)
        what = RECORDED.get(first["what"], f"{first['what']} is")
        now, before = (ABSENT if first[side] is None else cut(first[side], VALUE) for side in ("candidate", "base"))
        more = f", and {_counted(len(group) - 1, 'more change')}" if len(group) > 1 else ""
        phrase = PHRASES[first["cause"]].capitalize()
        yield Cause(kind="recorded", sentence=f"{phrase} of {whose}: {what} {now}, was {before}{more}.")


def _alarms(
    copy: Copy, compared: Sequence[Row], last: Sequence[Row], gate: GateResult | None
) -> tuple[list[Noted], list[Noted]]:
    alarms = [Alarm.of(row) for row in copy(query("alarms_before"))]
    # tonight's verdicts, or a baseline's, decide on each; the gate's failing rules stand in the outcome
    nights = [NightFigure.of(row) for row in compared if is_of_nights(row)]
    of_night, night_verdicts = problems_of_night(nights, alarms)
    of_baselines, verdicts = problems_of(RunsCompared.of(row) for row in compared if not is_of_nights(row))
    settled = changes(
        [alarm for alarm in alarms if alarm.key.is_compared], [*of_night, *of_baselines], verdicts | night_verdicts
    )
    # these stand as moved figures
    shown_runs = {NightFigure.of(row).first_night if is_of_nights(row) else row["base_run_id"] for row in last}
    standing = [
        (item.alarm, item.note or item.alarm.summary)
        for item in settled.standing
        if item.note or item.alarm.key.base_run_id not in shown_runs
    ]
    over = [(item.alarm, item.reason) for item in settled.recovered]
    return standing, [*over, *_rules_that_hold(alarms, gate)]


def _rules_that_hold(alarms: Sequence[Alarm], gate: GateResult | None) -> list[Noted]:
    # an alarm of a rule on comparisons (`no …`) is covered by the comparison it rests on
    outcomes = {} if gate is None else {result.rule: result.outcome for result in gate.rules}
    rules = [(alarm, alarm.key.measure or "") for alarm in alarms if not alarm.key.is_compared]
    held = [alarm for alarm, rule in rules if outcomes.get(rule) == "passed" and not rule.startswith("no ")]
    return [(alarm, "the rule holds again") for alarm in held]


def _folded(kind: Literal["alarm", "recovered"], items: Sequence[Noted]) -> Iterator[Cause]:
    # one sentence for the alarms of one model, or of one rule, that were raised on the same night
    groups: dict[tuple[str | None, ...], list[Noted]] = {}
    for alarm, note in items:
        of = alarm.key.model_id if alarm.key.is_compared else alarm.key.measure
        groups.setdefault((of, alarm.audit_run_id), []).append((alarm, note))
    for group in groups.values():
        alarm, note = group[0]
        parts = (alarm.key.model_id, alarm.key.task_id, alarm.key.strategy, alarm.key.measure)
        what = ", ".join(cut(part, NAME) for part in parts if part) or "the night"
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        state = "still stands" if kind == "alarm" else "is over"
        sentence = f"The alarm of {alarm.since:%Y-%m-%d} {state}: {what}{more} ({cut(note, REASON)})."
        yield Cause(kind=kind, sentence=sentence)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
