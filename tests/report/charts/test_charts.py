from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from promptaudit.report.charts import panels
from promptaudit.report.charts.panels import Axes, curves

SVG = "{http://www.w3.org/2000/svg}"
# what our charts share, in the words of Vega-Lite
AXIS = {"labelFontSize": 11, "titleFontSize": 11, "tickSize": 4, "labelPadding": 4, "titlePadding": 6, "tickCount": 5}
CONFIG = {"axis": {**AXIS, "labelFlush": False}, "axisX": {"grid": False}, "legend": {"disable": True}}
VEGA = {"padding": 6, "autosize": {"type": "fit", "contains": "padding"}, "config": CONFIG}


def _parsed(drawn: str) -> ET.Element:
    return ET.fromstring(drawn)  # noqa: S314 - drawn here


def test_a_label_that_is_markup_is_drawn_as_text() -> None:
    names = ["<script>alert(1)</script>", "</text></svg>", "a&b\"'", "nul\x00", "\u202eabc", "{{7*7}}"]
    drawn = panels.bars([{"name": n, "value": 0.5, "low": 0.4, "high": None} for n in names], "five <classes>")
    root = _parsed(drawn)
    assert root.get("aria-label") == "five <classes>"
    texts = [element.text or "" for element in root.iter(SVG + "text")]
    assert {"a&b\"'", "nul\\x00", "\\u202eabc", "{{7*7}}"} <= set(texts)
    assert any(text.startswith("<script>") for text in texts)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "g", "path", "text", "title"}
    names_of_attributes = (
        "role aria-label width height viewBox class fill d text-anchor x y opacity stroke-width transform"
    )
    assert {name for element in root.iter() for name in element.attrib} <= set(names_of_attributes.split())


def test_the_title_of_a_mark_says_its_figure_in_full_and_its_name() -> None:
    rows = [
        {"name": name, "value": 1 / 3, "low": low, "high": high, "figure": f"fct_consistency.{place}"}
        for place, (name, low, high) in enumerate((("<script>1</script>", 0.25, 0.5), ("\u202eabc", None, None)))
    ]
    titles = [each.text for each in _parsed(panels.bars(rows, "x")).iter(SVG + "title")]
    assert titles == [
        "class: <script>1</script>\nconsistency: 0.3333333333333333\nlow: 0.25\nhigh: 0.5\nfigure: fct_consistency.0",
        "class: \\u202eabc\nconsistency: 0.3333333333333333\nfigure: fct_consistency.1",
    ]


def test_a_line_of_many_figures_has_unseen_dots_for_their_titles() -> None:
    few, many = (
        panels.lines(
            [{"series": "labels_and_na", "k": k, "pss": 0.9, "low": None, "high": None} for k in range(2, n)],
            (0, 1),
            "k",
            "x",
        )
        for n in (12, 20)
    )
    for drawn, n, is_seen in ((few, 10, True), (many, 18, False)):
        assert len(list(_parsed(drawn).iter(SVG + "title"))) == n
        assert ('opacity="0"' in drawn) is not is_seen


def test_a_drawing_holds_no_id_and_what_reaches_over_its_frame_is_clipped() -> None:
    points = [{"series": "labels_and_na", "k": k, "pss": 0.9, "low": 0.8, "high": 1.0} for k in (2, 3)]
    within, over = (panels.lines(points, (start, 1.0), "asks", str(start)) for start in (0.0, 0.85))
    for drawn, n_clips in ((within, 0), (over, 1)):
        elements = list(_parsed(drawn).iter())
        assert not [element for element in elements if element.get("id")]
        assert sum(element.get("class") == "clip" for element in elements) == n_clips


def test_names_that_a_cut_makes_alike_stay_two_rows() -> None:
    names = ["a model with a very long name, first", "a model with a very long name, second"]
    rows = [{"name": n, "series": "rule", "value": 0.5, "low": 0.4, "high": 0.6} for n in names]
    texts = [e.text or "" for e in _parsed(panels.ranges(rows, ["rule"], (0.0, 1.0), "x", "x")).iter(SVG + "text")]
    assert {"a model with a very long…", "a model with a very… (2)"} <= set(texts)


