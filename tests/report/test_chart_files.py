"""Charts as files: every one of them, in the colours of the light page, with its data, whatever people called their things."""

from __future__ import annotations

import csv
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.report import charts_of
from promptaudit.report.chart_files import FIGURES, _file_name, _free, _names, _wrapped
from promptaudit.report.charts.drawing import WIDTH
from promptaudit.report.charts.scales import width_of
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.shell import promptaudit

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("names", "file"),
    [
        (("repetition", "question_type", "gpt-4o simple"), "repetition-question-type-gpt-4o-simple"),
        (("costs", "../../etc/passwd", "<b>\x00\u202e"), "costs-etc-passwd-b"),
        (("classes", "題", ""), "classes"),
        (("a", "x" * 300), "a-" + "x" * 118),
    ],
)
def test_a_file_is_named_in_plain_letters(names: tuple[str, ...], file: str) -> None:
    assert _file_name(*names) == file


def test_names_that_are_alike_in_plain_letters_are_numbered() -> None:
    taken: set[str] = set()
    assert [_free(stem, taken) for stem in ("a", "a-2", "a", "a", "b")] == ["a", "a-2", "a-3", "a-4", "b"]


def test_panels_are_named_by_what_tells_them_apart() -> None:
    assert _names([("t", "m", "simple", "1"), ("u", "m", "simple", "2")]) == ["t", "u"]
    assert _names([("t", "m", "", "class a"), ("t", "m", "", "class b")]) == ["class a", "class b"]
    assert _names([("t", "m", "x", "1"), ("t", "n", "", "1")]) == ["m · x", "n"]


def test_a_long_key_of_a_legend_goes_on_in_the_next_line() -> None:
    text = "another model's answers with errors of a known share, drawn from a seed, " + "w" * 200
    pieces = _wrapped(text)
    assert " ".join(pieces[:-1]) == text[: text.index(" ww")]
    assert all(width_of(piece) < WIDTH for piece in pieces)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["ordinary", "hostile", "judged", "hostile_judged"])
def test_every_chart_is_a_drawing_a_picture_and_its_data(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    reported: Reported = request.getfixturevalue(name)
    files = charts_of(Warehouse(reported.warehouse), reported.audit_run_id, tmp_path / "charts")
    assert {path.name for path in (tmp_path / "charts").iterdir()} == {path.name for path in files}
    tables = {path.stem for path in files if path.suffix == ".tex"}
    assert all(stem.startswith("table-scoring-across-") for stem in tables)
    assert len(tables) == (5 if name == "judged" else 0)
    charts = [path for path in files if path.stem not in tables]
    figures = {path.stem for path in charts}
    assert len(charts) == 4 * len(figures) > 0
    assert all(stem.startswith(tuple(FIGURES.values())) for stem in figures)
    for path in files:
        if path.suffix == ".svg":
            _is_sound(path)
        elif path.suffix == ".csv":
            rows = list(csv.reader(path.open(encoding="utf-8", newline="")))
            assert len(rows) > 1
            assert not any(cell.startswith(("=", "@", "\t")) for row in rows for cell in row)


def _is_sound(path: Path) -> None:
    """Nothing in it runs, links or needs a page; and its picture is as large as itself, at 300 dots an inch."""
    text = path.read_text("utf-8")
    assert "var(--" not in text
    root = ET.fromstring(text)  # noqa: S314 - our own
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {"svg", "style", "rect", "path", "g", "text"}
    coloured = {word for each in root.iter() for word in (each.get("class") or "").split() if word != "clip"}
    assert all(f".{word}{{" in text for word in coloured)
    assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF-")
    picture = path.with_suffix(".png").read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    assert width == pytest.approx(int(root.attrib["width"]) * 300 / 96, abs=1)
    assert height == pytest.approx(int(root.attrib["height"]) * 300 / 96, abs=1)


@pytest.mark.slow
def test_the_command_says_how_many_it_wrote_and_where(
    ordinary: Reported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = promptaudit(
        tmp_path, "--warehouse", str(ordinary.warehouse), "report", ordinary.audit_run_id, "--charts", "figures"
    )
    n = len(list((tmp_path / "figures").glob("*.svg")))
    assert (ended.code, ended.out) == (0, f"{n} charts in figures, each as SVG, PDF, PNG and CSV\n")
    warehouse = Warehouse(ordinary.warehouse)
    own = charts_of(warehouse, ordinary.audit_run_id, tmp_path / "own", ["consistency", "sample_pairs"])
    assert all(path.stem.startswith((FIGURES["consistency"], FIGURES["sample_pairs"])) for path in own)
    with pytest.raises(
        UsageError, match="--only sample_pair: no section with charts is called so; nearest: sample_pairs"
    ):
        charts_of(warehouse, ordinary.audit_run_id, tmp_path / "none", ["sample_pair"])
    assert not (tmp_path / "none").exists()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(
        UsageError, match="report --charts needs the extra `charts`: python -m pip install 'promptaudit"
    ):
        charts_of(warehouse, ordinary.audit_run_id, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    monkeypatch.undo()
    (tmp_path / "file").touch()
    with pytest.raises(WarehouseError, match="file: cannot be written: File exists"):
        charts_of(Warehouse(ordinary.warehouse), ordinary.audit_run_id, tmp_path / "file")
