"""Wherever an answer is shown the prompt is the one that the server got, whatever its kinds of variation, or it is not shown."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from rich.console import Console

from promptaudit.audit.runs import close_run
from promptaudit.evidence.trace import trace
from promptaudit.evidence.trace.tree import tree_of
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import transform
from promptaudit.prompts.as_sent import SentPrompts
from promptaudit.query.export_run import export_run
from promptaudit.registry.registry import load_registry
from promptaudit.report import as_written
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import row_id
from tests.report.test_browser import opened
from tests.support.http_audit import ask
from tests.support.kinds_audit import messages_got, write_registry
from tests.support.knowing_server import knowing_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
AUDITS = ("moods", "quizzes", "orders")
CELLS = """
select said.audit_run_id, prediction_id, model_id, said.task_id, prompt_variant_id, sample_id, said.repetition,
    variant_index, said.paraphrase_temperature, variation, setting, request_sha256, label
from marts.fct_predictions as said
inner join raw.predictions using (audit_run_id, prediction_id, model_id, prompt_variant_id, sample_id)
inner join marts.dim_prompt_variants using (audit_run_id, prompt_variant_id, variant_index)
where said.audit_run_id = $run order by prediction_id
"""


@dataclasses.dataclass(frozen=True)
class Sent:
    """A warehouse with a published run of each audit, its answers, and the messages that the server got, by their hash."""

    warehouse: Warehouse
    runs: Mapping[str, str]
    got: Mapping[str, list[dict[str, str]]]

    def cells(self, audit: str) -> list[dict[str, Any]]:
        """The answers of a run, each with the messages that the server got for it."""
        rows = self.warehouse.published.read(CELLS, run=self.runs[audit])
        return [{**row, "messages": self.got[row["request_sha256"]]} for row in rows]


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    folder = tmp_path_factory.mktemp("sent")
    warehouse, key = Warehouse(folder / "audit.duckdb"), dict[str, str]()
    with knowing_server(key) as server, mock.patch.dict("os.environ", AUDIT_KEY="sk-0123456789abcdef"):
        key.update(write_registry(folder / "cards", server.base_url))
        warehouse.apply_schema()
        for audit in AUDITS:
            ask(warehouse.path, folder / "cards", audit_id=audit)
    rows = warehouse.read("select audit_id, audit_run_id from raw.audit_runs")
    runs = {row["audit_id"]: row["audit_run_id"] for row in rows}
    transform(warehouse, list(runs.values()), "up_to_formats")
    for run in runs.values():
        close_run(warehouse, run, "complete")
    transform(warehouse, list(runs.values()), "after_formats")
    publish(warehouse, list(runs.values()))
    # what stands in files of data is not needed any more
    got = messages_got(folder / "cards", server, (1, 2))
    for path in (folder / "cards/datasets").iterdir():
        path.unlink()
    return Sent(warehouse, runs, got)


def test_the_runs_have_every_kind_that_changes_each_sample(sent: Sent) -> None:
    kinds = {kind for audit in AUDITS for cell in sent.cells(audit) for kind in json.loads(cell["setting"])}
    assert kinds == {"label_order", "examples", "input_noise", "system", "template", "wording", "option_order"}
    assert {cell["task_id"] for cell in sent.cells("quizzes")} == {"mood", "quiz"}


@pytest.mark.parametrize("audit", AUDITS)
def test_trace_has_the_messages_of_the_answers_it_lists(sent: Sent, audit: str) -> None:
    (row,) = sent.warehouse.published.read(
        "select * from marts.rpt_audit where audit_run_id = $run and task_id = $task",
        run=sent.runs[audit],
        task="mood" if audit == "moods" else "quiz",
    )
    traced = trace(sent.warehouse, row_id("rpt_audit", row), with_lineage=False)
    own = [cell for cell in sent.cells(audit) if cell["task_id"] == row["task_id"]]
    expected = {(cell["prompt_variant_id"], cell["sample_id"]): cell["messages"] for cell in own}
    assert {(each["prompt_variant_id"], each["sample_id"]): each["messages"] for each in traced.prompts} == expected
    assert len(traced.prompts) == len(expected)
    assert traced.prompts_note is None
    hidden = trace(sent.warehouse, row_id("rpt_audit", row), "none", with_lineage=False)
    assert {each["messages"] for each in hidden.prompts} == {"[left out]"}


def test_the_trace_of_one_answer_draws_its_messages_in_full(sent: Sent) -> None:
    cell = next(cell for cell in sent.cells("moods") if len(json.loads(cell["setting"])) == 3)
    figure = row_id("fct_predictions", cell)
    drawn = io.StringIO()
    Console(file=drawn, width=2_000).print(tree_of(trace(sent.warehouse, figure, with_lineage=False)))
    text = drawn.getvalue()
    system, user = cell["messages"]
    assert f"system: {system['content']}" in text
    assert "user: " + user["content"].replace("\n", "\\n") in text


@pytest.mark.parametrize("audit", AUDITS)
def test_each_export_has_what_was_sent_and_is_imported_with_as_many_variants(
    sent: Sent, audit: str, tmp_path: Path
) -> None:
    settings, run = Settings(warehouse=sent.warehouse.path), sent.runs[audit]
    cells = {cell["prediction_id"]: cell for cell in sent.cells(audit)}
    for form, file in (("parquet", ""), ("hf", "data/")):
        done = export_run(settings, run, form, tmp_path / form, None)
        assert (done.n_rows, done.n_otherwise) == (len(cells), 0)
        frame = pl.read_parquet(tmp_path / form / f"{file}predictions.parquet")
        exported = dict(zip(frame["prediction_id"], map(json.loads, frame["messages"]), strict=True))
        assert exported == {name: cell["messages"] for name, cell in cells.items()}
    bare = export_run(settings, run, "parquet", tmp_path / "bare", "none")
    assert pl.read_parquet(tmp_path / "bare/predictions.parquet")["messages"].null_count() == bare.n_rows
    other = Warehouse(tmp_path / "other.duckdb")
    other.apply_schema()
    import_predictions(other, [tmp_path / "parquet/predictions.parquet"], load_registry(), ImportOptions(audit="again"))
    query = "select count(*) as n, count(distinct prompt_variant_id) as n_variants from raw.predictions"
    n_variants = len({cell["prompt_variant_id"] for cell in cells.values()})
    assert other.read(query) == [{"n": len(cells), "n_variants": n_variants}]


@pytest.mark.parametrize("audit", ["moods", "orders"])
def test_a_click_in_the_grid_shows_what_was_sent(sent: Sent, audit: str, browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(as_written(sent.warehouse, sent.runs[audit], "full"), encoding="utf-8")
    view, said, _ = opened(browser, page, 1280, "light")
    view.locator("#answers").scroll_into_view_if_needed()
    view.wait_for_selector(".grid-host[data-state=drawn]")
    expected = {(cell["sample_id"], cell["variant_index"]): cell["messages"] for cell in sent.cells(audit)}
    shown = {}
    cells = view.locator(".grid-table td:not(.unasked)").all()
    n_columns = len({index for _, index in expected})
    for cell in cells[:: 3 if n_columns % 3 else 2]:  # every variant, of some sample
        cell.click()
        dialog = view.locator("#answers dialog")
        name = dialog.locator("h3").inner_text()
        number = re.search(r"(?:variant|wording) (\d+)", name.partition(" · ")[2])
        of = (dialog.locator("h3 bdi").inner_text(), int(number[1]) if number else 0)
        shown[of] = dialog.locator("pre").all_text_contents()[: len(expected[of])]
        assert dialog.locator(".grid-answer").first.is_visible()
        assert "shows each sample in its own way" not in dialog.inner_text()
        view.keyboard.press("Escape")
    assert shown == {of: [each["content"] for each in expected[of]] for of in shown}
    assert {index for _, index in shown} == {index for _, index in expected}
    assert said == []
    view.close()


def test_a_page_without_room_says_so(sent: Sent, browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with mock.patch("promptaudit.report.answers_grid.section.MOST_SHOWN", 0):
        page.write_text(as_written(sent.warehouse, sent.runs["moods"], "full"), encoding="utf-8")
    view, *_ = opened(browser, page, 1280, "light")
    view.locator("#answers").scroll_into_view_if_needed()
    view.wait_for_selector(".grid-host[data-state=drawn]")
    view.locator(".grid-table tbody tr").first.locator("td").last.click()
    assert "in its own way, for which this page has no room" in view.locator("#answers dialog").inner_text()
    view.close()


def test_what_another_version_sent_is_not_shown_otherwise(sent: Sent) -> None:
    run = sent.runs["moods"]
    with (
        sent.warehouse.published.connect() as con,
        mock.patch("promptaudit.prompts.variations.input_noise._recased", lambda word, *_: word[::-1]),
    ):
        prompts = SentPrompts(con, run)
        cells = sent.cells("moods")
        shown = prompts.shown(cells)
    noisy = [json.loads(cell["setting"]).get("input_noise", {}).get("noise") == "case" for cell in cells]
    assert any(noisy)
    assert [each is None for each in shown] == noisy
    assert prompts.n_otherwise == sum(noisy)
