from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from promptaudit.warehouse import Warehouse
from tests.report.conftest import Compared, Reported
from tests.report.test_page import PAGES
from tests.support.large_warehouse import large

slow = pytest.mark.slow
# every page, width and scheme, and each width with each scheme; the other combinations are the soak's
SEEN = {
    ("ordinary", 1280, "light"),
    ("ordinary", 390, "dark"),
    ("hostile", 390, "light"),
    ("judged", 1280, "dark"),
    ("judged", 390, "light"),
    ("hostile_judged", 390, "dark"),
}


def views(*names: str, in_soak: Sequence[str] = ()) -> list[Any]:
    """Each page at each width in each scheme, with its mark; pages at a width that `in_soak` names are all the soak's."""
    marked = [
        (view, slow if view in SEEN and f"{view[0]} {view[1]}" not in in_soak else pytest.mark.soak)
        for view in itertools.product(names, (1280, 390), ("light", "dark"))
    ]
    return [pytest.param(*view, marks=marks) for view, marks in marked]


# opens everything, and of rows and charts that are made alike keeps the first: contrast takes a minute of all of them
FEWER_ALIKE = """() => {
    document.querySelectorAll('details').forEach((shelf) => { shelf.open = true; });
    document.querySelectorAll('tbody').forEach((body) => [...body.rows].slice(4).forEach((row) => row.remove()));
    document.querySelectorAll('.panels').forEach((all) => [...all.children].slice(2).forEach((one) => one.remove()));
    document.querySelectorAll('details.sample ~ details.sample ~ details.sample').forEach((one) => one.remove());
}"""
SERIOUS = {"serious", "critical"}
# what a reader of a screen or a keyboard cannot use; contrast is looked at too
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"]}


def opened(browser: Any, page: Path, width: int, scheme: str) -> tuple[Any, list[str], list[str]]:
    """A page of the browser, what it says that it should not, and what it asks for; only its own file is given to it."""
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("dialog", lambda dialog: said.append(dialog.message))
    view.on("request", lambda request: asked.append(request.url))
    view.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file://") else route.abort())
    view.goto(page.as_uri())
    view.evaluate("document.querySelectorAll('.fold > details').forEach((fold) => { fold.open = true; })")
    return view, said, asked


@pytest.mark.parametrize(("name", "width", "scheme"), views(*PAGES))
def test_a_browser_shows_all_of_it_and_asks_for_nothing(
    browser: Any, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    run: Reported = request.getfixturevalue(name)
    view, said, asked = opened(browser, run.page, width, scheme)
    for section in PAGES[name]:
        box = view.locator(f"#{section}").bounding_box()
        assert box is not None, section
        assert box["height"] > 40, section
        assert box["width"] <= width
    for height in view.eval_on_selector_all("figure svg", "all => all.map(e => e.getBoundingClientRect().height)"):
        assert height > 50
    assert view.evaluate("document.documentElement.scrollWidth") == width
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [run.page.as_uri()]
    view.close()


@slow
def test_without_scripts_everything_stands(browser: Any, ordinary: Reported) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    view = context.new_page()
    view.goto(ordinary.page.as_uri())
    assert view.locator(".chart").count() == view.locator(".chart > svg[role=img][aria-label]").count() > 30
    titles = view.locator("#consistency .chart").first.locator("path > title").all_text_contents()
    assert titles
    for text in titles:
        assert re.fullmatch(r"class: .+\nconsistency: [01]\.\d+(\n(low|high): [01]\.\d+)*", text), text
    assert view.locator(".first").is_visible()
    for section in PAGES["ordinary"]:  # a link to it opens its fold, and no other
        assert not view.locator(f"#{section}").is_visible()
        view.goto(f"{ordinary.page.as_uri()}#{section}")
        assert view.locator(f"#{section}").is_visible()
    context.close()


@pytest.mark.parametrize(
    ("name", "width", "scheme"), views("ordinary", "judged", in_soak=("ordinary 1280", "ordinary 390", "judged 390"))
)
def test_axe_finds_nothing_serious(
    browser: Any, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    run: Reported = request.getfixturevalue(name)
    view, _, _ = opened(browser, run.page, width, scheme)
    view.evaluate(FEWER_ALIKE)
    found = axe.run(view, options=RULES).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in SERIOUS] == []
    view.close()


WIDE = 1280
SCREENS = [(*size, scheme) for size in ((390, 844), (1280, 800)) for scheme in ("light", "dark")]
LOOKED_AT = ((390, "dark"), (1280, "light"))  # by axe: each width, each scheme


@slow
def test_the_first_screen_of_a_comparison_holds_what_is_to_be_seen(browser: Any, compared: Compared) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for width, height, scheme in SCREENS:
        view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        view.goto(compared.page.as_uri())
        assert view.evaluate("document.documentElement.scrollWidth") == width
        for part in (".outcome strong", ".opening .figure", ".example dd", ".next .command"):
            box = view.locator(part).last.bounding_box()
            assert box["y"] + box["height"] <= height, (part, width, scheme)
        assert view.locator("details[open]").count() == 0
        sixth = view.locator(".heat thead th").nth(6).bounding_box()
        frame = view.locator(".picture .scroll").bounding_box()
        assert sixth["x"] + sixth["width"] <= frame["x"] + frame["width"] or width < WIDE
        found = axe.run(view, options=RULES).response["violations"] if (width, scheme) in LOOKED_AT else []
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in SERIOUS] == []
        view.goto(f"{compared.page.as_uri()}#flips")  # a link to a section opens its fold
        assert view.locator("#flips").is_visible()
        assert not view.locator("#measures").is_visible()
        view.close()


