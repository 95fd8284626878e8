"""The runbooks as pages of the published folder, and where a person on call finds them."""

from __future__ import annotations

import re
from pathlib import Path

from promptaudit.report.runbooks import write_runbooks
from promptaudit.report.terminal.closing import runbook_lines
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.places import Places
from tests.support.shell import ROOT


def test_each_runbook_is_a_page_whose_links_lead_to_another(tmp_path: Path) -> None:
    places = Places(tmp_path / "audit.duckdb")
    write_runbooks(places)
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "infra/runbooks").glob("*.md")}
    pages = {path.stem: path.read_text(encoding="utf-8") for path in places.runbook("any").parent.iterdir()}
    assert set(pages) == set(sources)
    for name, page in pages.items():
        title = sources[name].splitlines()[0].removeprefix("# ")
        assert f"<h1>{title}</h1>" in page
        assert ("<strong>You see</strong>" in page) == ("**You see**" in sources[name])
        links = re.findall(r'href="([^"]*)"', page)
        assert set(links) - {"data:,"} <= {f"{other}.html" for other in sources}
        assert ("alarm_is_false.html" in links) == (name == "gate_failed")


def test_what_cannot_be_written_is_a_warning_and_what_was_spoilt_is_written_anew(tmp_path: Path) -> None:
    places, warnings = Places(tmp_path / "audit.duckdb"), list[str]()
    folder = places.runbook("any").parent
    folder.parent.mkdir()
    folder.write_text("a file")
    write_runbooks(places, warnings.append)
    (warning,) = warnings
    assert warning.startswith("the pages of the runbooks could not be written: ")
    assert runbook_lines(Warehouse(places.path), Settings(), 1) == []
    folder.unlink()
    folder.mkdir()
    places.runbook("gate_failed").write_bytes(b"\xff\xfe")
    write_runbooks(places, warnings.append)
    assert len(warnings) == 1
    page = places.runbook("gate_failed")
    assert "<h1>" in page.read_text(encoding="utf-8")
    served = Settings(report_url="https://audits.example.org/")
    lines = [runbook_lines(Warehouse(places.path), given, code) for given in (Settings(), served) for code in (0, 1)]
    url = "https://audits.example.org/runbooks/gate_failed.html"
    assert lines == [[], [f"RUNBOOK     {page}"], [], [f"RUNBOOK     {url}"]]


def test_a_page_that_is_as_it_would_be_written_is_left_alone(tmp_path: Path) -> None:
    places = Places(tmp_path / "other.duckdb")
    write_runbooks(places)
    page, changed = places.runbook("gate_failed"), places.runbook("restore")
    assert page == tmp_path / "published/other.duckdb.d/runbooks/gate_failed.html"
    changed.write_text("an older one", encoding="utf-8")
    before = page.stat().st_mtime_ns, page.stat().st_ino
    write_runbooks(places)
    assert (page.stat().st_mtime_ns, page.stat().st_ino) == before
    assert "<h1>" in changed.read_text(encoding="utf-8")
