"""Writes card files as people write them: fields in their order, texts of several lines as blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    pass


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # outside quotes U+0085 is a line break, which is read as a space
    style = '"' if "\x85" in text else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def write_cards(path: Path, cards: dict[str, Any], first: str | None = None) -> None:
    """Writes cards by their ids to a file; `first` is a line above them."""
    text = yaml.dump(cards, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    path.write_text(text if first is None else f"{first}\n{text}", encoding="utf-8")
