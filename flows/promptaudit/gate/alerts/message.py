"""Writes the message of a night: what, how much, since when, why, where to look, on one screen.

Names, labels and reasons are other people's words, and what shows a message may read them as markup: control characters
and all that makes a mention, a link or markup become visible escapes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from promptaudit.gate.alerts.alarms import Alarm, Changes, Key, Problem
from promptaudit.gate.alerts.links import RUNBOOKS_OF, MessageKind
from promptaudit.registry.errors import BudgetReached
from promptaudit.system.display.encode import NOT_ENCODED
from promptaudit.system.display.figures import cut, plural, shown
from promptaudit.udfs.causes import PHRASES

T = TypeVar("T")

TITLE = 80
LINES = 30
WIDTH = 220
REASON = 440
NAME = 60
ID = 12  # as many characters of a run's id as distinguish it from any other

OURS = {
    "we_changed_the_prompt",
    "we_changed_the_data",
    "we_changed_the_scoring",
    "promptaudit_changed",
}  # for these causes, models are reported together

# Apprise makes a mention of `!channel>` for Slack and of `@123` for Discord, whatever stands before; `](…)` is a link.
# A comparison stays one, and an arrow: `<= 0.2`, `< 3`, `> 1`, `0.1 -> 0.2`.
_MARKUP = re.compile(r"<(?![\s=\d.-])|(?<=\S)(?<! -)>|[@|`*~]|(?<=\])\(|(?<=:)/(?=/)|(?i:(?<=\bwww)\.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """The night that a message is about. `report` is the address or path of its page, times are UTC."""

    audit_id: str
    audit_run_id: str
    started_at: datetime
    exit_code: int
    report: str | None = None
    untested: str | None = None  # what could not be compared with normal nights
    seal: str | None = None  # of the run's rows and marts, at the time of the message
    example: str | None = None  # of what got worse: a sample with its answers on a normal night and tonight
    example_of: str | None = None  # the model that gave them
    is_of_cards: bool = False  # whether a card or its data kept it from being measured
    runbooks: Mapping[str, str] = field(default_factory=dict)  # the addresses or paths of their pages, by name


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A title of at most 80 characters and a text of at most 30 lines, plain and harmless as Markdown.

    Title and body are the news of a night. The seal under them grows with each start of the night and is no news.
    """

    kind: MessageKind
    title: str
    body: str = field(metadata=NOT_ENCODED)
    seal: str | None = field(default=None, metadata=NOT_ENCODED)

    @property
    def text(self) -> str:
        """Joins the body and the whole seal. A copy of the seal is what the run can be verified against."""
        return self.body if self.seal is None else f"{self.body}\nSeal: {self.seal}"


@dataclass(frozen=True, slots=True)
class _Block:
    # its lines always stand, its rows as far as there is room

    lines: Sequence[str]
    rows: Sequence[str] = ()


def safe(text: str, limit: int = NAME) -> str:
    r"""Puts other people's words on one line: cuts to `limit` characters, writes what steers a reader as `\x..`."""
    return _MARKUP.sub(lambda match: f"\\x{ord(match[0]):02x}", cut(text, limit))


def compose(night: Night, changes: Changes) -> Message | None:
    """Writes the night's message, or None when there is no news.

    One message covers all of a night. Its kind is the gravest of what is new: regression (regressed or changed),
    gate_failed, unmeasured, recovered. An alarm whose message reached nobody is reported again, as the standing alarm
    it is. Other standing alarms are lines in the messages of later news, and no news themselves.
    """
    unsent = [item.alarm for item in changes.standing if item.alarm.is_unsent]
    back = [item for item in changes.recovered if item.is_news]
    kinds = {problem.kind for problem in changes.news} | {alarm.key.kind for alarm in unsent}
    kind: MessageKind
    if kinds & {"regressed", "changed"}:
        kind = "regression"
    elif kinds:
        kind = "gate_failed" if "gate" in kinds else "unmeasured"
    elif back:
        kind = "recovered"
    else:
        return None
    compared = [problem for problem in changes.news if problem.key.is_compared]
    groups = by_cause(compared, lambda problem: (problem.cause, problem.model_id))
    title = _title(night, kind, changes, groups, unsent)
    blocks = [
        _Block(
            [
                f"Audit {safe(night.audit_id)}, night of {night.started_at:%Y-%m-%d}, run {night.audit_run_id[:ID]}",
                *([] if night.untested is None else [safe(night.untested, WIDTH)]),
            ]
        ),
        *(_compared_block(group, _example_of(group, night, groups)) for group in groups),
        _rules_block(changes, "gate", "The gate failed"),
        _rules_block(changes, "unmeasured", "Could not be measured"),
        _Block(
            ["Not told yet, the message of its night reached nobody:"],
            [f"{_alarm(alarm)}: {safe(alarm.summary, 120)}" for alarm in unsent],
        ),
        _Block(["Recovered:"], _folded([(item.alarm, item.reason) for item in back])),
        _Block(["Still standing:"], _folded([(i.alarm, i.note) for i in changes.standing if not i.alarm.is_unsent])),
    ]
    is_budget = kind == "unmeasured" and night.exit_code == BudgetReached.exit_code
    runbooks = RUNBOOKS_OF.get("budget" if is_budget else kind, ())
    body = _fitted(blocks, _look(night, groups, kinds, runbooks), LINES if night.seal is None else LINES - 1)
    return Message(kind=kind, title=title, body=body, seal=night.seal)


