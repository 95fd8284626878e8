"""Shows a night on the server of Prefect: how far it is, its figures, its gate, where its report is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import httpx
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from promptaudit.gate.alerts.links import page_link
from promptaudit.gate.formats import markdown
from promptaudit.marts.comparison.result import NEWS
from promptaudit.nightly.after_run import NightResult
from promptaudit.registry.mart_columns import compact_measures
from promptaudit.report.terminal.scorecard import scorecard_rows
from promptaudit.system.display.figures import shown
from promptaudit.system.display.progress import Progress, visible
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

STEPS = 7  # of a night: five of its run, the comparison, and the message


class Bar(Progress):
    """Says the steps of a night in its logs, and how far it is in a progress artifact. Answers are shown in neither."""

    def __init__(self, info: Callable[[str], None], warning: Callable[[str], None]) -> None:
        super().__init__(quiet=True)
        self._info, self._warning, self._n_steps, self.is_away = info, warning, 0, False
        self._bar = self.show(lambda: create_progress_artifact(0.0, key="night", description="how far the night is"))

    def show(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever Prefect gives
        """Asks Prefect's server to keep something; returns None if it does not.

        The night goes on without it, and after an outage the server is not asked again.
        """
        if self.is_away:
            return None
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - whatever Prefect's client or its transport raises
            self.is_away = _is_outage(error)
            self._warning(f"Prefect's server did not take it: {type(error).__name__}")
            return None

    def step(self, text: str) -> None:
        """Logs a line and moves the bar one step."""
        self._info(text)
        self.heard(text)
        self._n_steps += 1
        self._move(100 * min(self._n_steps, STEPS - 1) / STEPS)

    def log(self, text: str) -> None:
        """Logs a line in our own words."""
        self._info(text)

    def log_warning(self, text: str) -> None:
        """Logs a warning in our own words."""
        self._warning(text)

    def wait(self, text: str) -> None:
        """Logs that the night waits, and writes for what to the worker's own output."""
        self._info("waiting for the warehouse; the worker's output says who holds it")
        sys.stderr.write(f"{visible(text)}\n")

    def warn(self, text: str) -> None:
        """Logs that there is a warning, and writes the warning itself to the worker's own output."""
        self._warning("a warning, which the worker's output has whole")
        super().warn(text)

    def end(self) -> None:
        """Moves the bar to its end."""
        self._move(100.0)

    def _move(self, percent: float) -> None:
        if self._bar is not None:
            self.show(lambda: update_progress_artifact(self._bar, percent))


def show_artifacts(settings: Settings, result: NightResult, bar: Bar) -> None:
    """Shows the scorecard, what differs from earlier runs, the gate and where the report is as artifacts of the run."""
    warehouse, key = Warehouse(settings.warehouse), key_of(result.audit_id)
    bar.show(
        lambda: create_table_artifact(
            [_figures(row) for row in scorecard_rows(warehouse, result.audit_run_id)],
            key=f"scorecard-{key}",
            description=f"run {result.audit_run_id}",
        )
    )
    bar.show(
        lambda: create_table_artifact(
            [
                _difference(row)
                for row in warehouse.published.read(sql("nightly", "night"), run=result.audit_run_id)
                if row["verdict"] in NEWS
            ],
            key=f"comparison-{key}",
            description="what differs from normal nights",
        )
    )
    bar.show(lambda: create_markdown_artifact(markdown(result.check), key=f"gate-{key}", description="the gate"))
    places = warehouse.places
    _show_page(
        bar, f"report-{key}", "the run's page", page_link(warehouse, places.report(result.audit_run_id), settings)
    )
    formats = places.formats_page(result.audit_run_id)
    if formats.is_file():
        _show_page(bar, f"formats-{key}", "how answers kept their format", page_link(warehouse, formats, settings))
    bar.end()


def _show_page(bar: Bar, key: str, about: str, link: str) -> None:
    if not link.startswith("file:"):
        bar.show(lambda: create_link_artifact(link, about, key=key, description=about))
    else:  # no page of a server may link to a file
        where = f"On the worker, since PROMPTAUDIT_REPORT_URL names no address:\n\n```\n{shown(link)}\n```"
        bar.show(lambda: create_markdown_artifact(where, key=key, description=about))


def _is_outage(error: BaseException | None) -> bool:
    # a server that did not answer in all the tries of Prefect's client, rather than refused
    while error is not None and not isinstance(error, httpx.TransportError):
        error = error.__cause__
    return error is not None


def _figures(row: dict[str, Any]) -> dict[str, Any]:
    names = {name: row[name] for name in ("model_id", "task_id", "strategy", "n_samples", "n_variants")}
    return names | {column.name: _rounded(row[column.name]) for column in compact_measures()}


def _difference(row: dict[str, Any]) -> dict[str, Any]:
    names: Sequence[str] = ("verdict", "model_id", "task_id", "strategy", "measure", "cause", "since_run_id")
    figures = ("base", "candidate", "difference", "difference_low", "difference_high", "q_value")
    return {name: row[name] for name in names} | {name: _rounded(row[name]) for name in figures}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


def key_of(name: str) -> str:
    """Writes a name as Prefect takes keys: lower case letters, digits and dashes; `audit` if none are left."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-") or "audit"
