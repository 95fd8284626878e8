"""Compares a report's file with the page that was written, and the figures printed on it with the marts."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path
from typing import Any

from promptaudit.evidence.verify.checks import Check, Finding, few
from promptaudit.evidence.verify.runs import VerifyResult, verify
from promptaudit.marts.seal import OF_RUNS, marts, views
from promptaudit.registry.errors import DataError, PromptauditError, UsageError, WarehouseLocked
from promptaudit.report import BELOW, REPORT
from promptaudit.report.blocks.cells import exact
from promptaudit.report.record import page_sha256
from promptaudit.system.display.figures import ABSENT, chance, count, in_unit, number, share, signed
from promptaudit.system.display.policy import POLICIES
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.duckdb_file import Connection, first_row, rows_of
from promptaudit.warehouse.figure_names import grains, parse_figure, row_id

MOST_DIGITS = 7  # that a report prints
UNITS, LOGARITHMS = ("rate", "usd", "ms"), ("log_characters", "log_tokens")
MOST_LOGARITHM = 50  # of any count that a report prints
FEW_LINES = 20
FORMATS = ".formats.html"
MARKS = ("*", "†", " *", " †")  # that a report prints behind a figure


@dataclass(slots=True)
class Printed:
    """A figure as a page prints it."""

    figure: str
    value: str
    text: str
    line: int


class _Figures(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.printed: list[Printed] = []
        self._is_open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "data" and "data-figure" in given:
            self.printed.append(Printed(given["data-figure"] or "", given.get("value") or "", "", self.getpos()[0]))
            self._is_open = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "data":
            self._is_open = False

    def handle_data(self, data: str) -> None:
        if self._is_open:
            self.printed[-1].text += data


def figures_of(page: str) -> list[Printed]:
    """Reads every figure of a page, in order."""
    parser = _Figures()
    parser.feed(page)
    return parser.printed


def check_page(
    warehouse: Warehouse, path: Path, *, is_copy: bool | None = None
) -> tuple[list[Finding], str, str | None]:
    """Compares a report's page with what was written, or its figures with the marts.

    Gives what differs, a sentence on what the page was compared with, and the run that it is about. A page whose hash
    landed is as it was written. On any other page each figure is compared with the marts. If all agree, the page is
    rendered anew, to name the first line in which it differs. With `is_copy` the published copy is asked, which has to
    do where the warehouse cannot be read; None asks it if the warehouse is not there.

    Raises DataError where the file cannot be read or is no report.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise DataError(msg) from None
    page = content.decode("utf-8", "replace")
    printed = figures_of(page)
    with _landed(warehouse, is_copy=_is_copy_asked(warehouse, is_copy=is_copy)) as con:
        query = "select audit_run_id, written_at from raw.reports where sha256 = ?"
        if written := first_row(con, query, [page_sha256(content)]):
            run, at = written
            note = f"is as it was written of run {run} at {at:%Y-%m-%d %H:%M} UTC, {len(printed):,} figures"
            return [], f"{path.name} {note}", str(run)
        if not printed:
            msg = f"{path}: no report of promptaudit: it prints no figure with a name"
            raise DataError(msg)
        differences, about = _differing(con, printed, path.name)
    summary = f"{path.name} is not as any page was written; its {len(printed):,} figures were held against the marts"
    if not differences and about is not None:
        differences = _lines(warehouse, about, page, path)
    return few(differences), summary, about


