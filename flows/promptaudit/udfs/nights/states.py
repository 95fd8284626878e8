"""Computes the state of a model's task after a night, from the state before and tonight's tests."""

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
"""The greatest q of an alarm, and of a suspicion."""
LEAST_LOG_EFFECT = math.log(1.1)
"""The least difference that matters in a measure that is a logarithm: answers' costs and durations grow by a tenth."""
LEAST_CLASS_EFFECT = 0.05
"""The least difference that matters in a measure of one gold label, which few samples have, or of one wording."""
MOST_NORMAL_NIGHTS = 28
GOOD_NIGHTS = 2
"""So many good nights in a row end an alarm."""
NIGHTS_TO_ACCEPT = 7
"""After so many improved nights in a row, these are the new normal."""
_DOUBT_LEVEL = 0.01  # of the p-value of one measure, not adjusted for the others
_MOST_IN_DOUBT = 4
_ERRORS_FROM_LEVEL = 3.0
_WORSE_THAN_LEVEL = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamNight:
    """Tonight's tests of one measure.

    Attributes:
        test: against the normal nights.
        q_value: adjusted over all streams of the audit tonight; NaN where nothing was tested.
        worse: 1 where a higher figure is worse, -1 where a lower one is, 0 where any change is called changed.
        least_effect: the least difference that matters for it; None takes the audit's, as rates do.
        raises: whether it raises an alarm by itself; otherwise it joins one of its group.
        is_rate: whether it is a share of answers; other measures may improve when lost samples all answer alike.
        is_of_other_judge: whether its judge rules differently than on normal nights, so that nothing follows for the
            model.
        p_value_in_alarm: of the same test against the bad nights of its alarm instead of normal ones; NaN without any.
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
        """Tests whether the difference is beyond chance at this level, and large enough to matter."""
        return self.q_value <= level and self._matters(min_effect)

    def is_doubted(self, min_effect: float) -> bool:
        """Tests whether the difference is too unlikely for tonight to be a normal night, even without an alarm."""
        is_seldom = self.test.p_value <= _DOUBT_LEVEL and self._matters(min_effect)
        return is_seldom or self.is_beyond(SUSPECT_LEVEL, min_effect)

    def _matters(self, min_effect: float) -> bool:
        return abs(self.test.difference) >= (min_effect if self.least_effect is None else self.least_effect)

    @property
    def kind(self) -> Kind:
        """Names the kind of an alarm for it."""
        if self.worse == 0:
            return "changed"
        return "regressed" if self.test.difference * self.worse > 0 else "improved"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmedStream:
    """A measure in an alarm: its kind, the difference that raised it, and the sum over nights that reach half of it."""

    kind: Kind
    told: float
    total: float = 0.0
    n_nights: BigInt = 0

    @property
    def level(self) -> float:
        """Averages the alarm's nights that reach half of the raising difference; without any, gives that difference."""
        return self.total / self.n_nights if self.n_nights else self.told

    def is_good(self, difference: float) -> bool:
        """Tests whether a night is nearer to normal than to the alarm's level; NaN is not."""
        sign = 1 if self.told > 0 else -1
        return difference * sign < self.level * sign / 2

    def is_worse(self, tonight: StreamNight, min_effect: float) -> bool:
        """Tests whether a night is worse than the alarm so far: by half as much again, and beyond chance.

        An alarm of the kind changed or improved never is.
        """
        sign = 1 if self.told > 0 else -1
        more = (tonight.test.difference_tonight - self.level) * sign
        least = max((_WORSE_THAN_LEVEL - 1) * abs(self.level), min_effect)
        return self.kind == "regressed" and more >= least and tonight.p_value_in_alarm <= ALARM_LEVEL

    def with_night(self, difference: float) -> AlarmedStream:
        """Adds a night, which counts where it reaches half of the raising difference."""
        sign = 1 if self.told > 0 else -1
        if not difference * sign >= self.told * sign / 2:
            return self
        return replace(self, total=self.total + difference, n_nights=self.n_nights + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """The state of a model's task after a night.

    Attributes:
        state: its name.
        normal: ordinal numbers of its normal nights, oldest first, at most MOST_NORMAL_NIGHTS.
        alarm: the measures in its alarm; empty without one.
        since: the first night of the alarm; None without one.
        alarm_nights: the nights since then.
        good: the good nights in a row up to tonight, of an alarm or of nights that wait.
        worse_since: the first night on which the alarm was much worse than before; None until there is one.
        waiting: nights, without an alarm, that are not compared with until two nights in a row are not doubted.
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
        """Names its alarm by the gravest of its measures; None without an alarm."""
        kinds = {stream.kind for stream in self.alarm.values()}
        return next((kind for kind in GRAVEST_FIRST if kind in kinds), None)

    def without(self, measures: Collection[str]) -> GroupState:
        """Drops these measures from its alarm; an alarm without any other measure ends, and its nights are normal."""
        left = {name: stream for name, stream in self.alarm.items() if name not in measures}
        if self.kind is None or left:
            return replace(self, alarm=left)
        return self.accepted(is_false=True)

    def accepted(self, *, is_false: bool = False) -> GroupState:
        """Ends the alarm on a person's word: its nights become the normal ones, or join them if it was false.

        Without an alarm, nights that wait are normal from then on.
        """
        if self.kind is None:
            return replace(self, normal=_newest(self.normal, self.waiting), waiting=(), good=())
        nights = (*self.normal, *self.alarm_nights) if is_false else self.alarm_nights
        return GroupState(state="normal", normal=nights[-MOST_NORMAL_NIGHTS:])


@sql_function()
def accepted_state(before: GroupState | None, is_false: bool) -> GroupState | None:  # noqa: FBT001 - as SQL calls it
    """Gives the state after a person accepted its alarm, or called it false; None without a state."""
    return None if before is None else before.accepted(is_false=is_false)


@sql_function("next_night_state")
def next_state(
    before: GroupState | None,
    night: int,
    streams: Annotated[Mapping[str, StreamNight], Keyed("measure")],
    min_effect: float,
    is_pinned: bool = False,  # noqa: FBT001, FBT002 - as SQL calls it
) -> GroupState:
    """Computes the state of a group after a night that could be judged.

    Args:
        before: the state after the night before; `accepted()` where somebody has accepted since; None before the first.
        night: tonight's number, above the numbers of all earlier nights.
        streams: tonight's measures by name.
        min_effect: the least difference that matters, for measures that have none of their own.
        is_pinned: whether tonight is compared with a night that somebody pinned; only that person then decides what is
            normal.

    An alarm begins with the first night of the window that raised it, or with the first that waits; no night since then
    is normal. It stands until GOOD_NIGHTS good nights in a row, which are normal then, or until it is accepted. An
    improvement of NIGHTS_TO_ACCEPT nights in a row accepts itself, where no night is pinned. Scores of another judge
    are in no alarm, whenever it was raised. A regression that becomes much worse gets a `worse_since`, once an alarm,
    and stays regressed.

    A night that is doubted waits, with the others of its window, and so does every night after it: windows span them,
    and they are compared with the nights that were normal before. They are normal after GOOD_NIGHTS nights in a row
    without a doubt.
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
        is_raised = any(stream.raises for stream in beyond.values())
        return GroupState(
            state="unconfirmed" if is_raised else "normal" if before.normal else "first_night", normal=normal
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
    # of a window longer than a few nights, only tonight waits
    return max((stream.test.span if stream.test.span <= _MOST_IN_DOUBT else 1 for stream in doubted), default=0)


def _newest(*nights: tuple[BigInt, ...]) -> tuple[BigInt, ...]:
    return tuple(sorted({each for some in nights for each in some}))[-MOST_NORMAL_NIGHTS:]


def _within_alarm(before: GroupState, night: int, streams: Mapping[str, StreamNight], min_effect: float) -> GroupState:
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
    known = {name: stream for name, stream in before.alarm.items() if name in streams}
    is_worse = any(stream.is_worse(streams[name], min_effect) for name, stream in known.items())
    is_good = bool(known) and all(own.is_good(streams[name].test.difference_tonight) for name, own in known.items())
    good = (*before.good, night) if is_good and not is_raised else ()
    if len(good) >= GOOD_NIGHTS and _is_far_from_level(known, streams):
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
    # lost samples answer alike, so no other measure is called improved while a rate is worse
    rates = {name for name in alarm if name in streams and streams[name].is_rate}
    if not any(alarm[name].kind == "regressed" for name in rates):
        return dict(alarm)
    return {
        name: replace(own, kind="changed") if own.kind == "improved" and name not in rates else own
        for name, own in alarm.items()
    }


def _is_far_from_level(known: Mapping[str, AlarmedStream], streams: Mapping[str, StreamNight]) -> bool:
    # the last two nights' mean is beyond chance away from the alarm's level, in some measure
    return any(
        abs(streams[name].test.difference_two - stream.level) >= _ERRORS_FROM_LEVEL * streams[name].test.error_two
        for name, stream in known.items()
    )
