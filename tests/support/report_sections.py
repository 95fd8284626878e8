"""What the sections of a report's pages hold: charts, tables, and sentences on what is not there."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Held:
    """What one section holds over all pages."""

    n_charts: int = 0
    n_tables: int = 0
    absent: set[str] = field(default_factory=set)


def sections_of(pages: Iterable[Path]) -> dict[str, Held]:
    """Returns what every section holds, by its heading."""
    held: dict[str, Held] = {}
    for page in pages:
        for text in page.read_text("utf-8").split('<section class="fold">')[1:]:
            heading = re.search(r'<span class="kicker">(.*?)</span>', text) or re.search(r"<h2>(.*?)</h2>", text)
            assert heading is not None, text[:200]
            section = held.setdefault(html.unescape(heading[1]), Held())
            section.n_charts += text.count('<div class="chart"')
            section.n_tables += len(re.findall(r"<table|<dl|class=\"sample\"", text))
            section.absent |= {html.unescape(each) for each in re.findall(r'<p class="absent">(.*?)</p>', text)}
    return held