def page_checks(warehouse: Warehouse, run: str | None, is_copy: bool | None = None) -> list[Check]:  # noqa: FBT001 - as `verify` has it
    """Makes the checks of the reports beside the published copy, of every run or of one run and its comparisons.

    A hash counts only under the page's own name. `is_copy` is as for `check_page`.
    """
    folder = warehouse.places.published
    is_copy = _is_copy_asked(warehouse, is_copy=is_copy)
    with _landed(warehouse, is_copy=is_copy) as con:
        tables = con.execute("select table_name from information_schema.tables where table_schema = 'raw'").fetchall()
        if ("reports",) not in tables:
            return []
        written = con.execute("select name, sha256, audit_run_id from raw.reports").fetchall()
        pages = sorted((folder / BELOW).glob("*.html" if run is None else f"{run}*.html"))
        if is_copy:  # it may lack the hashes of the newest pages, and these pages print no figure to look at
            pages = [page for page in pages if not page.name.endswith(FORMATS)]
        else:
            # an earlier version kept no hash of traces
            kept = {tuple(name.split("/")[:2]) for name, *_ in written}
            traces = sorted(folder.glob(f"traces/{run or '*'}/*.html"))
            pages += [page for page in traces if ("traces", page.parent.name) in kept]
        query = "select distinct left(comparison_id, 12) from raw.comparisons where candidate_run_id = ? order by all"
        of_comparisons = con.execute(query, [run]).fetchall()
    pages += [folder / BELOW / f"comparison-{beginning}.html" for (beginning,) in of_comparisons]
    pages += [folder / REPORT] if run is None else []
    runs = {sha256: run_ for _, sha256, run_ in written}
    return [
        Check(
            where=page.name,
            what="page",
            audit_run_id=_run_of(page),
            recorded={sha256 for name, sha256, _ in written if name == page.relative_to(folder).as_posix()},
            read=partial(_sha256_of, page),
            explain=partial(_explain, warehouse=warehouse, page=page, runs=runs, is_copy=is_copy),
        )
        for page in pages
        if page.is_file()
    ]


def _run_of(page: Path) -> str | None:
    if page.parent.name == BELOW:
        return None if page.name.startswith("comparison-") else page.name.partition(".")[0].partition("-")[0]
    return None if page.name == REPORT else page.parent.name


def _sha256_of(page: Path) -> str:
    return page_sha256(page.read_bytes())


def _explain(
    check: Check, *, warehouse: Warehouse, page: Path, runs: Mapping[str, str], is_copy: bool
) -> list[Finding]:
    # A copy alone may not know the newest page's hash, nor have the pages that it links to: there only a figure that
    # differs proves a change.
    if run := runs.get(_sha256_of(page)):
        return [check.part(audit_run_id=run).found("changed", detail=f"it is another page, of run {run}")]
    if (page.parent.name != BELOW and page.name != REPORT) or page.name.endswith(FORMATS):
        detail = (
            f"no hash of it has landed: `promptaudit report {shlex.quote(str(check.audit_run_id))}` writes it again"
        )
        return [
            check.found("changed", detail="it is not as it was written")
            if check.recorded
            else check.found("unsealed", detail=detail)
        ]
    findings = check_page(warehouse, page, is_copy=is_copy)[0]
    return [replace(each, kind="unsealed") if is_copy and each.what == "page" else each for each in findings]


def _differing(con: Connection, printed: Sequence[Printed], where: str) -> tuple[list[Finding], str | None]:
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    findings: list[Finding] = []
    runs: Counter[str] = Counter()
    of_views = (view.removeprefix("marts.") for view in views(con))
    tables = {view: OF_RUNS for view in of_views if view in grains()} | marts(con)

    def row_of(mart: str, name: str) -> dict[str, Any]:
        if mart not in rows:
            there = rows_of(con, f'select * from marts."{mart}"') if mart in tables else []  # noqa: S608 - a mart's own name
            rows[mart] = {row_id(mart, row): row for row in there}
        return rows[mart].get(name, {})

    for each in printed:
        check, detail = Check(where=where, what="figure", which=each.figure), ""
        try:
            mart, column, digits = parse_figure(each.figure)
        except UsageError:
            findings.append(check.found("broken", detail=f"line {each.line}: no name of a figure"))
            continue
        row = row_of(mart, f"{mart}.{digits}")
        if column not in row:
            findings.append(check.found("gone", detail=f"line {each.line}: no row of the marts has this name"))
            continue
        run, value = str(row[tables[mart]]), row[column]
        runs[run] += 1
        if each.value != exact(value):
            detail = f"its value is {each.value or 'NULL'}, the mart's {exact(value) or 'NULL'}"
        elif not is_printed_of(value, each.text.strip()):
            detail = f"it prints {each.text.strip()[:40]} for {exact(value) or 'NULL'}"
        if detail:
            findings.append(check.part(audit_run_id=run).found("changed", detail=f"line {each.line}: {detail}"))
    return findings, runs.most_common(1)[0][0] if runs else None


