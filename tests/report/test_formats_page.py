"""The page about a run's format validation: safe whatever a card's names are, whole without a network, known to `verify`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from promptaudit.audit.erase.erase import erase
from promptaudit.registry.cards import FormatLimits
from promptaudit.report import report
from promptaudit.report.formats_page import page_of
from promptaudit.report.verify_file import verify_with_pages
from promptaudit.system.helper_processes import CHECKS, ChildFailed, start
from promptaudit.system.keys import as_json
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.report.test_page import Seen
from tests.support.imported_runs import SCRIPT, Recorded, published

IMAGE = "<img src=x onerror=alert(1)>"
NAMES = (
    IMAGE,
    "$v__0 ${x} $$ **b** `c` [d](javascript:alert(2))",
    "&lt;b&gt; \x00\u202e",
    '" onclick="alert(3)',
    "</td></table>",
)


def is_safe(page: Seen, run: str) -> bool:
    """No element that runs or loads, no handler, no address but the report's and an empty icon's."""
    names = {name for _, name, _ in page.attributes}
    links = {value for _, name, value in page.attributes if name in {"href", "src"}}
    return (
        not set(page.tags) & {"script", "img", "iframe", "object", "form", "svg", "base", "input"}
        and not any(name.startswith(("on", "data-", "style", "srcset")) for name in names)
        and links == {"data:,", f"{run}.html"}
        and page.tags.count("link") == 1
    )


@pytest.mark.slow
def test_names_that_are_markup_stand_there_as_text() -> None:
    alike: dict[str, Any] = {
        "prompt_variant_id": "v",
        "task_id": "t",
        "strategy": IMAGE,
        "variant_index": 0,
        "n_missing": 0.0,
    }
    columns = {"model_id": list(NAMES), "invalid_rate": [0.1, 0.2, 0.3, 0.4, 0.5]} | {
        name: [own] * 5 for name, own in alike.items()
    }
    limits = [{"name": "", "column": "invalid_rate", "allowed": 0.0, "allowed_by": IMAGE}]
    sets = {"model_id": [*NAMES[:2], f"{IMAGE}{IMAGE}"], "strategy": [SCRIPT]}
    request = {"suite": f"answer formats of {IMAGE}", "columns": columns, "limits": limits, "n_rows": 7, "sets": sets}
    result = start(CHECKS).ask({"validate": request})["result"]
    row = {
        "suite": request["suite"],
        "result": as_json(result),
        "gx_version": IMAGE,
        "checked_at": datetime(2026, 1, 1),
    }
    html = page_of(row, "a" * 32)
    page = Seen(html)
    assert is_safe(page, "a" * 32)
    assert "<img" not in html
    for name in (*NAMES[:2], NAMES[3], NAMES[4], r"&lt;b&gt; \x00\u202e", f"{IMAGE}{IMAGE}", SCRIPT):
        assert name in page.text
    assert "Must have exactly 7 rows." in " ".join(page.text.split())
    assert html.count('class="failed"') == 1 + 4  # all in all, and limit, row count and two sets


@pytest.mark.parametrize("name", ["ordinary", "hostile", "hostile_judged"])
def test_a_report_links_the_page_of_its_run(name: str, request: pytest.FixtureRequest) -> None:
    reported: Reported = request.getfixturevalue(name)
    run = reported.audit_run_id
    path = Warehouse(reported.warehouse).places.formats_page(run)
    page = Seen(path.read_text(encoding="utf-8"))
    assert is_safe(page, run)
    assert f'href="reports/{run}.formats.html"' in reported.html
    below = Warehouse(reported.warehouse).places.report(run).read_text(encoding="utf-8")
    assert f'href="{run}.formats.html"' in below
    if name == "hostile":
        assert SCRIPT in page.text
        assert "<i onclick=alert(4)>" in page.text


@pytest.mark.slow
def test_the_page_is_written_once_a_result_and_is_known_to_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "the text of the sample that is erased"
    rows = [
        {"model": text, "sample_id": f"s{n}", "variant_index": variant, "completion": "ab"[n], "input": text[n:]}
        for n in range(2)
        for variant in range(2)
    ]
    path, (run,) = published(tmp_path, [Recorded("small", rows, ("a", "b"), FormatLimits(policy="warn"))])
    warehouse = Warehouse(path)
    asked: list[tuple[str, ...]] = []
    warnings: list[str] = []

    def counted(*arguments: str) -> object:
        asked.append(arguments)
        return start(*arguments)

    monkeypatch.setattr("promptaudit.report.formats_page.start", counted)
    page = warehouse.places.formats_page(run)
    for _ in range(2):
        report(warehouse, run)
    assert (len(asked), page.stat().st_mode & 0o777) == (1, 0o600)
    assert warehouse.read("select count(*) as n from raw.reports where name = $name", name=f"reports/{page.name}") == [
        {"n": 1}
    ]
    assert verify_with_pages(warehouse).findings == []

    page.write_text(page.read_text().replace("✓", "✗"))
    (finding,) = verify_with_pages(warehouse).findings
    assert finding.where == page.name
    report(warehouse, run)
    assert verify_with_pages(warehouse).findings == []

    with warehouse.write() as con:
        con.execute("update raw.format_validations set result = replace(result, 'small', 'tiny')")
    assert {finding.what for finding in verify_with_pages(warehouse).findings} == {"raw.format_validations"}
    with warehouse.write() as con:
        con.execute("update raw.format_validations set result = replace(result, 'tiny', 'small')")

    erase(warehouse, "s0")
    assert text not in page.read_text()
    assert "[erased]" in page.read_text()
    assert warehouse.read(
        "select count(*) as n from raw.format_validations where contains(result, $text)", text=text
    ) == [{"n": 0}]
    assert verify_with_pages(warehouse).findings == []

    # where Great Expectations ends without an answer the run has its report, and no link to a page
    def ended(*_: str) -> object:
        raise ChildFailed

    page.unlink()
    monkeypatch.setattr("promptaudit.report.formats_page.start", ended)
    newest = report(warehouse, run, warn=warnings.append)
    assert warnings == ["the page about the format checks is not written: "]
    assert ".formats.html" not in newest.read_text()
    assert not page.exists()
