from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.blocks.cells import plain
from promptaudit.report.blocks.filters import printed
from promptaudit.report.charts.panels import nights as drawn_nights
from promptaudit.report.data import ReportData
from promptaudit.report.gather import gather
from promptaudit.report.page import render
from promptaudit.report.sections.nights import MOST_BLOCKS, domains, drawn_measures, nights, points
from promptaudit.system.display.figures import ranged
from promptaudit.warehouse import Warehouse
from tests.report.test_page import Seen
from tests.support.imported_nights import Verdict, change, fresh, land_verdicts

pytestmark = pytest.mark.slow

SCRIPT = "<script>alert(1)</script>"
NAMES_OF_FOUR = ["09-20", "09-21", "09-22", "09-23"]
NAMES = {f"r{place}": f"09-{20 + place}" for place in range(6)}


def gathered(warehouse: Path, run: str) -> ReportData:
    return gather(Warehouse(warehouse), run)


def section(warehouse: Path, run: str) -> DrawnSection:
    found = nights.drawn(gathered(warehouse, run))
    assert found.blocks
    return found


def night(run: str, value: float | None, **changed: object) -> dict[str, Any]:
    """A row of the scorecard with all drawn measures at one figure."""
    row: dict[str, Any] = {"audit_run_id": run, "task_id": "t", "strategy": "simple", "model_id": "m"}
    row |= {"n_samples": 24, "n_variants": 4, "n_variants_breaking": 0, "n_repetitions": 2, "measure_version": 1}
    for drawn in drawn_measures():
        row |= {drawn.name: value, f"{drawn.name}_low": value, f"{drawn.name}_high": value}
    return row | changed


def paths(drawing: str, paint: str) -> list[str]:
    """The `d` of each path of a drawing that is stroked in a colour of the page."""
    root = ET.fromstring(drawing)  # noqa: S314 - drawn here
    return [
        e.get("d", "") for e in root.iter("{http://www.w3.org/2000/svg}path") if paint in (e.get("class") or "").split()
    ]


def test_the_first_night_has_no_such_section_and_no_night_sees_a_later_one(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    warehouse, runs = fresh(tmp_path_factory, 3)
    assert nights.drawn(gathered(warehouse, runs[0])).blocks == []
    for n in (2, 3):
        found = section(warehouse, runs[n - 1])
        assert found.intro.startswith(f"The last {n} complete runs of this audit")
        dates = {row[0] for block in found.blocks for table in block.tables for row in table.rows}
        assert dates == {f"2026-09-{20 + place}" for place in range(n)}


def test_an_unfinished_run_is_no_night(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 3)
    change(warehouse, f"update marts.dim_audit_runs set state = 'failed' where audit_run_id = '{runs[1]}'")
    assert section(warehouse, runs[2]).intro.startswith("The last 2 complete runs")
    assert nights.drawn(gathered(warehouse, runs[1])).blocks == []


def test_tables_hold_every_figure_of_every_night(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 4)
    found = section(warehouse, runs[-1])
    assert [block.task_id for block in found.blocks] == ["colours · one_shot", "colours · simple", "moods · simple"]
    rows = gathered(warehouse, runs[-1]).nights.figures
    for block in found.blocks:
        own = [row for row in rows if f"{row['task_id']} · {row['strategy']}" == block.task_id]
        lines = {tuple(map(plain, line[1:])) for line in block.tables[0].rows}
        assert len(own) == len(block.tables[0].rows) == 8
        for row in own:
            size = f"{row['n_samples']} × {row['n_variants']} × {row['n_repetitions']}"
            figures = (ranged(*(row[f"{own.name}{end}"] for end in ("", "_low", "_high"))) for own in drawn_measures())
            assert (row["model_id"], "–", size, *figures) in lines
    assert [panel.name for panel in found.blocks[0].panels] == [drawn.label for drawn in drawn_measures()]
    # one wording and no gold labels: only how answers were read can be followed
    assert [panel.name for panel in found.blocks[2].panels] == ["Invalid rate"]
    assert plain(found.blocks[2].notes[0]).startswith("No figure in these nights: Sensitivity, Consistency rate")


def test_sixty_nights_of_twenty_series_stay_a_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 61)
    change(
        warehouse,
        "delete from marts.rpt_audit where task_id = 'moods'",
        "insert into marts.rpt_audit select found.* replace (model_id || ' ' || place as model_id) "
        "from marts.rpt_audit as found cross join range(1, 5) as places (place)",
        f"update marts.rpt_audit set micro_f1 = null where audit_run_id in ('{runs[20]}', '{runs[22]}')",
    )
    found = section(warehouse, runs[-1])
    assert found.intro.startswith("The last 60 complete runs")
    assert [block.task_id for block in found.blocks] == [
        f"colours · {strategy} · models {part} of 10"
        for strategy in ("one_shot", "simple")
        for part in ("1 to 4", "5 to 8", "9 to 10")
    ]
    assert all(len(block.legend) <= 4 for block in found.blocks)
    cells = [cell for block in found.blocks for table in block.tables for row in table.rows for cell in row]
    size = sum(len(panel.drawing) for block in found.blocks for panel in block.panels)
    size += sum(len(printed(cell)) + 24 for cell in cells)
    assert 100_000 < size < 3_000_000
    assert all(len(block.tables[0].rows) <= 80 for block in found.blocks)
    f1 = next(panel for panel in found.blocks[-1].panels if panel.name == "micro-F1")
    assert "micro-F1 over 60 nights" in f1.drawing
    # the nights without a figure leave three stretches, the middle one of a single night, which is a dot and no line
    lines = [d for d in paths(f1.drawing, "stroke-first") if d.count("L") > 5]
    assert [d.count("L") + 1 for d in lines] == [19, 38]  # runs 1 to 19 and 23 to 60; run 0 is no longer shown


