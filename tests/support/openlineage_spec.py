"""Holds events against OpenLineage: the specification's schema, and the library's class of every facet, dbt's among them."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attr
from jsonschema import Draft202012Validator, FormatChecker
from openlineage.client import generated
from openlineage.client.generated.base import BaseFacet
from openlineage.common.provider.dbt import facets as of_dbt

SPEC = json.loads(Path(__file__).with_name("openlineage_2_0_2.json").read_text(encoding="utf-8"))


def problems(event: dict[str, Any]) -> list[str]:
    """What is wrong with an event; nothing, where it is as it should be."""
    validator = Draft202012Validator(SPEC, format_checker=FormatChecker())
    found = [error.message for error in validator.iter_errors(event)]
    classes = _classes()
    for name, facet in _facets(event):
        url = facet.get("_schemaURL", "")
        if url in classes:
            found += [f"{name}: {problem}" for problem in _unlike(facet, classes[url])]
        else:
            found.append(f"{name}: nobody knows {url}")
    return found


def _facets(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    things = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
    for thing in things:
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from thing.get(kind, {}).items()


def _classes() -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    modules = [
        importlib.import_module(f"{generated.__name__}.{each.name}")
        for each in pkgutil.iter_modules(generated.__path__)
    ]
    for module in (*modules, of_dbt):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, BaseFacet):
                found[value._get_schema()] = value
    return found


def _unlike(facet: dict[str, Any], kind: type[Any]) -> list[str]:
    fields = {each.name: each for each in attr.fields(kind)}
    needed = [name for name, each in fields.items() if each.default is attr.NOTHING]
    return [f"lacks {name}" for name in needed if name not in facet] + [
        f"has {name}" for name in facet if name not in fields
    ]
