"""One warehouse with ordinary, hostile and judged runs, imported for real, and the pages that report on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from promptaudit.marts.comparison.compare import Pair, compare
from promptaudit.marts.comparison.result import run_comparison
from promptaudit.registry.cards import FormatLimits
from promptaudit.report import report
from promptaudit.report.comparison_page.page import write_page
from promptaudit.warehouse import Warehouse
from tests.support.imported_runs import (
    COLOURS,
    HOSTILE_LABELS,
    SCRIPT,
    Recorded,
    hostile_rows,
    ordinary_rows,
    published,
)
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


NAMES = ("ordinary", "hostile", "judged", "hostile_judged")


def built(folder: Path) -> list[str]:
    """The warehouse and its pages in a folder; gives the runs."""
    registry = judged_registry(folder)
    files = [
        Recorded("colours of things", ordinary_rows(), COLOURS, FormatLimits(max_invalid_rate=0.15)),
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
    runs = shape("reported", built, folder)
    return {
        name: Reported(folder / "audit.duckdb", run, folder / f"{name}.html")
        for name, run in zip(NAMES, runs, strict=True)
    }


@pytest.fixture(scope="session")
def ordinary(_reported: dict[str, Reported]) -> Reported:
    """Three models × two strategies with repetitions, temperatures, gold labels and a variant that breaks its format."""
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


@dataclass(frozen=True, slots=True)
class Compared:
    """A published comparison and its page."""

    warehouse: Path
    comparison_id: str

    @property
    def page(self) -> Path:
        return Warehouse(self.warehouse).places.comparison(self.comparison_id)

    @property
    def html(self) -> str:
        return self.page.read_text(encoding="utf-8")


def _build_compared(folder: Path) -> list[str]:
    """The same warehouse with two models and two strategies of the first run compared, and two models of the hostile one."""
    ordinary, hostile, *_ = shape("reported", built, folder)
    warehouse = Warehouse(folder / "audit.duckdb")
    pairs = [
        Pair(base_run_id=run, candidate_run_id=run, base_model_id=base, candidate_model_id=model)
        for run, base, model in ((ordinary, "harbour-large-2025", "harbour-small"), (hostile, "plain", SCRIPT))
    ]
    pairs.append(
        Pair(base_run_id=ordinary, candidate_run_id=ordinary, base_strategy="simple", candidate_strategy="one_shot")
    )
    ids = compare(warehouse, pairs)
    for each in ids:
        write_page(warehouse, run_comparison(warehouse, each))
    return ids


@pytest.fixture(scope="session")
def _compared(tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    folder = tmp_path_factory.mktemp("compared")
    return [Compared(folder / "audit.duckdb", each) for each in shape("compared", _build_compared, folder)]


@pytest.fixture(scope="session")
def compared(_compared: list[Compared]) -> Compared:
    """Two models of the ordinary run, the second of which knows less."""
    return _compared[0]


@pytest.fixture(scope="session")
def hostile_compared(_compared: list[Compared]) -> Compared:
    """Two models of the hostile run, one of which is called as a script would be."""
    return _compared[1]


@pytest.fixture(scope="session")
def strategies_compared(_compared: list[Compared]) -> Compared:
    """Two strategies of the ordinary run, the second of which helps every model a little."""
    return _compared[2]