def test_what_the_comparison_said_is_marked_and_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 4)
    plain = section(warehouse, runs[-1]).blocks[1]
    assert plain.findings == []
    land_verdicts(
        warehouse,
        runs,
        [
            Verdict(2, "harbour-small", "regressed", "the provider changed the model (served_model a -> b)"),
            Verdict(2, "harbour-small", "changed", "labels differ", measure="label_churn"),
            Verdict(2, "harbour-large", "none_shown", "noise"),
        ],
    )
    block = section(warehouse, runs[-1]).blocks[1]
    assert block.findings == [
        ("09-22: label_churn changed", "harbour-small: labels differ"),
        ("09-22: sensitivity regressed", "harbour-small: the provider changed the model (served_model a -> b)"),
    ]
    said = {(row[0], row[1]): row[2] for row in block.tables[0].rows}
    assert said["2026-09-22", "harbour-small"] == "label_churn changed; sensitivity regressed"
    assert said["2026-09-22", "harbour-large"] == "nothing regressed or changed"
    assert said["2026-09-23", "harbour-small"] == "–"
    for panel, before in zip(block.panels, plain.panels, strict=True):
        assert (
            panel.drawing.count("stroke-muted") == before.drawing.count("stroke-muted") + 1
        )  # the rule of a changed night
        diamonds = panel.drawing.count("stroke-ink") - before.drawing.count("stroke-ink")
        assert diamonds == (panel.name == "Sensitivity"), panel.name
    assert section(warehouse, runs[1]).blocks[1].findings == []