def by_cause(items: Iterable[T], cause_and_model: Callable[[T], tuple[str | None, str | None]]) -> list[list[T]]:
    """Groups items as a message reports them, by one cause of ours or by model and cause, the largest group first."""
    groups: dict[tuple[str | None, ...], list[T]] = {}
    for item in items:
        cause, model_id = cause_and_model(item)
        groups.setdefault((cause, None if cause in OURS else model_id), []).append(item)
    return sorted(groups.values(), key=lambda group: -len(group))


def _title(
    night: Night, kind: MessageKind, changes: Changes, groups: Sequence[Sequence[Problem]], unsent: Sequence[Alarm]
) -> str:
    if groups:
        what = f"{_models(groups[0])} {_verb(groups[0])}"
        what += f": {PHRASES[cause]}" if (cause := groups[0][0].cause) in PHRASES else ""
        what += f" (and {len(groups) - 1} more)" if len(groups) > 1 else ""
    elif kind == "regression":
        first = next(alarm for alarm in unsent if alarm.key.is_compared)
        what = f"{safe(first.key.model_id or 'a model', 30)} {first.key.kind} since {first.since:%Y-%m-%d}"
    elif kind in ("gate_failed", "unmeasured"):
        what = "the gate failed" if kind == "gate_failed" else "could not be measured"
        keys = [problem.key for problem in changes.news] + [alarm.key for alarm in unsent]
        what += _named([key.measure for key in keys if key.kind == kind.removesuffix("_failed")])
    else:
        keys = [item.alarm.key for item in changes.recovered if item.is_news]
        what = "recovered" + _named([key.model_id if key.is_compared else key.measure for key in keys])
    return _cut_line(f"{safe(night.audit_id, 24)}: {what}", TITLE)


def _named(names: Iterable[str | None]) -> str:
    known = [name for name in dict.fromkeys(names) if name]
    more = f" (and {len(known) - 1} more)" if len(known) > 1 else ""
    return f": {safe(known[0], 50)}{more}" if known else ""


def _models(group: Sequence[Problem]) -> str:
    names = list(dict.fromkeys(problem.model_id or "a model" for problem in group))
    return safe(names[0], 30) + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _verb(group: Sequence[Problem]) -> str:
    return "regressed" if any(problem.kind == "regressed" for problem in group) else "changed"


def _example_of(group: Sequence[Problem], night: Night, groups: Sequence[Sequence[Problem]]) -> str | None:
    # the example stands in the first group that has its model
    own = [each for each in groups if any(problem.model_id == night.example_of for problem in each)]
    return night.example if own and own[0] is group else None


def _wrapped(text: str) -> list[str]:
    # no line begins with other people's words, which could be a heading or a quote
    return textwrap.wrap(text, WIDTH, subsequent_indent="… ")


def _compared_block(group: Sequence[Problem], example: str | None) -> _Block:
    nights = any(problem.against == "normal_nights" for problem in group)
    against = "normal nights" if nights else "the baseline"
    lines = [f"{_models(group)} {_verb(group)} against {against}: {plural(len(group), 'figure')}"]
    gravest_first = sorted(group, key=lambda problem: (problem.kind != "regressed", _part(problem)))
    moved = next((safe(problem.moved, WIDTH) for problem in gravest_first if problem.moved), None)
    lines += [] if moved is None else [f"{moved[0].upper()}{moved[1:]}"]
    why = PHRASES.get(group[0].cause or "", "")
    said = gravest_first[0].reason or ""
    why = "" if why in said else why  # do not say it twice
    reason = safe(said, REASON)
    if why or reason:
        lines += _wrapped("Why: " + " – ".join(part for part in (why, reason) if part))
    lines += [] if example is None else _wrapped(f"Example: {safe(example, REASON)}")
    many = len({problem.model_id for problem in group}) > 1
    rows = [f"{_place(problem.key, with_model=many)}: {safe(problem.summary, 120)}" for problem in gravest_first]
    return _Block(lines, list(dict.fromkeys(rows)))


