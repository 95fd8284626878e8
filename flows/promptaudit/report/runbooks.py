"""Writes the runbooks that ship with the code as pages of the published folder, where messages link to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markupsafe import Markup

from promptaudit.registry.shipped import shipped
from promptaudit.report.blocks.filters import rendered
from promptaudit.system.files import private_folder, write_text

if TYPE_CHECKING:
    from promptaudit.warehouse.places import Places


def write_runbooks(places: Places) -> None:
    """Writes a page for each runbook, `runbooks/<name>.html`; raises WarehouseError if one cannot be written."""
    for source in sorted(shipped("infra/runbooks").glob("*.md")):
        title, _, text = source.read_text(encoding="utf-8").partition("\n")
        body = Markup(MarkdownIt().render(text.replace(".md)", ".html)")))  # noqa: S704 - ours; they link to one another
        page = rendered("runbook.html.j2", title=title.removeprefix("# "), body=body)
        path = places.runbook(source.stem)
        if not path.is_file() or path.read_text(encoding="utf-8") != page:
            private_folder(path.parent)
            write_text(page, path)
