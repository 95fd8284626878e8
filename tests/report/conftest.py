"""One warehouse with ordinary, hostile and judged runs, imported for real, and the pages that report on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.report import report
from flows.report.charts.script import script
from flows.warehouse import Warehouse
from models_registry.cards import FormatLimits
from tests.support.imported_runs import COLOURS, HOSTILE_LABELS, Recorded, hostile_rows, ordinary_rows, published
from tests.support.judged_runs import hostile_judged_rows, hostile_rulings, judged_registry, judged_rows, judged_rulings
from tests.support.prebuilt_folders import shape


@dataclass(frozen=True, slots=True)
class Reported:
    """A published run and its page."""

    warehouse: Path
    audit_run_id: str
    page: Path

    @property
    def html(self) -> str:
        return self.page.read_text(encoding="utf-8")

    @property
    def words(self) -> str:
        """The page without the script that draws charts."""
        assert str(script().text) in self.html
        return self.html.replace(script().text, "")


NAMES = ("ordinary", "hostile", "judged", "hostile_judged")


def _build(folder: Path) -> list[str]:
    """The warehouse and its pages in a folder; gives the runs."""
    registry = judged_registry(folder)
    files = [
        Recorded(
            "colours of things", ordinary_rows(), COLOURS, FormatLimits(policy="quarantine", max_invalid_rate=0.15)
        ),
        Recorded("<b>hostile</b>\x00\u202e", hostile_rows(), HOSTILE_LABELS, FormatLimits(policy="warn")),
        Recorded("rule and judge", judged_rows(), (), FormatLimits(policy="warn"), registry, judged_rulings().land),
        Recorded(
            "<i>judged</i>\x00",
            hostile_judged_rows(),
            (),
            FormatLimits(policy="warn"),
            registry,
            hostile_rulings().land,
        ),
    ]
    warehouse, runs = published(folder, files)
    for name, run in zip(NAMES, runs, strict=True):
        page = report(Warehouse(warehouse), run)
        assert page == warehouse.parent / "published" / "report.html"
        page.rename(folder / f"{name}.html")
    return runs


@pytest.fixture(scope="session")
def _reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reported]:
    folder = tmp_path_factory.mktemp("report")
    runs = shape("reported", _build, folder)
    return {
        name: Reported(folder / "audit.duckdb", run, folder / f"{name}.html")
        for name, run in zip(NAMES, runs, strict=True)
    }


@pytest.fixture(scope="session")
def ordinary(_reported: dict[str, Reported]) -> Reported:
    """Three models × two strategies with repetitions, temperatures, gold labels and a quarantined variant."""
    return _reported["ordinary"]


@pytest.fixture(scope="session")
def hostile(_reported: dict[str, Reported]) -> Reported:
    """Names and answers that try to be markup, templates and control characters."""
    return _reported["hostile"]


@pytest.fixture(scope="session")
def judged(_reported: dict[str, Reported]) -> Reported:
    """Three models on open and multiple-choice questions, with rules, judges, a panel, a person and controls."""
    return _reported["judged"]


@pytest.fixture(scope="session")
def hostile_judged(_reported: dict[str, Reported]) -> Reported:
    """Questions, answers, judges and reasons that try to be markup, templates and control characters."""
    return _reported["hostile_judged"]