def test_the_normal_band_and_what_people_said_are_drawn(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 4)
    land_verdicts(warehouse, runs, [Verdict(night, "harbour-small", "none_shown", "noise") for night in (2, 3)])
    plain = section(warehouse, runs[-1]).blocks[1]
    change(
        warehouse,
        "update marts.rpt_night_figures set base = .2, difference_low = -.06, difference_high = .04",
        f"insert into raw.acceptances select '{runs[2]}', 'every night', 'harbour-small', null, null, false, 'why', "
        "now()::timestamp, 1",
    )
    block = section(warehouse, runs[-1]).blocks[1]
    drawing, before = block.panels[0].drawing, plain.panels[0].drawing
    rows = {row["night"]: row for row in drawing.source.datasets["points"] if row["series"] == 1}
    assert [rows[night].get("normal_low") for night in NAMES_OF_FOUR] == [None, None, *[pytest.approx(0.15)] * 2]
    assert rows["09-22"]["normal_high"] == pytest.approx(0.25)
    assert drawing.source.datasets["noted"] == [{"night": "09-22"}]
    assert drawing.count("stroke-muted") == before.count("stroke-muted") + 1
    assert drawing.count("<path") == before.count("<path") + 2  # a rule and the band
    said = {(row[0], row[1]): row[2] for row in block.tables[0].rows}
    assert said["2026-09-22", "harbour-small"] == "accepted"
    assert said["2026-09-22", "harbour-large"] == "–"


