"""The state of a model's task after a night: what follows from the state before and from tonight's tests."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from promptaudit.udfs.differences.difference import FULL_RULE
from promptaudit.udfs.nights.window_test import WindowTest
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import BigInt, Keyed

State = Literal[
    "first_night",
    "unconfirmed",
    "normal",
    "suspect",
    "regressed",
    "changed",
    "improved",
    "recovering",
    "recovered",
]
Kind = Literal["regressed", "changed", "improved"]
GRAVEST_FIRST: tuple[Kind, ...] = ("regressed", "changed", "improved")

ALARM_LEVEL, SUSPECT_LEVEL = 0.005, 0.05
"""Greatest q of an alarm, and of what is said without one."""
LEAST_LOG_EFFECT = math.log(1.1)
"""Least difference that matters of a measure that is a logarithm: a tenth more. What answers cost and take grow by as much."""
LEAST_CLASS_EFFECT = 0.05
"""Least difference that matters in what is of one gold label, which few samples have, or of one wording."""
MOST_NORMAL_NIGHTS = 28
GOOD_NIGHTS = 2
"""Good nights in a row that end an alarm."""
NIGHTS_TO_ACCEPT = 7
"""Improved nights in a row after which they are the new normal."""
_DOUBT_LEVEL = 0.01  # of the p-value of one measure, not adjusted for the others
_MOST_IN_DOUBT = 4
_ERRORS_FROM_LEVEL = 3.0
_WORSE_THAN_LEVEL = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamNight:
    """The tests of tonight in one measure.

    Attributes:
        test: against the normal nights.
        q_value: over all streams of the audit tonight; NaN where nothing was tested.
        worse: 1 where a higher figure is worse, -1 where a lower one is, 0 where any change is called changed.
        least_effect: the least difference that matters for it; None takes the audit's, as for all rates.
        raises: whether it raises an alarm by itself; otherwise it joins one of its group.
        is_rate: whether it is a share of answers, and nothing that samples which are lost and answer alike make better.
        is_of_other_judge: whether its judge rules otherwise than on normal nights, so that nothing is known of the model.
        p_value_in_alarm: of the same test against the bad nights of its alarm in the place of normal ones; NaN without any.
    """

    test: WindowTest
    q_value: float
    worse: BigInt
    least_effect: float | None = None
    raises: bool = True
    is_rate: bool = True
    is_of_other_judge: bool = False
    p_value_in_alarm: float = math.nan

    def is_beyond(self, level: float, min_effect: float) -> bool:
        """Returns whether it is beyond chance at this level, and large enough to matter."""
        return self.q_value <= level and self._matters(min_effect)

    def is_doubted(self, min_effect: float) -> bool:
        """Returns whether chance makes it so seldom, if not seldom enough for an alarm, that tonight is no normal night yet."""
        is_seldom = self.test.p_value <= _DOUBT_LEVEL and self._matters(min_effect)
        return is_seldom or self.is_beyond(SUSPECT_LEVEL, min_effect)

    def _matters(self, min_effect: float) -> bool:
        return abs(self.test.difference) >= (min_effect if self.least_effect is None else self.least_effect)

    @property
    def kind(self) -> Kind:
        """Returns what an alarm of it is called."""
        if self.worse == 0:
            return "changed"
        return "regressed" if self.test.difference * self.worse > 0 else "improved"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmedStream:
    """A measure within an alarm: the kind it was told as, the difference it was told with, and those of the nights like it."""

    kind: Kind
    told: float
    total: float = 0.0
    n_nights: BigInt = 0

    @property
    def level(self) -> float:
        """Returns the mean difference of the alarm's nights that reach half of what was told; that itself without any."""
        return self.total / self.n_nights if self.n_nights else self.told

    def is_good(self, difference: float) -> bool:
        """Returns whether a night is nearer to normal than to the alarm's level; NaN is not."""
        sign = 1 if self.told > 0 else -1
        return difference * sign < self.level * sign / 2

    def is_worse(self, tonight: StreamNight, min_effect: float) -> bool:
        """Returns whether a night is worse than the alarm was so far: beyond half as much again, and beyond chance.

        An alarm of the kind changed or improved never is.
        """
        sign = 1 if self.told > 0 else -1
        more = (tonight.test.difference_tonight - self.level) * sign
        least = max((_WORSE_THAN_LEVEL - 1) * abs(self.level), min_effect)
        return self.kind == "regressed" and more >= least and tonight.p_value_in_alarm <= ALARM_LEVEL

    def with_night(self, difference: float) -> AlarmedStream:
        """Returns it after a night, which counts where it reaches half of what was told."""
        sign = 1 if self.told > 0 else -1
        if not difference * sign >= self.told * sign / 2:
            return self
        return replace(self, total=self.total + difference, n_nights=self.n_nights + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """The state of a model's task after a night.

    Attributes:
        state: the word for it.
        normal: ordinal numbers of its normal nights, oldest first, at most MOST_NORMAL_NIGHTS.
        alarm: the measures in its alarm; empty without one.
        since: the first night of the alarm; None without one.
        alarm_nights: the nights from there on.
        good: the good nights in a row up to tonight, of an alarm or of nights that wait.
        worse_since: the first night on which the alarm was much worse than before; None until there is one.
        waiting: nights, without an alarm, that nothing is held against until two nights in a row are not doubted.
    """

    state: State = "first_night"
    normal: tuple[BigInt, ...] = ()
    alarm: Annotated[Mapping[str, AlarmedStream], Keyed("measure")] = field(default_factory=dict)
    since: BigInt | None = None
    alarm_nights: tuple[BigInt, ...] = ()
    good: tuple[BigInt, ...] = ()
    worse_since: BigInt | None = None
    waiting: tuple[BigInt, ...] = ()

    @property
    def kind(self) -> Kind | None:
        """Returns what its alarm is called: the gravest of its measures; None without an alarm."""
        kinds = {stream.kind for stream in self.alarm.values()}
        return next((kind for kind in GRAVEST_FIRST if kind in kinds), None)

    def without(self, measures: Collection[str]) -> GroupState:
        """Returns it without these measures in its alarm; an alarm that has no other is none, and its nights are normal."""
        left = {name: stream for name, stream in self.alarm.items() if name not in measures}
        if self.kind is None or left:
            return replace(self, alarm=left)
        return self.accepted(is_false=True)

    def accepted(self, *, is_false: bool = False) -> GroupState:
        """Returns it after a person ended the alarm: its own nights are the normal ones, or join them where it was false.

        Without an alarm, nights that wait are normal from then on.
        """
        if self.kind is None:
            return replace(self, normal=_newest(self.normal, self.waiting), waiting=(), good=())
        nights = (*self.normal, *self.alarm_nights) if is_false else self.alarm_nights
        return GroupState(state="normal", normal=nights[-MOST_NORMAL_NIGHTS:])


@sql_function()
def accepted_state(before: GroupState | None, is_false: bool) -> GroupState | None:  # noqa: FBT001 - as SQL calls it
    """Returns a state after a person accepted its alarm, or called it false; None without one."""
    return None if before is None else before.accepted(is_false=is_false)


@sql_function("next_night_state")
def next_state(
    before: GroupState | None,
    night: int,
    streams: Annotated[Mapping[str, StreamNight], Keyed("measure")],
    min_effect: float,
    is_pinned: bool = False,  # noqa: FBT001, FBT002 - as SQL calls it
) -> GroupState:
    """Returns the state of a group after a night that could be judged.

    Args:
        before: the state after the night before; `accepted()` where somebody has accepted since; None before the first.
        night: tonight's number, above those of all nights before.
        streams: tonight's measures by name.
        min_effect: the least difference that matters, of measures that have none of their own.
        is_pinned: whether tonight is compared with a night that somebody pinned; only that person then says what is normal.

    An alarm begins with the first night of the window that told it, or with the first that waits; no night from there on is
    normal. It stands until GOOD_NIGHTS good nights in a row, which are normal then, or until it is accepted. An improvement of
    NIGHTS_TO_ACCEPT nights in a row accepts itself, where no night is pinned. Scores of another judge are in no alarm, whenever
    it was raised. A regression that becomes much worse has a `worse_since` from then on, once an alarm, and stays regressed.

    A night that is doubted waits, with the others of its window, and so does every night after it: windows span them, and they
    are held against what was normal before. They are normal after GOOD_NIGHTS nights in a row without a doubt.
    """
    of_others = {name for name, stream in streams.items() if stream.is_of_other_judge}
    before = (before or GroupState()).without(of_others)
    streams = {name: stream for name, stream in streams.items() if name not in of_others}
    if before.kind is not None:
        after = _within_alarm(before, night, streams, min_effect)
        is_lasting = after.state == "improved" and len(after.alarm_nights) >= NIGHTS_TO_ACCEPT
        return after.accepted() if is_lasting and not is_pinned else after
    normal = (*before.normal, night)[-MOST_NORMAL_NIGHTS:]
    beyond = {name: stream for name, stream in streams.items() if stream.is_beyond(ALARM_LEVEL, min_effect)}
    if len(before.normal) < FULL_RULE:
        is_told = any(stream.raises for stream in beyond.values())
        return GroupState(
            state="unconfirmed" if is_told else "normal" if before.normal else "first_night", normal=normal
        )
    if any(stream.raises for stream in beyond.values()):
        window = max(stream.test.span for stream in beyond.values() if stream.raises)
        nights = _newest(before.waiting, tuple(each for each in normal if each > night - window))
        alarm = _named(_alarmed(beyond), streams)
        state = GroupState(
            normal=tuple(each for each in normal if each not in nights),
            alarm=alarm,
            since=nights[0],
            alarm_nights=nights,
        )
        return replace(state, state=state.kind or "normal")
    is_suspect = any(stream.raises and stream.is_beyond(SUSPECT_LEVEL, min_effect) for stream in streams.values())
    doubted = [stream for stream in streams.values() if stream.raises and stream.is_doubted(min_effect)]
    waiting = {*before.waiting, night, *(each for each in normal if each > night - _nights_in_doubt(doubted))}
    good = () if doubted else (*before.good, night)
    state = GroupState(state="suspect" if is_suspect else "normal", normal=normal)
    if not doubted and (not before.waiting or len(good) >= GOOD_NIGHTS):
        return replace(state, normal=_newest(before.waiting, normal))
    left = tuple(each for each in normal if each not in waiting)
    return replace(state, normal=left, waiting=tuple(sorted(waiting)), good=good)


def _nights_in_doubt(doubted: Collection[StreamNight]) -> int:
    """Returns how many nights wait: those of the longest window that was told; of one of more than a few, tonight alone."""
    return max((stream.test.span if stream.test.span <= _MOST_IN_DOUBT else 1 for stream in doubted), default=0)


def _newest(*nights: tuple[BigInt, ...]) -> tuple[BigInt, ...]:
    """Returns the newest nights, as many as are normal at most, the oldest first."""
    return tuple(sorted({each for some in nights for each in some}))[-MOST_NORMAL_NIGHTS:]


def _within_alarm(before: GroupState, night: int, streams: Mapping[str, StreamNight], min_effect: float) -> GroupState:
    """Returns the state after a night of an alarm."""
    joining = {
        name: stream
        for name, stream in streams.items()
        if name not in before.alarm and stream.is_beyond(ALARM_LEVEL, min_effect)
    }
    is_raised = any(stream.raises for stream in joining.values())
    alarm = {
        name: stream.with_night(streams[name].test.difference_tonight) if name in streams else stream
        for name, stream in before.alarm.items()
    }
    told = {name: stream for name, stream in before.alarm.items() if name in streams}
    is_worse = any(stream.is_worse(streams[name], min_effect) for name, stream in told.items())
    is_good = bool(told) and all(stream.is_good(streams[name].test.difference_tonight) for name, stream in told.items())
    good = (*before.good, night) if is_good and not is_raised else ()
    if len(good) >= GOOD_NIGHTS and _is_far_from_level(told, streams):
        return GroupState(state="recovered", normal=(*before.normal, *good)[-MOST_NORMAL_NIGHTS:])
    after = replace(
        before,
        alarm=_named(alarm | (_alarmed(joining) if is_raised else {}), streams),
        alarm_nights=(*before.alarm_nights, night),
        good=good,
        worse_since=night if before.worse_since is None and is_worse else before.worse_since,
    )
    return replace(after, state="recovering" if good else after.kind or "normal")


def _alarmed(streams: Mapping[str, StreamNight]) -> dict[str, AlarmedStream]:
    return {
        name: AlarmedStream(kind=stream.kind, told=stream.test.difference).with_night(stream.test.difference_tonight)
        for name, stream in streams.items()
    }


def _named(alarm: Mapping[str, AlarmedStream], streams: Mapping[str, StreamNight]) -> dict[str, AlarmedStream]:
    """Returns an alarm in which no other measure is called improved while a rate is worse, since lost samples answer alike."""
    rates = {name for name in alarm if name in streams and streams[name].is_rate}
    if not any(alarm[name].kind == "regressed" for name in rates):
        return dict(alarm)
    return {
        name: replace(own, kind="changed") if own.kind == "improved" and name not in rates else own
        for name, own in alarm.items()
    }


def _is_far_from_level(told: Mapping[str, AlarmedStream], streams: Mapping[str, StreamNight]) -> bool:
    """Returns whether in some measure the last two nights' mean is beyond chance away from the alarm's level."""
    return any(
        abs(streams[name].test.difference_two - stream.level) >= _ERRORS_FROM_LEVEL * streams[name].test.error_two
        for name, stream in told.items()
    )
