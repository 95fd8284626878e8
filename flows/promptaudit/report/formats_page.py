"""Writes the page about a run's newest format validation, from Great Expectations' data docs on its kept result.

Their templates print texts unescaped, and their pages load scripts and styles from other hosts. So the templates get
tokens in place of texts, only plain elements and text are kept of what they print, and then the texts return, escaped.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from markupsafe import Markup

from promptaudit.registry.errors import WarehouseError
from promptaudit.report.blocks.filters import rendered, said
from promptaudit.report.queries import query
from promptaudit.report.record import page_sha256
from promptaudit.system.files import private_folder, write_text
from promptaudit.system.helper_processes import CHECKS, ChildFailed, start
from promptaudit.system.keys import sha256_of
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.duckdb_file import rows_of

TEMPLATE = "formats_page.html.j2"
HARMLESS = re.compile("[a-z_]*")
"""Matches the texts without markup: names of expectations and columns."""
ELEMENTS = {"h5": "h2", "h6": "h3"} | {
    name: name for name in ("br", "div", "p", "span", "strong", "table", "tbody", "td", "th", "thead", "tr")
}
"""Maps each element that is kept to the element it becomes."""
CLASSES = {"badge": "badge", "table-responsive": "scroll"}
SIGNS = {
    "fa-check-circle": '<span class="passed" role="img" aria-label="passed">✓</span>',
    "fa-times": '<span class="failed" role="img" aria-label="failed">✗</span>',
}


def write_formats_page(
    warehouse: Warehouse, audit_run_id: str, warn: Callable[[str], None] | None = None
) -> dict[Path, str]:
    """Writes the page of a run if it is not current.

    Maps its path to the page; empty if none was written.

    A page that cannot be made is not an error: `warn` gets the reason in a line, and an older result's page is removed.
    """
    path = warehouse.places.formats_page(audit_run_id)
    row = newest_validation(warehouse, audit_run_id)
    if row is None or not warehouse.exists() or _is_current(warehouse, audit_run_id, row, path):
        return {}
    try:
        page = page_of(row, audit_run_id)
        private_folder(path.parent)
        write_text(page, path)
    except (ChildFailed, WarehouseError, ValueError) as error:
        path.unlink(missing_ok=True)
        if warn is not None:
            warn(f"the page about the format checks is not written: {error}")
        return {}
    return {path: page}


def newest_validation(warehouse: Warehouse, audit_run_id: str) -> Row | None:
    """Finds the newest published validation of a run; None without one."""
    with warehouse.published.connect() as con:
        return next(iter(rows_of(con, query("newest_validation"), run=audit_run_id)), None)


def page_of(row: Row, audit_run_id: str) -> str:
    """Renders a validation as a page of its own, without scripts or anything loaded from elsewhere.

    Raises ChildFailed if Great Expectations makes no page.
    """
    words = Words()
    result = json.loads(row["result"])
    request = {
        "result": words.hidden(result),
        "run_name": words.token(audit_run_id),
        "run_time": row["checked_at"].isoformat(),
    }
    sections = start(CHECKS).ask({"render": request})
    allowed_by: dict[str, list[str]] = {}
    for each in result["results"]:
        config = each["expectation_config"]
        columns = allowed_by.setdefault(config["notes"], [])
        columns += {config["kwargs"].get("column", "the table")} - set(columns)
    return rendered(
        TEMPLATE,
        audit_run_id=audit_run_id,
        row=row,
        result_sha256=sha256_of(row["result"]),
        allowed_by=allowed_by,
        sections=[plain(section, words) for section in sections],
    )


def _is_current(warehouse: Warehouse, audit_run_id: str, row: Row, path: Path) -> bool:
    # the page has landed and is about this result
    if not path.is_file():
        return False
    page = path.read_bytes()
    landed = warehouse.read(
        "select 1 from raw.reports where audit_run_id = $run and name = $name and sha256 = $sha256",
        run=audit_run_id,
        name=f"{path.parent.name}/{path.name}",
        sha256=page_sha256(page),
    )
    return bool(landed) and sha256_of(row["result"]).encode() in page


class Words:
    """Keeps texts and the tokens that replace them: letters and digits that nobody can guess."""

    def __init__(self) -> None:
        self._mark = f"w{secrets.token_hex(8)}"
        self._words: list[str] = []

    def token(self, word: str) -> str:
        """Makes a token for a text."""
        self._words.append(word)
        return f"{self._mark}x{len(self._words) - 1:06d}"

    def hidden(self, value: Any) -> Any:
        """Replaces all text in JSON by tokens, except harmless words."""
        if isinstance(value, str):
            return value if HARMLESS.fullmatch(value) else self.token(value)
        if isinstance(value, Mapping):
            return {name: self.hidden(part) for name, part in value.items()}
        return [self.hidden(part) for part in value] if isinstance(value, list) else value

    def shown(self, text: str) -> str:
        """Escapes text as HTML and puts the original texts in place of their tokens."""
        return re.sub(f"{self._mark}x([0-9]{{6}})", lambda match: said(self._words[int(match[1])]), escape(text))


class _Plain(HTMLParser):
    # writes HTML anew with only the elements of ELEMENTS; of attributes it keeps `hidden` and our own classes

    def __init__(self, words: Words) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._words = words
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        self.parts += [SIGNS[name] for name in classes if name in SIGNS]
        if tag in {"script", "style"}:
            self._hidden.append(tag)
        elif tag in ELEMENTS:
            kept = [f' class="{CLASSES[name]}"' for name in classes if name in CLASSES][:1]
            kept += [" hidden" for name, _ in attrs if name == "hidden"] + [' scope="col"'] * (tag == "th")
            self.parts.append(f"<{ELEMENTS[tag]}{''.join(kept)}>")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag == self._hidden[-1]:
            self._hidden.pop()
        elif tag in ELEMENTS and tag != "br":
            self.parts.append(f"</{ELEMENTS[tag]}>")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(self._words.shown(data))


def plain(html: str, words: Words) -> Markup:
    """Writes HTML without anything that could run or load something, with the texts in place of their tokens."""
    parser = _Plain(words)
    parser.feed(html)
    parser.close()
    return Markup(re.sub(r"\s*\n\s*", "\n", "".join(parser.parts)))  # noqa: S704 - written anew, text escaped