def test_beyond_the_room_groups_with_something_to_tell_come_first(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory)
    change(
        warehouse,
        "insert into marts.rpt_audit select found.* replace (task_id || ' ' || place as task_id) "
        "from marts.rpt_audit as found cross join range(1, 8) as places (place) where task_id = 'moods'",
        "insert into marts.rpt_audit select found.* replace (model_id || ' ' || place as model_id) "
        "from marts.rpt_audit as found cross join range(1, 4) as places (place) where task_id = 'colours'",
    )
    land_verdicts(warehouse, runs, [Verdict(1, "harbour-small 3", "regressed", "why")])
    found = section(warehouse, runs[1])
    # two tasks' pairs of colours in two parts each, and eight of moods: twelve groups
    assert len(found.blocks) == MOST_BLOCKS == 8
    assert [block.task_id for block in found.blocks[:3]] == [
        "colours · one_shot · models 1 to 4 of 8",
        "colours · simple · models 1 to 4 of 8",
        "colours · simple · models 5 to 8 of 8",
    ]
    assert found.blocks[-1].notes[-1].startswith("8 of 12 groups of up to 4 models are drawn")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose model, strategy and reasons try to be markup and control characters."""
    warehouse, runs = fresh(tmp_path_factory, 5)
    change(
        warehouse,
        f"update marts.rpt_audit set model_id = '{SCRIPT}' || chr(8238) where model_id = 'harbour-small'",
        "update marts.rpt_audit set strategy = '</svg><i onclick=alert(4)>{{7*7}}' where strategy = 'simple'",
    )
    said = Verdict(
        4,
        f"{SCRIPT}\u202e",
        "regressed",
        "</li><img src=x onerror=alert(2)>\x00 why",
        strategy="</svg><i onclick=alert(4)>{{7*7}}",
    )
    land_verdicts(warehouse, runs, [said])
    page = warehouse.with_name("nights.html")
    page.write_text(render(gather(Warehouse(warehouse), runs[-1])), encoding="utf-8")
    return page


def test_nothing_hostile_is_live_and_all_of_it_is_readable(hostile: Path) -> None:
    html = hostile.read_text(encoding="utf-8")
    seen = Seen(html)
    assert not {"img", "i onclick"} & set(seen.tags)
    assert len(re.findall('<script(?! type="application/json")', html)) == 1
    assert not [found for found in seen.attributes if found[1].startswith("on")]
    assert not set(html) & {"\x00", "\u202e"}
    assert f"{SCRIPT}\\u202e: </li><img src=x onerror=alert(2)>\\x00 why" in seen.text
    assert "colours · </svg><i onclick=alert(4)>{{7*7}}" in seen.text
    assert '<span class="kicker">Over the nights</span><h2>Figures regressed or changed on 1 of 5 nights</h2>' in html
    assert "Regressed, changed" in seen.text
    ids = [value for _, attribute, value in seen.attributes if attribute == "id"]
    assert len(ids) == len(set(ids))
    labels = [value for tag, attribute, value in seen.attributes if (tag, attribute) == ("svg", "aria-label")]
    assert sum("over 5 nights; the last of each model:" in label for label in labels) == 6 + 6 + 1


@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_every_chart_within_the_page(browser: Any, hostile: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{hostile.as_uri()}#nights")
    boxes = [drawing.bounding_box() for drawing in page.locator("#nights figure svg").all()]
    assert len(boxes) == 13
    assert all(box["height"] > 100 and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()


# ---------------------------------------------------------------- points, axes, names
def test_a_line_breaks_where_a_night_has_no_figure_or_does_not_compare() -> None:
    fewer = {"n_variants": 3}
    figures = ((0.1, {}), (0.2, {}), (None, {}), (0.3, {}), (0.4, fewer), (0.5, fewer))
    rows = [night(f"r{place}", value, **changed) for place, (value, changed) in enumerate(figures)]
    found = points(rows, "micro_f1", 1, NAMES, {("r4", "m"), ("r2", "m")})
    assert [point["value"] for point in found] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert [point["segment"] for point in found] == ["1 0", "1 0", "1 2", "1 3", "1 3"]
    assert [point["is_alone"] for point in found] == [False, False, True, False, False]
    assert [point["night"] for point in found if point["is_marked"]] == ["09-24"]


def test_a_night_without_a_row_breaks_the_line_too() -> None:
    found = points([night("r0", 0.1), night("r2", 0.2)], "micro_f1", 0, NAMES, set())
    assert [point["is_alone"] for point in found] == [True, True]


@given(st.lists(st.none() | st.integers(2, 4), min_size=1, max_size=6))
def test_segments_are_the_longest_stretches_that_compare(variants: list[int | None]) -> None:
    rows = [night(run, None if n is None else 0.5, n_variants=n or 2) for run, n in zip(NAMES, variants, strict=False)]
    found = points(rows, "consistency", 0, NAMES, set())
    expected = sum(
        n is not None and (place == 0 or variants[place - 1] != n) for place, n in enumerate(variants)
    )  # a stretch begins where the night before has nothing or other numbers
    assert len({point["segment"] for point in found}) == expected
    assert len(found) == sum(n is not None for n in variants)


@pytest.mark.parametrize(
    ("figures", "worse_up", "worse_down"),
    [
        ([0.12, 0.31], (0.0, 0.4), (0.1, 1.0)),
        ([0.3], (0.0, 0.3), (0.3, 1.0)),  # a tenth that is reached is enough
        ([-0.02, 0.96], (-0.1, 1.0), (-0.1, 1.0)),
        ([-3.0, 4.0], (-0.1, 1.0), (-1.0, 1.0)),  # an interval of two wordings may reach anywhere
        ([0.0], (0.0, 0.1), (0.0, 1.0)),
        ([None], (0.0, 0.1), (0.0, 1.0)),
    ],
)
def test_an_axis_holds_what_it_shows(
    figures: list[float | None], worse_up: tuple[float, float], worse_down: tuple[float, float]
) -> None:
    axes = domains([night("r0", figure) for figure in figures])
    assert axes["t", "invalid_rate"] == pytest.approx(worse_up)
    assert axes["t", "pss_inter"] == pytest.approx(worse_down)


def test_a_single_night_is_a_dot_with_its_interval() -> None:
    alone = {"night": "a", "series": 0, "segment": "0 0", "value": 0.5, "low": 0.4, "high": 0.6, "is_marked": False}
    alone["is_alone"] = True
    joined = [alone | {"is_alone": False, "night": name, "segment": "0 1"} for name in ("b", "c")]
    with_dot = drawn_nights([alone, *joined], ["a", "b", "c"], (0.0, 1.0), [], "x")
    without = drawn_nights(joined, ["a", "b", "c"], (0.0, 1.0), [], "x")
    assert with_dot.count("fill-first") == without.count("fill-first") + 3  # the dot, that of the title, a band
    assert with_dot.count('opacity="0.5"') == without.count('opacity="0.5"') + 1  # its interval
