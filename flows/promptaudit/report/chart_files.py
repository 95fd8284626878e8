"""Writes charts of a report as SVG, PDF and PNG, in a paper's size and colours, with their data as CSV.

Tables across tasks, which papers print, are written beside them (`table_files.py`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from pathlib import Path

from promptaudit.registry.errors import UsageError, WarehouseError, nearest
from promptaudit.registry.extras import is_installed, needs_extra
from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.charts.drawing import WIDTH, Drawing, Source
from promptaudit.report.charts.plot import PADDING, plotted
from promptaudit.report.charts.scales import FONT_SIZE, fitted, width_of
from promptaudit.report.data import ReportData
from promptaudit.report.page import sections
from promptaudit.report.sections.section import unlimited
from promptaudit.report.table_files import as_csv, as_latex
from promptaudit.system.display.figures import shown
from promptaudit.system.display.spreadsheet import CsvRows, number_or_cell
from promptaudit.system.files import SHARED, write_bytes, write_text
from promptaudit.warehouse import Row

STYLE = Path(__file__).with_name("report.css")
PIXELS_AN_INCH = 96  # of a page: a chart is 3.5 inches wide, a column of a paper
DOTS_AN_INCH = 300  # of a PNG
POINTS_AN_INCH = 72
KEY, LINE = 9, 16  # pixels of a legend's patch of colour and of its line
MOST_NAME = 120  # characters of a file's name
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')
_COLOUR = re.compile(r"--([a-z]+): (#[0-9a-f]{6})")


FIGURES: Mapping[str, str] = {
    "sensitivity": "errica-2025-sensitivity-by-sample",
    "sensitivity_by_class": "errica-2025-sensitivity-by-class",
    "label_distributions": "errica-2025-labels-of-samples",
    "consistency": "errica-2025-consistency-by-class",
    "sensitivity_against_consistency": "errica-2025-sensitivity-against-consistency",
    "sample_consistency": "errica-2025-consistency-by-sample",
    "sample_pairs": "errica-2025-pairs-of-samples",
    "measures_by_wordings": "errica-2025-by-number-of-wordings",
    "stability_by_repetition": "barrie-2025-pss-by-repetition",
    "stability_by_wording": "barrie-2025-pss-by-paraphrase-temperature",
    "stability_by_model": "barrie-2025-pss-by-model",
    "distinct_answers": "barrie-2025-distinct-answers",
    "answer_formats": "barrie-2025-answers-out-of-format",
    "subsamples": "barrie-2025-pss-by-share-of-samples",
    "stability_across_tasks": "barrie-2025-all-tasks",
    "accuracy_by_variant": "hua-2025-accuracy-by-template",
    "scoring": "hua-2025-rule-against-judge",
    "rankings": "hua-2025-rankings",
}
"""Maps each section that is a figure of the three papers to the name of its files."""


_Key = tuple[int, str, str]  # pixels from the left, the colour (empty: the line above goes on), the text


def write_charts(data: ReportData, folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Writes the charts of the papers' figures and the tables across tasks into the folder, and lists the files.

    All tasks have their charts, also those that a page has no room for, in the colours of the light page. A chart is
    named as in `FIGURES`, else after the section, followed by what distinguishes it from other charts of the section.
    `only` names sections, by their anchors on the page, to write instead, without the tables. A file of the same name
    is replaced. Raises UsageError for a section without charts, WarehouseError if the folder or a file cannot be
    written.
    """
    with unlimited():
        content = sections(data)
    everything = [*content.first, *content.others]
    known = {section.anchor: section for section in everything if any(block.panels for block in section.blocks)}
    for name in only:
        if name not in known:
            msg = f"--only {name}: no section with charts is called so{nearest(name, known)}"
            raise UsageError(msg)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{folder}: cannot be written: {error.strerror}"
        raise WarehouseError(msg) from None
    colours = _colours()
    written: list[Path] = []
    stems: set[str] = set()
    for name, source, legend in (
        each for anchor in known if anchor in (only or FIGURES) for each in _charts(known[anchor])
    ):
        svg, stem = _as_svg(source, legend, colours), _free(name, stems)
        written += [save(svg, folder / f"{stem}.{ending}") for ending in ("svg", "pdf", "png")]
        written.append(write_text(_as_csv(source.rows), folder / f"{stem}.csv", SHARED))
    return written + ([] if only else _write_tables(everything, folder))


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as SVG, as a notebook shows it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Writes the chart as PDF or PNG if the path ends so (needs the extra `charts`), otherwise as SVG."""
        save(self.svg, Path(path))


def chart_of(drawing: Drawing) -> Chart:
    """Turns a drawing of the page into a chart of its own, in the colours of the light page, without a legend."""
    return Chart(_as_svg(drawing.source, (), _colours()))


def save(svg: str, path: Path) -> Path:
    """Writes an SVG as PDF or PNG if the path ends so, otherwise as SVG.

    Raises UsageError without the extra `charts`, WarehouseError if the file cannot be written.
    """
    ending = path.suffix.lower()
    if ending not in (".pdf", ".png"):
        return write_text(svg, path, SHARED)
    if not is_installed("charts"):
        raise UsageError(needs_extra(f"a chart as {ending}", "charts"))
    import vl_convert

    scale = POINTS_AN_INCH / PIXELS_AN_INCH
    if ending == ".png":
        return write_bytes(vl_convert.svg_to_png(svg, scale, DOTS_AN_INCH), path, SHARED)
    in_points = _SIZE.sub(
        lambda size: f'width="{int(size[1]) * scale:g}" height="{int(size[2]) * scale:g}"', svg, count=1
    )
    return write_bytes(vl_convert.svg_to_pdf(in_points), path, SHARED)


def _write_tables(everything: Sequence[DrawnSection], folder: Path) -> list[Path]:
    written = []
    for section in everything:
        for table in (each for block in section.blocks for each in block.tables if each.file and each.rows):
            stem = folder / _file_name("table", section.anchor, table.file)
            for ending, text in ((".csv", as_csv(table)), (".tex", as_latex(table))):
                written.append(write_text(text, stem.with_suffix(ending), SHARED))
    return written


def _charts(section: DrawnSection) -> Iterator[tuple[str, Source, tuple[tuple[str, str], ...]]]:
    # the name of a chart's files, what it is drawn from, and its legend
    for figure in dict.fromkeys(block.figure for block in section.blocks):
        own = [(block, panel) for block in section.blocks if block.figure == figure for panel in block.panels]
        names = _names([(block.task_id, panel.name, panel.beside, panel.detail) for block, panel in own])
        for name, (block, panel) in zip(names, own, strict=True):
            if isinstance(panel.drawing, Drawing):
                stem = _file_name(FIGURES.get(section.anchor, section.anchor), figure, name)
                yield stem, panel.drawing.source, block.legend


def _free(stem: str, taken: set[str]) -> str:
    # a number follows where two names become the same in plain letters
    numbered = (f"{stem}-{place}" for place in count(2))
    free = stem if stem not in taken else next(each for each in numbered if each not in taken)
    taken.add(free)
    return free


def _names(panels: Sequence[Sequence[str]]) -> list[str]:
    # task, name and respect as far as they differ between panels, and the detail if they do not suffice
    differing = [place for place in range(3) if len({about[place] for about in panels}) > 1]
    if len({about[:3] for about in panels}) < len(panels):
        differing.append(3)
    return [" · ".join(about[place] for place in differing if about[place]) for about in panels]


def _file_name(*names: str) -> str:
    # ASCII letters, digits and hyphens, which every file system takes
    parts = (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in names)
    return "-".join(part for part in parts if part)[:MOST_NAME].strip("-")


def _colours() -> dict[str, str]:
    # the light page's colours are in the first rule of the style
    text = STYLE.read_text("utf-8")
    return dict(_COLOUR.findall(text[: text.index("}")]))


def _as_svg(source: Source, legend: Sequence[tuple[str, str]], colours: Mapping[str, str]) -> str:
    # the drawing of the page without the titles of its marks, its colours written out, on white, its legend below it
    lines = list(_legend_lines(legend))
    spec = {"layer": source.layers, "width": WIDTH, "height": source.height}
    inner = str(plotted(spec, source.datasets, "", {})).removesuffix("</svg>").split(">", 1)[1]
    whole = source.height + LINE * len(lines)
    rules = "".join(
        f".fill-{name}{{fill:{colour}}}.stroke-{name}{{stroke:{colour}}}" for name, colour in colours.items()
    )
    text = f"text{{font-family:Helvetica,Arial,sans-serif;font-size:{FONT_SIZE}px;fill:{colours['ink']}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(source.label)}" '
        f'width="{WIDTH}" height="{whole}" viewBox="0 0 {WIDTH} {whole}"><style>{text}{rules}</style>'
        f'<rect width="{WIDTH}" height="{whole}" fill="#ffffff"/>{inner}'
        + "".join(_legend(keys, source.height + LINE * place) for place, keys in enumerate(lines))
        + "</svg>\n"
    )


def _legend_lines(legend: Sequence[tuple[str, str]]) -> Iterator[list[_Key]]:
    # an entry that is wider than the chart continues in lines of its own
    line: list[_Key] = []
    place = PADDING
    for colour, meaning in legend:
        for nth, piece in enumerate(_wrapped(shown(meaning))):
            width = KEY + 4 + round(width_of(piece)) + 12
            if line and (nth or place + width > WIDTH):
                yield line
                line, place = [], PADDING
            line.append((place, "" if nth else colour, piece))
            place += width
    if line:
        yield line


def _wrapped(text: str) -> list[str]:
    most = WIDTH - 2 * PADDING - KEY - 4
    pieces: list[str] = []
    for word in text.split(" "):
        if pieces and width_of(f"{pieces[-1]} {word}") <= most:
            pieces[-1] += f" {word}"
        else:
            pieces.append(fitted(word, most))
    return pieces


def _legend(keys: Sequence[_Key], top: int) -> str:
    box = f'y="{top + 3}" width="{KEY}" height="{KEY}"'
    patches = [f'<rect class="fill-{colour}" x="{place}" {box}/>' for place, colour, _ in keys if colour]
    at = [(place + KEY + 4, escape(text, quote=False)) for place, _, text in keys]
    return "".join([*patches, *(f'<text x="{x}" y="{top + 3 + KEY}">{text}</text>' for x, text in at)])


def _as_csv(drawn: Sequence[Row]) -> str:
    # a row per mark, at full precision; `figure` is the name that `trace` takes
    out = io.StringIO()
    rows, names = CsvRows(out), list(dict.fromkeys(name for row in drawn for name in row))
    rows.row(names)
    for values in ([row.get(name) for name in names] for row in drawn):
        rows.row(number_or_cell(value) if isinstance(value, str) else value for value in values)
    return out.getvalue()
