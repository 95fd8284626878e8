"""Writes the runbooks that ship with the code as pages of the published folder, where messages link to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markupsafe import Markup

from promptaudit.registry.errors import WarehouseError, lines_of
from promptaudit.registry.shipped import shipped
from promptaudit.report.blocks.filters import rendered
from promptaudit.system.files import private_folder, write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptaudit.warehouse.places import Places


def write_runbooks(places: Places, warn: Callable[[str], None] | None = None) -> None:
    """Writes a page for each runbook, `runbooks/<name>.html`; if one cannot be written, `warn` gets the reason.

    Nobody's figures depend on these pages, so nothing else fails with them.
    """
    try:
        _write(places)
    except (WarehouseError, OSError) as error:
        if warn is not None:
            warn(f"the pages of the runbooks could not be written: {'; '.join(lines_of(error))}")


def _write(places: Places) -> None:
    for source in sorted(shipped("infra/runbooks").glob("*.md")):
        title, _, text = source.read_text(encoding="utf-8").partition("\n")
        body = Markup(MarkdownIt().render(text.replace(".md)", ".html)")))  # noqa: S704 - ours; they link to one another
        page = rendered("runbook.html.j2", title=title.removeprefix("# "), body=body)
        path = places.runbook(source.stem)
        if not path.is_file() or path.read_bytes() != page.encode():
            private_folder(path.parent)
            write_text(page, path)