def is_printed_of(value: Any, text: str) -> bool:
    """Checks whether a report may print a value as this text. In place of NULL it may say in words why there is none."""
    is_in_words = value is None and not any(map(str.isdigit, text))
    return not text or is_in_words or text in spellings(value)


def spellings(value: Any) -> set[str]:
    """Lists every way in which the report prints a value, with and without a mark behind it."""
    texts = {exact(value), str(value)}
    if value is None:
        texts |= {number(None), ABSENT, "NULL"}
    elif isinstance(value, bool):
        texts |= {"yes" if value else "no"}
    elif isinstance(value, int | float):
        unsigned = _of_number(abs(value))
        texts |= _of_number(value) | {f"{'-' if value < 0 else '+'}{text}" for text in unsigned}
        texts |= {text for text in unsigned if not set(text) & set("123456789")}  # too small for its sign to be printed
        texts |= {count(value) if isinstance(value, int) else f"{value:g}"} | ({chance(value)} if value >= 0 else set())
    return texts | {f"{text}{mark}" for text in texts for mark in MARKS}


def _of_number(value: float) -> set[str]:
    units = UNITS + (LOGARITHMS if abs(value) < MOST_LOGARITHM else ())
    texts = {number(value, digits) for digits in range(MOST_DIGITS)} | {exact(value), str(value), share(value)}
    return texts | {f"{number(100 * value, 1)} %"} | {of(value, unit) for unit in units for of in (in_unit, signed)}


def _lines(warehouse: Warehouse, run: str, page: str, path: Path) -> list[Finding]:
    # compared with the page as it would be written now, under the text policy that comes nearest
    from promptaudit.report import as_written, report_as
    from promptaudit.report.comparison_page.page import as_written as comparison_as_written

    place, is_below = path.stem.partition("-")[2], path.parent.name == BELOW
    tried: list[list[int]] = []
    for policy in (None, *POLICIES):
        rendered = comparison_as_written(warehouse, page, policy)
        if rendered is None:
            part = int(place) if place.isdecimal() else 1
            rendered = as_written(warehouse, run, policy, is_below=is_below, part=part)
            if page == report_as(warehouse, run, "html", policy):
                return []
        if page == rendered:
            return []
        pairs = enumerate(zip_longest(page.splitlines(), rendered.splitlines()), start=1)
        tried.append([number for number, (one, other) in pairs if one != other])
        if len(tried[-1]) <= FEW_LINES:  # it is this policy
            break
    nearest = min(filter(None, tried), key=len, default=None)
    if nearest is None:
        return []
    detail = "no figure differs from the marts, but the page is not as it would be written now"
    check = Check(where=path.name, what="page", which=f"line {nearest[0]}", audit_run_id=run)
    return [check.found("changed", detail=detail)]


verify_with_pages = partial(verify, more=page_checks)
"""Checks one run or every run against its seals, and the reports beside the published copy against what was written."""


def _is_copy_asked(warehouse: Warehouse, *, is_copy: bool | None) -> bool:
    return not warehouse.places.file.is_file() if is_copy is None else is_copy


def _landed(warehouse: Warehouse, *, is_copy: bool) -> AbstractContextManager[Connection]:
    # the copy has the reports too
    return warehouse.published.inspect() if is_copy else warehouse.inspect()


def verify_report(
    warehouse: Warehouse, path: Path, *, seal: str | None = None, signers: Path | None = None
) -> VerifyResult:
    """Verifies a report's file: its page or the figures on it, then the seals of the run that it is about.

    The page is compared with the page that was written, or its figures with the marts. If the warehouse cannot be read,
    the published copy has both. Raises DataError where the file is no report, WarehouseError where there is nothing to
    compare it with.
    """
    try:
        on_page, note, run = check_page(warehouse, path)
    except (DataError, WarehouseLocked):
        raise
    except Exception:  # noqa: BLE001 - whatever a damaged file makes its library raise: what follows names it
        on_page, note, run = [], f"{path.name} was held against nothing: the warehouse cannot be read", None
        with suppress(PromptauditError):
            on_page, note, run = check_page(warehouse, path, is_copy=True)
            note += ", as the published copy has it"
    result = verify_with_pages(warehouse, run, seal=seal, signers=signers)
    others = [each for each in result.findings if each not in on_page]
    return replace(result, findings=[*on_page, *others], notes=[note, *result.notes])
