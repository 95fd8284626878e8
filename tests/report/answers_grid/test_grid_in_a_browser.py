"""The grid as a reader has it: a real browser opens cells, filters, and walks it with the keyboard."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from promptaudit.prompts.templates import ask, left_open
from promptaudit.registry.samples import Sample
from promptaudit.registry.template_cards import Template
from promptaudit.report import as_written
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.report.test_browser import RULES, SERIOUS, opened
from tests.support.imported_runs import SCRIPT
from tests.support.published_copy import table

pytestmark = pytest.mark.slow

CELL = ".grid-table td:not(.unasked)"
PROMPT = [
    {"role": "system", "content": f"Be brief. {SCRIPT}"},
    {"role": "user", "content": "Name the colour.\nOne word {not a field}.\n\n{input}"},
]
TEMPLATE = Template(
    text="{examples}\n\nQ: {question}\n{options}\nA:{missing}",
    system="One number.",
    enumerators="numbers",
    option="({enumerator}) {option}",
    between=" | ",
    examples=({"question": "Which is first?", "answer": "1"},),
)
OPTIONS = ("Lyon", "Metz", "{question}", "Nice")


def with_prompts(source: Reported, folder: Path, statement: str, values: list[str]) -> Path:
    """The page of a copy whose prompt variants have prompts, as those of an audit have."""
    warehouse = Warehouse(folder / "audit.duckdb")
    warehouse.published.path.parent.mkdir()
    shutil.copy(Warehouse(source.warehouse).published.path, warehouse.published.path)
    with duckdb.connect(str(warehouse.published.path)) as con:
        con.execute(f"update marts.dim_prompt_variants set {statement}", values)
        con.execute("update marts.dim_samples set options = ? where task_id = 'letters'", [list(OPTIONS)])
    page = folder / "page.html"
    page.write_text(as_written(warehouse, source.audit_run_id), encoding="utf-8")
    return page


def drawn(view: Any) -> None:
    """Brings the grid into view, which draws it; `opened` has opened its fold."""
    view.locator("#answers").scroll_into_view_if_needed()
    view.wait_for_selector(".grid-host[data-state=drawn]")


def chosen(view: Any, **names: str) -> None:
    for name, label in names.items():
        view.locator(f".grid-controls select[name={name}]").select_option(label=label)


def test_a_cell_shows_the_prompt_as_sent_and_each_completion(browser: Any, ordinary: Reported, tmp_path: Path) -> None:
    page = with_prompts(ordinary, tmp_path, "prompt = ?", [json.dumps(PROMPT)])
    view, said, asked = opened(browser, page, 390, "dark")
    drawn(view)
    chosen(view, task="colours", model="harbour-small", strategy="simple")
    view.locator(CELL).first.click()
    dialog = view.locator("#answers dialog")
    sample = dialog.locator("h3 bdi").inner_text()
    query = (
        "select completion, coalesce(label, 'N/A'), answer_status from marts.fct_predictions join marts.dim_prompt_variants "
        f"using (audit_run_id, prompt_variant_id) where audit_run_id = '{ordinary.audit_run_id}' and sample_id = '{sample}' "
        "and fct_predictions.model_id = 'harbour-small' and fct_predictions.strategy = 'simple' and fct_predictions.is_original "
        "and fct_predictions.paraphrase_temperature = 0.5 order by repetition"
    )
    answers = table(ordinary.warehouse, query)[1]
    (text,) = table(ordinary.warehouse, f"select input from marts.dim_samples where sample_id = '{sample}' limit 1")[1][
        0
    ]
    system, user, *completions = dialog.locator("pre").all_text_contents()
    assert system == f"Be brief. {SCRIPT}"
    assert user == f"Name the colour.\nOne word {{not a field}}.\n\n{text}"
    assert [*completions, *["Nothing was said."] * dialog.locator("article .absent").count()] == sorted(
        (said or "Nothing was said." for said, *_ in answers), key="Nothing was said.".__eq__
    )
    facts = dialog.locator("article dl").all_inner_texts()
    assert len(facts) == len(answers) == 5
    for fact, (_, label, status) in zip(facts, answers, strict=True):
        assert f"label {label} " in " ".join(fact.split())
        assert f"answer status {status} " in " ".join(fact.split())
    assert dialog.locator("script, img").count() == 0
    assert "promptaudit trace fct_predictions." in dialog.inner_text()
    view.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert said == []
    assert asked == [page.as_uri()]
    assert view.evaluate("document.documentElement.scrollWidth") == 390
    view.close()


def test_a_template_is_filled_as_it_was_sent(browser: Any, judged: Reported, tmp_path: Path) -> None:
    messages = [{"role": role, "content": content} for role, content in left_open(TEMPLATE)]
    page = with_prompts(
        judged, tmp_path, "prompt = ?, template = ?", [json.dumps(messages), TEMPLATE.model_dump_json()]
    )
    view, said, _ = opened(browser, page, 1280, "light")
    drawn(view)
    chosen(view, task="letters")
    view.locator(CELL).first.click()
    dialog = view.locator("#answers dialog")
    name = dialog.locator("h3 bdi").inner_text()
    (text,) = table(judged.warehouse, f"select input from marts.dim_samples where sample_id = '{name}' limit 1")[1][0]
    sent = ask(TEMPLATE, Sample(name, text, None, {}, OPTIONS))
    assert dialog.locator("pre").all_text_contents()[: len(sent)] == [content for _, content in sent]
    assert said == []
    view.close()


def test_filters_leave_the_cells_that_match(browser: Any, ordinary: Reported) -> None:
    view, *_ = opened(browser, ordinary.page, 1280, "light")
    drawn(view)
    chosen(view, task="colours", model="harbour-large-2025", strategy="one_shot")
    group = (
        "from marts.fct_predictions where task_id = 'colours' and model_id = 'harbour-large-2025' and strategy = 'one_shot'"
        f" and audit_run_id = '{ordinary.audit_run_id}'"
    )
    for filters, condition in (
        ({"label": "red"}, "answer_status = 'valid' and label = 'red'"),
        (
            {"gold": "blue", "ruling": "wrong"},
            "answer_status = 'valid' and label = 'red' and gold_label = 'blue' and not is_correct",
        ),
        ({"label": "N/A", "gold": "any", "status": "unparsed"}, "answer_status = 'unparsed' and not is_correct"),
    ):
        chosen(view, **filters)
        ((n, n_samples),) = table(
            ordinary.warehouse, f"select count(*), count(distinct sample_id) {group} and {condition}"
        )[1]
        counted = view.locator(".grid-count").inner_text()
        assert n > 0
        assert counted.startswith(f"{n_samples} of 24 samples" if n_samples < 24 else "24 samples")
        assert f"; {n} of " in counted
        assert view.locator(".grid-table tbody tr").count() == n_samples
    view.close()


def test_the_keyboard_walks_the_grid_and_opens_a_cell(browser: Any, hostile: Reported) -> None:
    view, said, _ = opened(browser, hostile.page, 390, "light")
    drawn(view)
    cells = view.locator(".grid-table tbody tr").first.locator("td")
    cells.first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft"):
        view.keyboard.press(key)
    assert view.evaluate("document.activeElement.dataset.place") == cells.nth(1).get_attribute("data-place")
    view.keyboard.press("Enter")
    dialog = view.locator("#answers dialog")
    assert dialog.locator("h3").inner_text().endswith("wording 1")
    dialog.get_by_role("button", name="next column").press("Enter")
    assert dialog.locator("h3").inner_text().endswith("wording 2")
    assert view.locator(".grid-table [tabindex='0']").count() == 1
    assert said == []
    view.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), pytest.param(1280, "light", marks=pytest.mark.soak)])
def test_axe_finds_nothing_serious_in_a_drawn_grid(browser: Any, ordinary: Reported, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    view, *_ = opened(browser, ordinary.page, width, scheme)
    drawn(view)
    view.evaluate("[...document.querySelectorAll('.grid-table tbody tr')].slice(4).forEach((row) => row.remove())")
    for is_open in (False, True):
        if is_open:
            view.locator(CELL).first.click()
        found = axe.run(view, "#answers", options=RULES).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in SERIOUS] == []
    view.close()


def test_without_scripts_the_section_says_where_the_answers_are(browser: Any, ordinary: Reported) -> None:
    context = browser.new_context(java_script_enabled=False)
    view = context.new_page()
    view.goto(ordinary.page.as_uri())
    view.locator("details:has(#answers) > summary").press("Enter")
    text = view.locator("#answers").inner_text()
    assert "Where scripts do not run, SQL has the answers." in text
    query = text.partition('promptaudit sql "')[2].partition('"')[0]
    assert len(table(ordinary.warehouse, query)[1]) == 6_540
    context.close()