def _part(problem: Problem) -> int:
    # a wording that breaks comes before the figures of the whole, gold labels after them
    places = {"invalid_rate of ": 0, "accuracy of ": 2}
    return next((place for begins, place in places.items() if (problem.key.measure or "").startswith(begins)), 1)


def _rules_block(changes: Changes, kind: str, heading: str) -> _Block:
    # a rule that rests on a comparison is listed beside that comparison's alarm too
    rows = [
        ": ".join(
            part for part in (_place(problem.key), safe(problem.summary, 120 if problem.measure else WIDTH)) if part
        )
        + (f" – {safe(problem.reason, 100)}" if problem.reason else "")
        for problem in changes.raised
        if problem.kind == kind
    ]
    return _Block([f"{heading}:"], rows)


def _alarm(alarm: Alarm) -> str:
    return f"{alarm.key.kind} since {alarm.since:%Y-%m-%d}: {_place(alarm.key) or 'the night'}"


def _folded(items: Iterable[tuple[Alarm, str]]) -> list[str]:
    # one line for the alarms of one model, or of one rule, that were raised on the same night
    groups: dict[tuple[str | None, ...], list[tuple[Alarm, str]]] = {}
    for alarm, note in items:
        of = alarm.key.model_id if alarm.key.is_compared else alarm.key.measure
        group_key = ("" if alarm.key.is_compared else alarm.key.kind, of, alarm.audit_run_id)
        groups.setdefault(group_key, []).append((alarm, note))
    lines = []
    for group in groups.values():
        first, notes = group[0][0], {note for _, note in group}
        places = {alarm.key[1:5] for alarm, _ in group}  # against last night and the baseline: one figure
        line = _alarm(first) + (f" and {len(places) - 1} more" if len(places) > 1 else "")
        lines.append(line + (f" ({safe(note, 80)})" if len(notes) == 1 and (note := notes.pop()) else ""))
    return lines


def _place(key: Key, *, with_model: bool = True) -> str:
    parts = [key.model_id if with_model else None, key.task_id, key.strategy, key.measure]
    return " / ".join(safe(part) for part in parts if part)


def _look(
    night: Night, groups: Sequence[Sequence[Problem]], kinds: Iterable[str], runbooks: Sequence[str]
) -> list[str]:
    run = night.audit_run_id[:ID]
    places = [shown(night.report)] if night.report else []
    if groups and (base := groups[0][0].compare_with):
        places.append(f"promptaudit compare {base[:ID]} {run}")
    if night.report is None and not groups:  # no gate was held against the run, if there is one
        command = "validate" if night.is_of_cards else "nightly"
        places.append(f"promptaudit {command} {safe(night.audit_id)}")
    elif {"gate", "unmeasured"} & set(kinds) or night.exit_code:
        places.append(f"promptaudit check {run}")
    first, *others = places or [f"promptaudit report {run}"]
    what_to_do = [f"Runbook: {shown(night.runbooks.get(name, name))}" for name in runbooks]
    return [f"Look: {first}", *(f"      {place}" for place in others), *what_to_do]


def _fitted(blocks: Sequence[_Block], last: Sequence[str], n_lines: int) -> str:
    # as many rows of each block as fit the screen; a block without rows stands only if it is first or last
    shown_blocks = [block for block in blocks[1:] if block.rows]
    text: list[str] = []
    for most in (8, 6, 5, 4, 3, 2, 1, 0):
        text = list(blocks[0].lines)
        for block in shown_blocks[: most + 2]:
            text += ["", *(_cut_line(line, WIDTH) for line in block.lines)]
            text += [_cut_line(f"- {row}", WIDTH) for row in block.rows[:most]]
            text += [f"- and {len(block.rows) - most} more"] if len(block.rows) > most else []
        left = shown_blocks[most + 2 :]
        text += ["", f"And {plural(sum(len(block.rows) for block in left), 'line')} more."] if left else []
        text += ["", *last]
        if len(text) <= n_lines:
            break
    return "\n".join(text)


def _cut_line(line: str, limit: int) -> str:
    # a sign of comparison that loses what it compares with would be markup again
    return line if len(line) <= limit else line[: limit - 1].rstrip(" <") + "…"
