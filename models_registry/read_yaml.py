"""Reads a file of cards: a YAML mapping with every scalar as its text, and the line of each field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from models_registry.errors import CardError
from models_registry.mart_columns import yaml_loader

MAX_CARD_BYTES = 1_000_000
MAX_DEPTH = 30
MAX_VALUES = 50_000  # keys count too; each takes 1.5 kB and 50 µs until it is a card
LOADER = yaml_loader()


def read_yaml(path: Path, file: str) -> tuple[dict[str, Any], dict[tuple[str | int, ...], int]]:
    """Returns a YAML mapping with every scalar as the text written (an empty one None), and the line of each path.

    Refused in one line: over 1 MB, not UTF-8, malformed, duplicate keys, aliases, more than one document.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        msg = f"{file}: cannot be read: {error.strerror}"
        raise CardError(msg) from None
    if len(raw) > MAX_CARD_BYTES:
        msg = f"{file}: {len(raw)} bytes, a card file holds at most {MAX_CARD_BYTES}"
        raise CardError(msg)
    try:
        text = raw.decode("utf-8")
        _refuse_tricks(text, file)
        node = yaml.compose(text, Loader=LOADER)
    except UnicodeDecodeError as error:
        msg = f"{file}: not UTF-8 text at byte {error.start}"
        raise CardError(msg) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f" line {mark.line + 1}"
        msg = f"{file}{line}: not YAML: {getattr(error, 'problem', None) or error}"
        raise CardError(msg) from None
    except RecursionError:
        msg = f"{file}: nested too deep"
        raise CardError(msg) from None
    if node is None:
        return {}, {}
    if not isinstance(node, yaml.MappingNode):
        msg = f"{file} line {node.start_mark.line + 1}: a card file is a mapping of id to card"
        raise CardError(msg)
    lines: dict[tuple[str | int, ...], int] = {}
    return _built(node, (), lines, file), lines


def _refuse_tricks(text: str, file: str) -> None:
    """Refuses early what multiplies: aliases, nesting, which takes quadratic time, and more values than cards have."""
    depth = n_values = 0
    for event in yaml.parse(text, Loader=LOADER):
        n_values += isinstance(event, yaml.NodeEvent)
        if n_values > MAX_VALUES:
            msg = f"{file} line {_line(event)}: more than {MAX_VALUES:,} values, at most so many stand in a card file"
            raise CardError(msg)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            msg = f"{file} line {_line(event)}: nested deeper than {MAX_DEPTH}"
            raise CardError(msg)
        if isinstance(event, yaml.AliasEvent):
            msg = f"{file} line {_line(event)}: aliases are refused; write the value out"
            raise CardError(msg)


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1


def _built(node: yaml.Node, path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int], file: str) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return None if node.value == "" and node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_built(item, (*path, index), lines, file) for index, item in enumerate(node.value)]
    built: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            msg = f"{file} line {line}: a key must be text"
            raise CardError(msg)
        if key.value in built:
            msg = f"{file} line {line}: key '{key.value}' stands twice"
            raise CardError(msg)
        lines[(*path, key.value)] = line
        built[key.value] = _built(value, (*path, key.value), lines, file)
    return built
