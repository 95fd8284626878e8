"""One warehouse with an ordinary and a hostile run, imported for real, and the pages that report on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.report import report
from models_registry.cards import FormatLimits
from tests.report.warehouses import COLOURS, HOSTILE_LABELS, Recorded, hostile_rows, ordinary_rows, published


@dataclass(frozen=True, slots=True)
class Reported:
    """A published run and its page."""

    warehouse: Path
    audit_run_id: str
    page: Path

    @property
    def html(self) -> str:
        return self.page.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def _reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reported]:
    folder = tmp_path_factory.mktemp("report")
    files = [
        Recorded(
            "colours of things", ordinary_rows(), COLOURS, FormatLimits(policy="quarantine", max_invalid_rate=0.15)
        ),
        Recorded("<b>hostile</b>\x00\u202e", hostile_rows(), HOSTILE_LABELS, FormatLimits(policy="warn")),
    ]
    warehouse, runs = published(folder, files)
    pages = {}
    for name, run in zip(("ordinary", "hostile"), runs, strict=True):
        page = report(warehouse, run)
        assert page == warehouse.parent / "published" / "report.html"
        kept = page.rename(folder / f"{name}.html")
        pages[name] = Reported(warehouse, run, kept)
    return pages


@pytest.fixture(scope="session")
def ordinary(_reported: dict[str, Reported]) -> Reported:
    """Three models × two strategies with repetitions, temperatures, gold labels and a quarantined variant."""
    return _reported["ordinary"]


@pytest.fixture(scope="session")
def hostile(_reported: dict[str, Reported]) -> Reported:
    """Names and answers that try to be markup, templates and control characters."""
    return _reported["hostile"]
