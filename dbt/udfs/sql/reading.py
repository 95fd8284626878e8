"""Lets SQL call the readers of text: of the answer in a completion, and of the verdict in a judge's reply."""

from __future__ import annotations

import os

import pyarrow as pa

from udfs import TRUSTED_READERS, reading
from udfs.reasoning import parted
from udfs.scoring import verdict
from udfs.sql.columns import Column, row_structs, values_of


def read_answer(completion: Column, reader: Column, labels: Column, refusal_pattern: Column) -> Column:
    """Returns the reading of each completion as structs of `Reading`."""
    rows = list(zip(*(values_of(column) for column in (completion, reader, labels, refusal_pattern)), strict=True))
    return row_structs(reading.read_answers(rows, _own_readers()), reading.Reading)


def _own_readers() -> reading.OwnReaders:
    if not os.environ.get(TRUSTED_READERS):
        return {}
    from udfs.own_code import readers_of_build

    return readers_of_build()


def shown_reasoning(completion: Column) -> Column:
    """Returns the reasoning block at the head of each completion; NULL where there is none."""
    return pa.array([None if text is None else parted(text).reasoning for text in values_of(completion)], pa.string())


def read_verdict(completion: Column, form: Column) -> Column:
    """Returns the ruling of each of a judge's replies and its reason; neither where the reply cannot be read."""
    replies = zip(values_of(completion), values_of(form), strict=True)
    return row_structs([verdict.read_verdict(*reply) for reply in replies], verdict.Verdict)
