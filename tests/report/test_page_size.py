"""However many models, tasks and rows a run has, its page stays small, and says what it leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from promptaudit.report import page_size
from promptaudit.report.gather import gather
from promptaudit.report.page import render, render_parts
from promptaudit.report.page_size import parted
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.report.test_page import Seen
from tests.support.many_groups import many_groups


@pytest.mark.soak  # the tests below find a page that does not fit, but for one that only so many groups make
def test_a_run_of_600_groups_is_one_small_page_with_the_worst_task_told_and_all_in_the_picture(
    ordinary: Reported, tmp_path: Path
) -> None:
    group = ("harbour-small", "colours", "simple")
    warehouse = many_groups(ordinary.warehouse, ordinary.audit_run_id, group, tmp_path, n_models=20, n_tasks=30)
    found = gather(warehouse, ordinary.audit_run_id)
    assert len(found.scorecard) == 600
    page = render(found)
    assert page_size.PAGE_BYTES - page_size.GRID_BYTES < len(page.encode()) <= page_size.PAGE_BYTES
    assert len(re.findall(r'<td class="h\d">', page)) == 600
    text = Seen(page).text
    assert "writes pages of the other 29," in text
    worst = max(found.scorecard, key=lambda row: row["sensitivity"])
    assert f"<h3>{worst['task_id']}</h3>" in page
    assert "The 120 of 600 rows whose answers depend most on the wording" in text


def test_tables_have_fewer_rows_until_the_page_fits_and_say_so(
    ordinary: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = gather(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    whole = render(found)
    monkeypatch.setattr(page_size, "PAGE_BYTES", len(whole.encode()) - 100_000)
    monkeypatch.setattr(page_size, "GRID_BYTES", 40_000)
    smaller = render(found)
    assert len(smaller.encode()) <= page_size.PAGE_BYTES
    assert "`promptaudit sql` has the rest." in smaller
    assert smaller.count("<tr>") < whole.count("<tr>")
    assert render_parts(found)[0] == smaller


def test_the_first_number_of_rows_with_which_a_page_fits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_size, "PAGE_BYTES", 250)
    monkeypatch.setattr(page_size, "GRID_BYTES", 200)
    drawn: list[int] = []

    def draw(most: int) -> str:
        drawn.append(most)
        return "ä" * most  # two bytes each

    assert page_size.drawn_to_fit(draw) == ("ä" * 20, 20)
    assert drawn == [100, 40, 20]
    monkeypatch.setattr(page_size, "PAGE_BYTES", 201)
    assert page_size.drawn_to_fit(draw)[1] == 10  # nothing fits: as small as there is
    assert list(page_size.fewer(36)) == [36, 18, 9, 4, 2, 1]


CARD = [
    {"task_id": task, "model_id": model, "sensitivity": sensitivity}
    for task, known, chance in (("steady", 0.1, 0.9), ("wavering", 0.5, 0.7), ("unmeasured", None, None))
    for model, sensitivity in (*((f"m{n}", known) for n in range(20)), ("random", chance))
]


def test_a_model_that_answers_by_chance_moves_no_task_to_the_first_page() -> None:
    assert parted(CARD, {"random"}) == [{"wavering"}, {"steady"}, {"unmeasured"}]
    assert parted(CARD) == [{"steady"}, {"wavering"}, {"unmeasured"}]


def test_models_by_chance_count_where_there_are_no_others() -> None:
    alone = [row for row in CARD if row["model_id"] == "random"]
    assert parted(alone * 20, {"random"}) == [{"steady"}, {"wavering"}, {"unmeasured"}]
