"""Validates summaries and renders results in a child that has imported Great Expectations, which takes seconds."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

from promptaudit.system.helper_processes import serve

MOST_ROWS = 20
"""How many unexpected rows of an expectation a kept result names at most."""
KEY = ("model_id", "prompt_variant_id")
"""The columns that name a row of the summary."""
NEEDED = (*KEY, "task_id", "strategy", "variant_index", "n_missing")
"""Columns of the summary that are never NULL."""
WHOLE = "the summary has each planned row once; no field of the card"
OWN = "promptaudit_expectation"
"""The entry of an expectation's meta that marks it as one of the card's own suite; it holds its number, from 0."""


def ready() -> Callable[[dict[str, Any]], Any]:
    """Imports Great Expectations and returns what answers requests: {"validate": {…}} or {"render": {…}}."""
    # it would import these where they are installed; nothing here needs them
    sys.modules |= dict.fromkeys(("sqlalchemy", "boto3"))  # type: ignore[arg-type]
    _import_when_used("scipy.stats")  # for expectations of distributions alone; it takes a third of the seconds
    import great_expectations as gx
    import great_expectations.render.renderer.page_renderer

    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    asset = context.data_sources.add_pandas("warehouse").add_dataframe_asset("answer formats")
    summary = asset.add_batch_definition_whole_dataframe("run")

    def answer(request: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        if "render" in request:
            return render(**request["render"])
        return validate(context, summary, **request["validate"])

    return answer


def _import_when_used(name: str) -> None:
    # the code of the module runs when one of its attributes is first asked for
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None or name in sys.modules:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    package, _, stem = name.rpartition(".")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    setattr(sys.modules[package], stem, sys.modules[name])


def validate(
    context: Any,  # noqa: ANN401 - a data context, whose class the import of seconds would bring
    summary: Any,  # noqa: ANN401 - a batch definition, for the same reason
    *,
    suite: str,
    columns: dict[str, list[Any]],
    limits: Sequence[dict[str, Any]],
    n_rows: int,
    sets: dict[str, list[str]],
    own: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Validates a summary with a checkpoint, against a suite that includes the expectations of a card's own suite.

    Args:
        context: the data context that gets the suite, the validation definition and the checkpoint.
        summary: the batch definition of the summary.
        suite: name of the suite.
        columns: the summary's values by column.
        limits: `column`, `allowed` and `allowed_by`, the field of the card that allows so much.
        n_rows: the rows that were planned.
        sets: the values that a column may have.
        own: `type`, `kwargs`, `severity`, `description` and `notes` of each expectation of the card's own suite.

    Returns:
        `result` is Great Expectations' own description of the result, without what differs each time. `offenders` has
        by column the keys of the rows above its limit. `own` has an entry for each of the card's own expectations:
        `is_success`, the keys of the `rows` that break it (None if it is about all rows together), the value that was
        `observed` if so, and the `error` that kept it from being checked against the summary, or None.

    Raises:
        RuntimeError: an expectation that is not the card's own could not be checked against the summary.
    """
    import great_expectations as gx
    import great_expectations.expectations as gxe
    import pandas as pd
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    expectations: list[Any] = [
        gxe.ExpectColumnValuesToBeBetween(column=limit["column"], max_value=limit["allowed"], notes=limit["allowed_by"])
        for limit in limits
    ]
    expectations += [
        gxe.ExpectTableRowCountToEqual(value=n_rows, notes=WHOLE),
        gxe.ExpectCompoundColumnsToBeUnique(column_list=list(KEY), notes=WHOLE),
        *(gxe.ExpectColumnValuesToBeInSet(column=name, value_set=values, notes=WHOLE) for name, values in sets.items()),
        *(gxe.ExpectColumnValuesToNotBeNull(column=name, notes=WHOLE) for name in NEEDED),
        *(ExpectationConfiguration(**each, meta={OWN: index}).to_domain_obj() for index, each in enumerate(own)),
    ]
    of_suite = context.suites.add_or_update(gx.ExpectationSuite(name=suite, expectations=expectations))
    definition = context.validation_definitions.add_or_update(
        gx.ValidationDefinition(name=suite, data=summary, suite=of_suite)
    )
    checkpoint = context.checkpoints.add_or_update(
        gx.Checkpoint(
            name=suite,
            validation_definitions=[definition],
            result_format={"result_format": "COMPLETE", "unexpected_index_column_names": list(KEY)},
        )
    )
    (validated,) = checkpoint.run(batch_parameters={"dataframe": pd.DataFrame(columns)}).run_results.values()
    result = validated.to_json_dict()
    offenders: dict[str, list[list[str]]] = {}
    outcomes: dict[int, dict[str, Any]] = {}
    for each in result["results"]:
        config, error = each["expectation_config"], _error(each["exception_info"])
        if OWN in config["meta"]:
            outcomes[config["meta"][OWN]] = _outcome(each, error)
            if error is not None:
                each["exception_info"] = {
                    "raised_exception": True,
                    "exception_message": error,
                    "exception_traceback": "",
                }
        elif error is not None:
            msg = f"{config['type']} of {config['kwargs'].get('column', 'the table')}: {error}"
            raise RuntimeError(msg)
        elif config["type"] == "expect_column_values_to_be_between":
            offenders[config["kwargs"]["column"]] = _keys_of(each["result"])
    return {"result": _kept(result), "offenders": offenders, "own": [outcomes[index] for index in range(len(own))]}