def test_every_series_has_its_own_mark_and_a_missing_value_none() -> None:
    methods = ["rule", "other rule", "judge:a", "judge:b"]
    rows = [{"name": "m", "series": m, "value": 0.5, "low": None, "high": None} for m in methods]
    drawn = panels.ranges(rows, methods, (0.0, 1.0), "accuracy", "x")
    paths = {
        path.get("d")
        for group in _parsed(drawn).iter(SVG + "g")
        for path in group
        if path.find(SVG + "title") is not None
    }
    assert len(paths) == 4  # a circle, a diamond, a square, a triangle
    assert all(f"fill-{name}" in drawn for name in ("first", "second", "third", "fourth"))
    fewer = panels.ranges([*rows[:3], rows[3] | {"value": None}], methods, (0.0, 1.0), "accuracy", "x")
    assert "fill-fourth" not in fewer


def test_a_missing_interval_leaves_the_figure() -> None:
    points = [{"at": t, "series": "labels_and_na", "value": 0.9, "low": None, "high": None} for t in (0.1, 1.0)]
    axes = Axes(x="temperature", y="PSS", domain=(0.0, 1.0))
    assert "<path" in curves(points, ["labels_and_na"], axes, "x")


@pytest.mark.parametrize(("low", "n_rules"), [(0.2, 1), (0.8, 1), (0.9, 0)])
def test_charts_of_pss_have_a_dashed_line_where_prompts_are_called_stable(low: float, n_rules: int) -> None:
    points = [
        {"at": k, "k": k, "series": "labels_and_na", "value": 0.95, "pss": 0.95, "low": 0.94, "high": 1.0}
        for k in (2, 5)
    ]
    axes = Axes(x="k", y="PSS", domain=(low, 1.0), level=panels.STABLE)
    span = [{"name": "m", "series": "r", "value": 0.95, "low": 0.94, "high": 1.0}]
    for chart in (
        panels.lines(points, (low, 1.0), "asks", "x"),
        curves(points, ["labels_and_na"], axes, "x"),
        panels.ranges(span, ["r"], (low, 1.0), "PSS", "x", level=panels.STABLE),
    ):
        assert chart.count('class="stroke-muted" fill="none" stroke-dasharray="4 3"') == n_rules


@pytest.mark.parametrize(
    ("values", "start"), [([0.93, 0.99], 0.9), ([0.41], 0.4), ([None], 0.0), ([-7.0], -1.0), ([1.0], 0.9)]
)
def test_an_axis_starts_at_the_tenth_below(values: list[float | None], start: float) -> None:
    assert panels.domain_of(values) == (pytest.approx(start), 1.0)


def test_scales_and_labels_are_those_of_vega() -> None:
    import vl_convert

    dots = [{"place": place, "accuracy": 0.4 + place / 20, "is_original": place == 2} for place in range(1, 8)]
    points = [{"series": "labels_and_na", "k": k, "pss": 0.9, "low": 0.8, "high": 1.0} for k in (2, 9)]
    spans = [{"name": "m", "series": "r", "value": 3.0, "low": 1.0, "high": 4.0}]
    drawn: dict[str, Any] = {
        "thousands": panels.histogram([{"bin": place, "n": n} for place, n in ((0, 3), (4, 1700))], 0.2, "x"),
        "rates": panels.stacks([{"place": 2, "status": "refused", "rate": 0.0375}], 12, "x", 0.0375),
        "accuracies": panels.dots(dots, (0.4, 1.0), "x"),
        "lines": panels.lines(points, (0.0, 1.0), "annotators", "x"),
        "ranges": panels.ranges(spans, ["r"], (0.0, 4.2), "ms", "x"),
    }
    for name, ours in drawn.items():
        size = {name: int(_parsed(ours).get(name, "0")) for name in ("width", "height")}
        spec = {**VEGA, **size, "layer": ours.source.layers, "datasets": ours.source.datasets}
        theirs = vl_convert.vegalite_to_svg(spec, vl_version="6.1", allowed_base_urls=[])
        said = [sorted(e.text or "" for e in _parsed(svg).iter(SVG + "text")) for svg in (ours, theirs)]
        assert said[0] == said[1], name
