"""The child that has Great Expectations ready, whose import takes seconds: it holds a small summary against limits."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from flows.system.helper_processes import serve


def ready() -> Callable[[dict[str, Any]], dict[str, list[int]]]:
    """Returns what holds a summary against limits, once Great Expectations is imported."""
    # it does without SQLAlchemy, which it would import where it is installed and which nothing here needs
    sys.modules["sqlalchemy"] = None  # type: ignore[assignment]
    import great_expectations as gx

    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    asset = context.data_sources.add_pandas("warehouse").add_dataframe_asset("answer formats")
    summary = asset.add_batch_definition_whole_dataframe("run")
    return lambda request: offenders(summary, **request)


def offenders(
    summary: Any,  # noqa: ANN401 - a batch definition, whose class the import of seconds would bring
    columns: dict[str, list[float]],
    limits: dict[str, float],
) -> dict[str, list[int]]:
    """Returns for each column the places of its values above its limit, from 0."""
    import great_expectations as gx
    import pandas as pd
    from great_expectations.expectations.core.expect_column_values_to_be_between import (
        ExpectColumnValuesToBeBetween,
    )

    frame = pd.DataFrame(columns)
    frame["row"] = range(len(frame))
    suite = gx.ExpectationSuite(
        name="answer formats",
        expectations=[
            ExpectColumnValuesToBeBetween(column=column, max_value=limit) for column, limit in limits.items()
        ],
    )
    how = {"result_format": "COMPLETE", "unexpected_index_column_names": ["row"]}
    rows_above: dict[str, list[int]] = {}
    for result in summary.get_batch({"dataframe": frame}).validate(suite, result_format=how).results:
        checked = result.expectation_config
        if checked is not None:
            rows = result.result.get("unexpected_index_list") or []
            rows_above[checked.kwargs["column"]] = [int(row["row"]) for row in rows]
    return rows_above


if __name__ == "__main__":
    serve(ready)