def _error(exception_info: dict[str, Any]) -> str | None:
    # why an expectation has no result, in a line; None if it has one
    if exception_info.get("raised_exception") is False:
        return None
    of_metrics = [each for each in exception_info.values() if isinstance(each, dict)]
    messages = (each.get("exception_message") for each in (exception_info, *of_metrics))
    return next((" ".join(str(text).split())[:300] for text in messages if text), "no reason is given")


def _outcome(result: dict[str, Any], error: str | None) -> dict[str, Any]:
    found = {} if error is not None else result["result"]
    is_of_rows = "unexpected_index_list" in found
    return {
        "is_success": bool(result["success"]),
        "rows": (_keys_of(found) if not result["success"] else []) if is_of_rows else None,
        "observed": found.get("observed_value"),
        "error": error,
    }


def _keys_of(found: dict[str, Any]) -> list[list[str]]:
    return [[row[name] for name in KEY] for row in found.get("unexpected_index_list") or []]


def _kept(result: dict[str, Any]) -> dict[str, Any]:
    # at most 20 rows an expectation, without times, random ids and the query of a data frame
    for each in result["results"]:
        each["expectation_config"].pop("id", None)
        each["expectation_config"]["kwargs"].pop("batch_id", None)
        for name in ("unexpected_list", "unexpected_index_query", "partial_unexpected_index_list"):
            each["result"].pop(name, None)
        if "unexpected_index_list" in each["result"]:
            each["result"]["unexpected_index_list"] = each["result"]["unexpected_index_list"][:MOST_ROWS]
    meta = result["meta"]
    result["meta"] = {
        "great_expectations_version": meta["great_expectations_version"],
        "active_batch_definition": {"data_asset_name": meta["active_batch_definition"]["data_asset_name"]},
    }
    result.pop("id", None)
    kept: dict[str, Any] = json.loads(json.dumps(result), parse_constant=lambda _: None)  # NaN is no JSON
    return kept


def render(result: dict[str, Any], run_name: str, run_time: str) -> list[str]:
    """Renders the sections of the data docs' page about a kept result as HTML.

    The templates of Great Expectations escape little of what they print: callers pass no text that could be markup.
    """
    from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
    from great_expectations.render.view import DefaultJinjaSectionView

    results = [
        ExpectationValidationResult(
            **each | {"expectation_config": ExpectationConfiguration(**each["expectation_config"])}
        )
        for each in result["results"]
    ]
    meta = result["meta"] | {"run_id": {"run_name": run_name, "run_time": run_time}}
    meta["batch_spec"] = meta["active_batch_definition"]  # where the page looks for the asset's name
    validated = ExpectationSuiteValidationResult(**result | {"results": results, "meta": meta})
    page = ValidationResultsPageRenderer(run_info_at_end=True).render(validated).to_json_dict()
    view: Any = DefaultJinjaSectionView()
    return [
        view.render({"section": section, "section_loop": {"index": place}})
        for place, section in enumerate(page["sections"], start=1)
    ]


if __name__ == "__main__":
    serve(ready)
