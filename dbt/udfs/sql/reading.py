"""Gives SQL what reads text: the answer in a completion, and the verdict in a reply of a judge."""

from __future__ import annotations

import pyarrow as pa

from udfs import reading
from udfs.scoring import verdict
from udfs.sql.columns import Column, values_of


def read_answer(completion: Column, reader: Column, labels: Column, refusal_pattern: Column) -> Column:
    """Returns the reading of each completion; text is the one thing here that has no numpy form."""
    rows = zip(*(values_of(column) for column in (completion, reader, labels, refusal_pattern)), strict=True)
    readings = reading.read_answers(list(rows))
    arrays = [
        pa.array([getattr(row, name) for row in readings], pa.string() if name in ("label", "reason") else pa.bool_())
        for name in reading.Reading._fields
    ]
    return pa.StructArray.from_arrays(arrays, list(reading.Reading._fields))


def read_verdict(completion: Column) -> Column:
    """Returns the ruling of each of a judge's replies and its reason; neither where the reply cannot be read."""
    verdicts = [verdict.read_verdict(text) for text in values_of(completion)]
    arrays: list[Column] = [
        pa.array([each.is_match for each in verdicts], pa.bool_()),
        pa.array([each.reason for each in verdicts], pa.string()),
    ]
    return pa.StructArray.from_arrays(arrays, ["is_match", "reason"])
