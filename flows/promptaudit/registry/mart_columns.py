"""Reads the columns of the dbt project's marts: names and types from the contract, and the `meta` of each measure.

A measure is declared once, where its column is: `meta` has its label, unit, direction, interval, place on the page and
the sentence that explains it. Gates, scorecards, histories and reports take their columns from here. It needs no dbt
and reads the project's YAML files as data.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from promptaudit.registry.shipped import shipped

Range = tuple[float | None, float | None]
"""The least and the most that a figure, or a limit on it, may be; None is no end."""

SHARE: Range = (0, 1)
AROUND: Range = (-1, 1)
ABOVE: Range = (0, None)
ANY: Range = (None, None)
ENDS = ("_low", "_high")
# units of compared measures that have no column in the scorecard
_UNITS_BESIDE = {
    "cost_usd": "usd",
    "latency_ms": "ms",
    "answer_length": "log_characters",
    "completion_tokens": "log_tokens",
    "token_limit_rate": "rate",
    "refusal_rate": "rate",
}
OF_PARTS = {"accuracy of ": "micro_f1", "invalid_rate of ": "invalid_rate"}
"""Measures of the nights that are another measure on a part: the samples of one gold label, or one wording.

Maps how their names begin to the other measure.
"""
_OF_ENDS = ("unit", "range")
Form = Literal["figure", "interval"]
About = Literal["samples", "samples and wordings"]
ABOUT: Mapping[About, str] = {
    "samples": "for other samples under these wordings",
    "samples and wordings": "for other samples and other wordings",
}
"""The purpose of an interval, in words for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MartColumn:
    """A column of a mart as its contract has it, with a measure's `meta`; None or empty where it has none."""

    name: str
    data_type: str
    unit: str | None = None
    label: str = ""
    limits: Range = ANY
    direction: Literal["lower", "higher"] | None = None  # which is better
    interval: str | None = (
        None  # the column whose interval is printed with this one; of an end, the one it is an end of
    )
    compared: str | None = None  # its name in rpt_run_comparisons
    scorecard: Form | None = None  # what the report's scorecard prints beside the figure; None leaves the column out
    compact: Form | None = None  # the same where room is short: a terminal, Markdown, the artifacts of a night
    is_in_nights: bool = False  # whether the report draws it over the nights
    guide: str = ""  # what it says, in a sentence
    source: str = ""  # the paper it is from
    ends: tuple[str, str] | None = None  # the columns of its interval
    about: About | None = None  # what its interval is for

    @property
    def estimate(self) -> str:
        """Names the column whose interval is printed for this one."""
        return self.interval or self.name


def dbt_project() -> Path:
    """Finds the folder of the dbt project."""
    return shipped("dbt")


def yaml_loader() -> Any:  # noqa: ANN401 - a class of PyYAML's
    """Picks PyYAML's safe loader: libyaml's, which is ten times as fast, if PyYAML is built with it."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def declared_models(path: Path) -> list[dict[str, Any]]:
    """Reads the models that one YAML file of the project declares."""
    import yaml

    models: list[dict[str, Any]] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml_loader())["models"]  # noqa: S506
    return models


@functools.cache
def mart_columns(mart: str) -> Mapping[str, MartColumn]:
    """Reads a mart's columns by name, in the order of its contract.

    Raises:
        FileNotFoundError: the project has no file of that mart.
    """
    for path in (dbt_project() / "models" / "marts").glob(f"*/{mart}.yml"):
        (model,) = (model for model in declared_models(path) if model["name"] == mart)
        declared = {column["name"]: column for column in model["columns"]}
        return {name: _column(name, declared) for name in declared}
    msg = f"the dbt project has no mart {mart}"
    raise FileNotFoundError(msg)


def scorecard_columns() -> tuple[MartColumn, ...]:
    """Lists the columns of rpt_audit that are figures, in its order, without the ends of intervals."""
    columns = mart_columns("rpt_audit").values()
    return tuple(column for column in columns if column.unit is not None and not column.name.endswith(ENDS))


def compared_column(measure: str) -> MartColumn | None:
    """Finds the scorecard's column of a measure of rpt_run_comparisons; None if it has none."""
    return next((each for each in mart_columns("rpt_audit").values() if each.compared == measure and each.label), None)


def compared_unit(measure: str) -> str | None:
    """Gives the unit in which figures of a measure of rpt_run_comparisons are printed; None means to three digits."""
    if measure in _UNITS_BESIDE:
        return _UNITS_BESIDE[measure]
    whole = next((whole for begins, whole in OF_PARTS.items() if measure.startswith(begins)), measure)
    column = compared_column(whole)
    return None if column is None else column.unit


def compact_measures() -> tuple[MartColumn, ...]:
    """Lists the measures of the scorecard that are printed where room is short, in its order."""
    return tuple(column for column in scorecard_columns() if column.compact is not None)


@functools.cache
def _ranges() -> Mapping[str, Range]:
    import yaml

    project = yaml.load((dbt_project() / "dbt_project.yml").read_text(encoding="utf-8"), Loader=yaml_loader())  # noqa: S506
    return {unit: (low, high) for unit, (low, high) in project["vars"]["ranges"].items()}


def _column(name: str, declared: Mapping[str, Mapping[str, Any]]) -> MartColumn:
    meta = _meta(declared[name])
    stem = next((name.removesuffix(end) for end in ENDS if name.endswith(end)), name)
    if "unit" not in meta and stem in declared:  # an end of an interval is measured as its estimate is
        meta = {key: value for key, value in _meta(declared[stem]).items() if key in _OF_ENDS}
    # columns called n_<things> are counts
    unit, page = meta.get("unit", "count" if name.startswith("n_") else None), meta.get("page", {})
    limits = tuple(meta["range"]) if "range" in meta else ANY if unit is None else _ranges()[unit]
    low, high = (name + end for end in ENDS)
    return MartColumn(
        name=name,
        data_type=declared[name]["data_type"],
        unit=unit,
        label=meta.get("label", ""),
        limits=limits,
        direction=meta.get("direction"),
        interval=meta.get("interval"),
        compared=meta.get("compared"),
        scorecard=page.get("scorecard"),
        compact=page.get("compact"),
        is_in_nights=page.get("nights", False),
        guide=meta.get("guide", ""),
        source=meta.get("source", ""),
        about=meta.get("about"),
        ends=(low, high) if low in declared and high in declared else None,
    )


def _meta(column: Mapping[str, Any]) -> Mapping[str, Any]:
    meta: Mapping[str, Any] = column.get("config", {}).get("meta", {})
    return meta
