"""Names printed figures by mart, column, and a hash of the values that identify the row in the mart.

`rpt_audit.sensitivity.4f1c2a9b0d3e` is a figure, `rpt_audit.4f1c2a9b0d3e` its row. The report prints the names, `trace`
follows them, `verify` compares the figures with the marts. The same figure of the same run has the same name in every
copy.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.mart_columns import dbt_project, declared_models, yaml_loader
from promptaudit.system import user_cache
from promptaudit.system.keys import content_id

N_DIGITS = 12
_NAME = re.compile(rf"([a-z_0-9]+)(?:\.([a-z_0-9]+))?\.([0-9a-f]{{{N_DIGITS}}})")


@functools.cache
def project_models() -> dict[str, tuple[Path, dict[str, Any]]]:
    """Reads the project's declaration of each mart, with the file it is in.

    The result stays in the user's cache while the files stay as they are, since reading them takes 0.3 s.
    """
    marts = dbt_project() / "models" / "marts"
    files = sorted(marts.rglob("*.yml"))
    stats = [(path.name, path.stat()) for path in files]
    seen = content_id(*(str(part) for name, stat in stats for part in (name, stat.st_size, stat.st_mtime_ns)))
    name = f"marts-{seen}.json"
    kept = user_cache.read(name)
    if kept is None:
        kept = json.dumps({path.relative_to(marts).as_posix(): declared_models(path) for path in files}).encode()
        user_cache.keep(name, kept, instead_of="marts-*.json")
    return {model["name"]: (marts / path, model) for path, models in json.loads(kept).items() for model in models}


@functools.cache
def descriptions() -> Mapping[str, str]:
    """Reads the description of each mart, and of each column as `mart.column`, on one line.

    A mart's begins with its grain.
    """
    found = {}
    for mart, (_, model) in project_models().items():
        found[mart] = model["description"]
        found |= {f"{mart}.{column['name']}": column["description"] for column in model["columns"]}
    return {name: " ".join(text.split()) for name, text in found.items()}


@functools.cache
def grains() -> dict[str, tuple[str, ...]]:
    """Reads the columns of each mart that identify a row, from its `unique_grain` test."""
    grains_of = {}
    for name, (_, model) in project_models().items():
        for test in model.get("data_tests", ()):
            if isinstance(test, dict) and "unique_grain" in test:
                grains_of[name] = tuple(test["unique_grain"]["arguments"]["columns"])
    return grains_of


@functools.cache
def begin_with() -> tuple[str, ...]:
    """Lists the marts that are enough to begin with, in order, from the exposure of analysts."""
    import yaml

    exposures = (dbt_project() / "models" / "exposures.yml").read_text(encoding="utf-8")
    (names,) = (
        each["config"]["meta"]["begin_with"]
        for each in yaml.load(exposures, Loader=yaml_loader())["exposures"]  # noqa: S506 - a safe one
        if each["name"] == "analyst_sql"
    )
    return tuple(names)


def row_id(mart: str, row: Mapping[str, Any]) -> str:
    """Names a row that has the mart's grain, `<mart>.<12 hex digits>`; further columns do not count."""
    values = [row[column] for column in grains()[mart]]
    texts = [None if value is None else repr(value) if isinstance(value, float) else str(value) for value in values]
    return f"{mart}.{content_id('row', mart, *texts)[:N_DIGITS]}"


def figure_id(mart: str, row: Mapping[str, Any], column: str) -> str:
    """Names one column of a row that has the mart's grain: `<mart>.<column>.<12 hex digits>`."""
    return row_id(mart, row).replace(".", f".{column}.", 1)


def parse_figure(text: str) -> tuple[str, str | None, str]:
    """Splits a name into mart, column (None: the whole row) and hash; raises UsageError for any other text."""
    match = _NAME.fullmatch(text.strip())
    if match is None:
        examples = "one looks like rpt_audit.sensitivity.4f1c2a9b0d3e, its row like rpt_audit.4f1c2a9b0d3e"
        msg = f"{text[:80]!r} names no figure; {examples}"
        raise UsageError(msg)
    mart, column, digits = match.groups()
    if mart not in grains():
        msg = f"no mart is {mart!r}{nearest(mart, sorted(grains()))}"
        raise UsageError(msg)
    return mart, column, digits