@slow
def test_a_keyboard_reaches_every_region_and_shelf(browser: Any, judged: Reported) -> None:
    view, _, _ = opened(browser, judged.page, 390, "light")
    view.evaluate("document.querySelectorAll('details').forEach((shelf) => { shelf.open = true; })")
    unreached: Callable[[str], Any] = view.evaluate
    assert (
        unreached(
            """[...document.querySelectorAll('main *')].filter((e) => {
            const style = getComputedStyle(e);
            const scrolls = ['auto', 'scroll'].includes(style.overflowX) && e.scrollWidth > e.clientWidth;
            return scrolls && e.tabIndex < 0;
        }).map((e) => e.outerHTML.slice(0, 120))"""
        )
        == []
    )
    view.evaluate("document.querySelectorAll('details').forEach((shelf) => { shelf.open = false; })")
    fold = view.locator("details:has(> #samples) > summary")
    fold.focus()
    view.keyboard.press("Enter")
    shelf = view.locator("#samples details summary").first
    shelf.focus()
    view.keyboard.press("Enter")
    assert view.locator("#samples details").first.evaluate("(shelf) => shelf.open")
    view.close()


@slow
def test_print_opens_what_is_shut_and_fits_the_sheet(browser: Any, judged: Reported, tmp_path: Path) -> None:
    view, _, _ = opened(browser, judged.page, 794, "dark")  # A4 at 96 dots an inch
    view.emulate_media(media="print")
    view.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert view.locator("details:not([open])").count() == 0
    colour = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"
    width = view.evaluate("document.documentElement.scrollWidth")
    assert width <= 794
    view.evaluate("dispatchEvent(new Event('afterprint'))")
    assert view.locator("details:not([open])").count() > 0
    sheet = tmp_path / "report.pdf"
    view.pdf(path=sheet, format="A4")
    assert sheet.read_bytes().startswith(b"%PDF")
    view.close()


def ready_ms(browser: Any, page: Path) -> float:
    """Milliseconds from the opening of a page to when its script has run."""
    view, *_ = opened(browser, page, 1280, "light")
    ready = view.evaluate("performance.getEntriesByName('ready')[0].startTime")
    view.close()
    return float(ready)


@pytest.mark.soak
def test_a_hundred_thousand_samples_are_a_small_page_that_is_ready_at_once(
    browser: Any, ordinary: Reported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from promptaudit.report import ask_copy
    from promptaudit.report.gather import gather
    from promptaudit.report.page import render

    read = []
    of_copy = ask_copy.rows_of

    def counted(*asked: Any, **values: Any) -> Any:
        rows = of_copy(*asked, **values)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(ask_copy, "rows_of", counted)
    warehouse, run = large(ordinary.warehouse, ordinary.audit_run_id, tmp_path)
    page = tmp_path / "report.html"
    page.write_text(render(gather(Warehouse(warehouse), run)), encoding="utf-8")
    assert sum(read) < 5_000
    assert page.stat().st_size < 5_000_000
    # .45 s beside .55 s; in seconds it depends on what else the machine does: 2.6 were seen, and .7 beside .3 once
    assert any(ready_ms(browser, page) < 2 * ready_ms(browser, ordinary.page) for _ in range(3))
    view, said, asked = opened(browser, page, 1280, "light")
    assert "100,000 × 30" in " ".join(view.locator("#scorecard").inner_text().split())
    assert said == []
    assert asked == [page.as_uri()]
    view.close()
