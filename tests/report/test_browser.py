from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.report.conftest import Reported
from tests.report.test_page import PAGES

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("name", list(PAGES))
def test_a_browser_shows_all_of_it_and_asks_for_nothing(
    browser: Any,
    name: str,
    width: int,
    scheme: str,
    request: pytest.FixtureRequest,
) -> None:
    run: Reported = request.getfixturevalue(name)
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(run.page.as_uri())
    for section in PAGES[name]:
        box = page.locator(f"#{section}").bounding_box()
        assert box is not None, section
        assert box["height"] > 40, section
        assert box["width"] <= width
    for drawing in page.locator("figure svg").all():
        size = drawing.bounding_box()
        assert size is not None
        assert size["height"] > 50
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [run.page.as_uri()]
    page.close()
