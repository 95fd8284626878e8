"""Writes a page about each row of the scorecard, which the report links to, with what its figures rest on."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

from promptaudit.evidence.trace.gather import Trace, described, trace_row
from promptaudit.lineage.columns.project import models
from promptaudit.prompts.as_sent import SentPrompts
from promptaudit.report.blocks.filters import rendered, said
from promptaudit.system.display.figures import cut
from promptaudit.system.display.policy import Policy
from promptaudit.system.files import private_folder, write_text
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import rows_of
from promptaudit.warehouse.figure_names import row_id

TEMPLATE = "trace_page.html.j2"
MOST_PAGES = 60
MOST_ROWS = 50
LONGEST = 300  # characters of a text


def pages_of(warehouse: Warehouse, audit_run_id: str) -> frozenset[str]:
    """Collects the names of the rows of a run that have a page."""
    return frozenset(path.stem for path in warehouse.places.traces(audit_run_id).glob("*.html"))


def write_pages(warehouse: Warehouse, audit_run_id: str, text: Policy | None = None) -> dict[Path, str]:
    """Writes the pages of a run's scorecard rows again, for the first 60 rows; maps their paths to the pages."""
    folder, policy = warehouse.places.traces(audit_run_id), text or Settings().text
    pages: dict[Path, str] = {}
    query = "select * from marts.rpt_audit where audit_run_id = $run order by task_id, strategy, model_id limit $most"
    with warehouse.published.connect() as con:
        prompts_of = functools.cache(functools.partial(SentPrompts, con))
        for row in rows_of(con, query, run=audit_run_id, most=MOST_PAGES):
            trace = trace_row(con, row_id("rpt_audit", row), row, policy, most=MOST_ROWS, prompts_of=prompts_of)
            pages[folder / f"{trace.figure}.html"] = page_of(trace)
    private_folder(folder)
    for path, page in pages.items():
        write_text(page, path)
    for path in set(folder.glob("*.html")) - set(pages):
        path.unlink()
    return pages


def page_of(trace: Trace) -> str:
    """Renders a trace as a page of its own, without scripts or anything loaded from elsewhere."""
    texts = described(trace.mart)[1].items()
    columns = [(name, text) for name, text in texts if name in trace.row and name not in trace.grain]
    return rendered(
        TEMPLATE,
        trace=trace,
        figure=lambda column: trace.figure.replace(".", f".{column}.", 1),
        value=_value,
        columns=columns,
        formulas={name: _formula(trace.mart, name) for name, _ in columns},
        most=MOST_ROWS,
    )


def _value(value: Any) -> Markup:
    if value is None:
        return Markup("–")
    if isinstance(value, float):
        return Markup(f"{value:.6g}")  # noqa: S704 - a number
    return said(cut(json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value), LONGEST))


@functools.cache
def _formula(mart: str, column: str) -> str:
    return cut(models()[mart].columns[column].expression, LONGEST)
