"""Lets SQL call the nightly rule: the tests of one measure's nights, and the state that follows of all measures of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.codes import dense_codes
from udfs.nights.churn_test import churn_test as tested_churn
from udfs.nights.states import AlarmedStream, GroupState, StreamNight, next_state
from udfs.nights.window_test import Nights, WindowTest
from udfs.nights.window_test import window_test as tested_windows
from udfs.sql.columns import Column, doubles, flattened, integers, row_structs, row_type, values_of

STATE_TYPE = (
    "STRUCT(state VARCHAR, normal BIGINT[], alarm STRUCT(measure VARCHAR, kind VARCHAR, told DOUBLE, total DOUBLE, "
    "n_nights BIGINT)[], since BIGINT, alarm_nights BIGINT[], good BIGINT[], worse_since BIGINT)"
)
STREAM_TYPE = (
    f"STRUCT(measure VARCHAR, test {row_type(WindowTest)}, q_value DOUBLE, worse BIGINT, least_effect DOUBLE, "
    "raises BOOLEAN, is_of_other_judge BOOLEAN, p_value_in_alarm DOUBLE)"
)


def window_test(
    age: Column,
    sample: Column,
    cluster: Column,
    value: Column,
    normal_ages: Column,
    pinned_ages: Column,
    n_wordings: Column,
) -> Column:
    """Returns the test of each stream of values of samples; age 0 is tonight, a NULL value is none."""
    entries = flattened("window_test", {"age": age, "sample": sample, "cluster": cluster, "value": value})
    ages, samples, clusters = (integers(each) for each in entries.lists[:3])
    values = doubles(entries.lists[3])
    found = []
    scalars = zip(values_of(normal_ages), values_of(pinned_ages), values_of(n_wordings), strict=True)
    for group, (normal, pinned, wordings) in zip(entries.groups(), scalars, strict=True):
        nights = _nights(ages[group], normal, pinned)
        code, distinct = dense_codes(samples[group])
        table = np.full((len(nights.age), len(distinct)), np.nan)
        table[_places(ages[group], nights), code] = values[group]
        found.append(tested_windows(table, nights, wordings, _of_samples(clusters[group], code, len(distinct))))
    return row_structs(found, WindowTest)


def churn_test(
    age: Column,
    other_age: Column,
    sample: Column,
    cluster: Column,
    apart: Column,
    normal_ages: Column,
    pinned_ages: Column,
    n_wordings: Column,
) -> Column:
    """Returns the test of each group's disagreement across nights; of a night with itself it is that within the night."""
    columns = {"age": age, "other_age": other_age, "sample": sample, "cluster": cluster, "apart": apart}
    entries = flattened("churn_test", columns)
    ages, others, samples, clusters = (integers(each) for each in entries.lists[:4])
    values = doubles(entries.lists[4])
    found = []
    scalars = zip(values_of(normal_ages), values_of(pinned_ages), values_of(n_wordings), strict=True)
    for group, (normal, pinned, wordings) in zip(entries.groups(), scalars, strict=True):
        nights = _nights(ages[group], normal, pinned)
        first, second = _places(ages[group], nights), _places(others[group], nights)
        code, distinct = dense_codes(samples[group])
        n, n_samples = len(nights.age), len(distinct)
        table = np.full((n, n, n_samples), np.nan)
        table[first, second, code] = values[group]
        table[second, first, code] = values[group]
        within = table[np.arange(n), np.arange(n)].copy()
        found.append(tested_churn(table, within, nights, wordings, _of_samples(clusters[group], code, n_samples)))
    return row_structs(found, WindowTest)


def next_night_state(before: Column, night: Column, streams: Column, min_effect: Column, is_pinned: Column) -> Column:
    """Returns the state of each group after a night, from that of the night before (NULL: none) and tonight's measures."""
    states = [
        next_state(
            _state(own), number, {each["measure"]: _stream(each) for each in measures or []}, effect, is_pinned=pinned
        )
        for own, number, measures, effect, pinned in zip(
            values_of(before),
            values_of(night),
            values_of(streams),
            values_of(min_effect),
            values_of(is_pinned),
            strict=True,
        )
    ]
    return pa.array([_row(state) for state in states], _STATE)


def accepted_state(before: Column, is_false: Column) -> Column:
    """Returns each state after a person accepted its alarm, or called it false."""
    pairs = zip(values_of(before), values_of(is_false), strict=True)
    return pa.array(
        [None if own is None else _row(_state(own).accepted(is_false=bool(false))) for own, false in pairs], _STATE
    )


_NIGHTS = pa.list_(pa.int64())
_STATE = pa.struct([
    ("state", pa.string()),
    ("normal", _NIGHTS),
    ("alarm", pa.list_(pa.struct([
        ("measure", pa.string()), ("kind", pa.string()), ("told", pa.float64()), ("total", pa.float64()),
        ("n_nights", pa.int64()),
    ]))),
    ("since", pa.int64()),
    ("alarm_nights", _NIGHTS),
    ("good", _NIGHTS),
    ("worse_since", pa.int64()),
])  # fmt: skip


def _nights(ages: NDArray[np.int64], normal: Sequence[int] | None, pinned: Sequence[int] | None) -> Nights:
    """Returns the nights of a group, the oldest first: normal and pinned ones, a good one within an alarm, and tonight."""
    every = np.unique(np.concatenate([ages, np.array([*(normal or []), *(pinned or []), 0], np.int64)]))[::-1]
    return Nights(every, np.isin(every, normal or []), np.isin(every, pinned or []))


def _of_samples(clusters: NDArray[np.int64], code: NDArray[np.int64], n_samples: int) -> NDArray[np.int64]:
    """Returns the cluster of each sample, from that of each entry."""
    own = np.zeros(n_samples, np.int64)
    own[code] = clusters
    return own


def _places(ages: NDArray[np.int64], nights: Nights) -> NDArray[np.int64]:
    """Returns the place of each entry's night among the nights."""
    return np.searchsorted(-nights.age, -ages)


def _state(row: dict[str, Any] | None) -> GroupState:
    if row is None:
        return GroupState()
    return GroupState(
        state=row["state"],
        normal=tuple(row["normal"] or ()),
        alarm={
            each["measure"]: AlarmedStream(
                kind=each["kind"], told=each["told"], total=each["total"], n_nights=each["n_nights"]
            )
            for each in row["alarm"] or ()
        },
        since=row["since"],
        alarm_nights=tuple(row["alarm_nights"] or ()),
        good=tuple(row["good"] or ()),
        worse_since=row["worse_since"],
    )


def _row(state: GroupState) -> dict[str, Any]:
    return {
        "state": state.state,
        "normal": list(state.normal),
        "alarm": [
            {"measure": name, "kind": each.kind, "told": each.told, "total": each.total, "n_nights": each.n_nights}
            for name, each in sorted(state.alarm.items())
        ],
        "since": state.since,
        "alarm_nights": list(state.alarm_nights),
        "good": list(state.good),
        "worse_since": state.worse_since,
    }


def _stream(row: dict[str, Any]) -> StreamNight:
    nan = {name: np.nan for name, value in row["test"].items() if value is None}
    test = WindowTest(**(row["test"] | nan))
    q_value, p_value_in_alarm = (np.nan if row[name] is None else row[name] for name in ("q_value", "p_value_in_alarm"))
    return StreamNight(
        test=test, q_value=q_value, worse=row["worse"], least_effect=row["least_effect"], raises=row["raises"],
        is_of_other_judge=row["is_of_other_judge"], p_value_in_alarm=p_value_in_alarm,
    )  # fmt: skip
