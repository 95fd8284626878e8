"""Takes in answers as arrays or frames: a table of samples and annotators, or one row an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from promptaudit.registry.errors import DataError, nearest

SAMPLE, ANNOTATOR, LABEL, GOLD = "sample_id", "variant_index", "label", "gold_label"


def frame(data: Any) -> pl.DataFrame:  # noqa: ANN401 - whatever holds a table
    """Turns data into a polars frame.

    Args:
        data: a polars frame, anything with the Arrow interface (pandas, DuckDB, pyarrow), a 2-D numpy array, or a list of
            rows. Columns without a name are called `0`, `1` and so on.

    Raises:
        DataError: the data is no table.
    """
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pl.DataFrame(data)
        rows = data.tolist() if isinstance(data, np.ndarray) else [list(row) for row in data]
        width = {len(row) for row in rows}
        if len(width) > 1:
            msg = f"rows of {min(width)} and of {max(width)} values make no table"
            raise DataError(msg)
        columns = [str(place) for place in range(next(iter(width), 0))]
        return pl.DataFrame(rows, schema=columns, orient="row", strict=False, infer_schema_length=None)
    except (TypeError, pl.exceptions.PolarsError) as error:
        msg = f"a table is wanted, got {type(data).__name__}: {error}"
        raise DataError(msg) from None


def one_row_an_answer(data: Any) -> pl.DataFrame:  # noqa: ANN401 - as `frame`
    """Makes one row for each answer, with the columns `sample_id`, `variant_index` and `label`.

    Args:
        data: a frame that has these columns (others stay), or a table with one row a sample and one column an annotator:
            a wording, a repetition, a person. A label is missing where it is None, or NaN in a column of floats.

    Raises:
        DataError: a frame with some of the columns lacks another, or holds no answer.
    """
    given = frame(data)
    if SAMPLE in given.columns or LABEL in given.columns:
        for name in (SAMPLE, ANNOTATOR, LABEL):
            if name not in given.columns:
                msg = f"no column {name!r}{nearest(name, given.columns)}"
                raise DataError(msg)
        rows = given
    elif given.is_empty():
        rows = given
    else:
        rows = given.with_row_index(SAMPLE).unpivot(index=SAMPLE, variable_name="_annotator", value_name=LABEL)
        order = pl.DataFrame({"_annotator": given.columns, ANNOTATOR: range(given.width)})
        rows = rows.join(order, on="_annotator", maintain_order="left").drop("_annotator")
    if rows.is_empty():
        msg = "there is no answer"
        raise DataError(msg)
    label = pl.col(LABEL)
    return rows.with_columns(label.fill_nan(None) if rows.schema[LABEL].is_float() else label)


def codes(column: pl.Series, known: Sequence[Any] | None = None) -> NDArray[np.int64]:
    """Codes each value by its place in `known`, else among the distinct values in order. NULL is -1.

    Raises:
        DataError: a value that is not in `known`.
    """
    values = column.drop_nulls().unique().sort().to_list() if known is None else list(known)
    place = {value: number for number, value in enumerate(values)}
    unknown = next((value for value in column.drop_nulls().to_list() if value not in place), None)
    if unknown is not None:
        msg = f"{column.name} {unknown!r} is not among the labels{nearest(str(unknown), map(str, values))}"
        raise DataError(msg)
    return np.array([-1 if value is None else place[value] for value in column.to_list()], np.int64)


def shares(rows: pl.DataFrame, label: NDArray[np.int64], n_labels: int) -> pl.DataFrame:
    """Computes the share of each label among each annotator's answers to a sample. N/A is label `n_labels`.

    Returns:
        Columns `sample`, `annotator`, `label` (codes) and `p`; only shares above 0.
    """
    coded = pl.DataFrame(
        {
            "sample": codes(rows[SAMPLE]),
            "annotator": codes(rows[ANNOTATOR]),
            "label": np.where(label < 0, n_labels, label),
        }
    )
    counted = coded.group_by("sample", "annotator", "label").len()
    whole = pl.col("len").sum().over("sample", "annotator")
    return counted.with_columns(p=pl.col("len") / whole).drop("len").sort("sample", "annotator", "label")
