from __future__ import annotations

import csv
import io
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from promptaudit.gate.formats import code as of_gate
from promptaudit.registry.errors import WarehouseError
from promptaudit.report import FORMS, report_as
from promptaudit.system.display.markdown import cell, code, table
from promptaudit.system.display.spreadsheet import FORMULA, number_or_cell
from promptaudit.system.files import PRIVATE, SHARED, write_text
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.imported_runs import MENTION, SCRIPT
from tests.support.published_copy import table as rows_published
from tests.support.shell import promptaudit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
HOSTILE = (
    *(SCRIPT, MENTION, "`", "``` a", "a|b", "\\|", "[x](javascript:alert(1))", "![y](http://example.org)", "<!-- x"),
    *("@everyone", "**b** _i_ ~~s~~", "http://example.org", "www.example.org", "a\n\n# h", "\x1b[2J\x00", "\u202e"),
    *("- x", "1. x", "&lt;", "{{7*7}}", "#1"),
)


def tokens_of(text: str) -> list[tuple[str, str]]:
    """What Markdown makes of a text: kinds and contents, inner ones too."""
    found = []
    for token in MarkdownIt("gfm-like", {"linkify": False, "html": True}).disable("linkify").parse(text):
        found.append((token.type, token.content))
        found += [(child.type, child.content) for child in token.children or ()]
    return found


def is_inert(text: str) -> bool:
    """No HTML, link, image or emphasis, and outside code spans nothing that a chat would make a link or a mention of."""
    found = tokens_of(text)
    plain = " ".join(content for kind, content in found if kind == "text")
    live = {
        "html_inline",
        "html_block",
        "link_open",
        "image",
        "strong_open",
        "em_open",
        "s_open",
        "fence",
        "code_block",
    }
    return not live & {kind for kind, _ in found} and not re.search(r"@|://|www\.|#\d|<|\x1b|\u202e", plain)


@pytest.mark.parametrize("text", HOSTILE)
def test_words_in_a_table_are_inert(text: str) -> None:
    made = "\n".join(table(("a", "b"), [(cell(text), "1"), (code(text), "2")], 1))
    assert is_inert(made)
    kinds = [kind for kind, _ in tokens_of(made)]
    assert kinds.count("td_open") == 4
    assert kinds.count("tr_open") == 3


@given(st.text(max_size=60))
def test_any_words_stay_one_cell(text: str) -> None:
    made = "\n".join(table(("a", "b"), [(cell(text), "end")]))
    assert is_inert(made)
    assert [kind for kind, _ in tokens_of(made)].count("td_open") == 2


@pytest.mark.parametrize("text", ["0.123", "[0.100, 0.200]", "24 × 18", "none of these", "12.5 %", "$0.10", "–"])
def test_figures_and_plain_words_need_no_code_span(text: str) -> None:
    assert cell(text) == text


def test_the_gate_and_the_report_write_names_alike() -> None:
    assert of_gate is code


@pytest.mark.parametrize("text", ["-1.5", "+2", "-3e-05", "0"])
def test_a_plain_number_is_no_formula(text: str) -> None:
    assert number_or_cell(text) == text


@pytest.mark.parametrize("text", ["=1+1", "+a", "-2+3", "@SUM(1)", "\tx", "\rx", "-", "-1 ", "+1+cmd"])
def test_what_a_spreadsheet_would_reckon_begins_with_an_apostrophe(text: str) -> None:
    assert number_or_cell(text) == f"'{text}"


@pytest.mark.parametrize("name", ["hostile", "hostile_judged"])
def test_hostile_names_are_inert_in_markdown(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    made = report_as(Warehouse(run.warehouse), run.audit_run_id, "md")
    found = tokens_of(made)
    assert not {"html_inline", "html_block", "link_open", "image", "strong_open", "em_open"} & {
        kind for kind, _ in found
    }
    outside = " ".join(content for kind, content in found if kind == "text")
    assert not re.search(r"@|://|www\.|javascript|alert|<", outside)
    assert SCRIPT in " ".join(content for kind, content in found if kind == "code_inline")
    assert all(char.isprintable() or char == "\n" for char in made)
    assert len(made) < 60_000


def test_the_markdown_holds_the_scorecard_and_what_the_sections_found(ordinary: Reported, judged: Reported) -> None:
    made = report_as(Warehouse(ordinary.warehouse), ordinary.audit_run_id, "md")
    query = f"select * from marts.rpt_audit where audit_run_id = '{ordinary.audit_run_id}' order by task_id, strategy, model_id"
    names, rows = rows_published(ordinary.warehouse, query)
    for values in rows[:8]:
        row = dict(zip(names, values, strict=True))
        names_ = " | ".join(f"`{row[name]}`" for name in ("model_id", "task_id", "strategy"))
        line = next(line for line in made.splitlines() if names_ in line)
        assert (f"{row['sensitivity']:.3f}" if row["sensitivity"] is not None else "–") in line
    assert "The first 8 of 9 rows." in made
    assert "### Format checks" in made
    assert "Most of the spread is the rule" in report_as(Warehouse(judged.warehouse), judged.audit_run_id, "md")


@pytest.mark.parametrize("name", ["hostile", "hostile_judged"])
def test_hostile_names_are_inert_in_a_spreadsheet(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    made = report_as(Warehouse(run.warehouse), run.audit_run_id, "csv")
    rows = list(csv.reader(io.StringIO(made)))
    assert {len(row) for row in rows} == {10}
    cells = {text for row in rows for text in row}
    assert not [text for text in cells if text.startswith(FORMULA) and not NUMBER.fullmatch(text)]
    assert all(char.isprintable() or char == "\n" for char in made)
    if name == "hostile":
        assert "'=cmd|'/c calc'!A0" in cells
        assert f"'{MENTION}" in cells


@pytest.mark.parametrize("form", FORMS)
def test_the_command_writes_each_form_to_a_file(form: str, hostile_judged: Reported, tmp_path: Path) -> None:
    file = tmp_path / "out"
    given = ("report", hostile_judged.audit_run_id, "--format", form, "--warehouse", hostile_judged.warehouse)
    done = promptaudit(tmp_path, *given, "--output", file)
    assert (done.code, done.out.strip(), done.err) == (0, str(file), "")
    if form == "html":
        assert file.read_text(encoding="utf-8") == hostile_judged.html
    else:
        shown = promptaudit(tmp_path, *given)
        assert shown.out == file.read_text(encoding="utf-8")
        assert all(char.isprintable() or char == "\n" for char in shown.out)


@pytest.mark.parametrize("given", [["--format", "htm"], ["--text", "excerpts"]])
def test_a_wrong_word_is_one_line_with_the_nearest_right_one(given: list[str], tmp_path: Path) -> None:
    done = promptaudit(tmp_path, "report", *given)
    assert done.code == 2
    assert "nearest" in done.one_line()


def test_a_file_is_written_whole_and_as_private_as_asked(tmp_path: Path) -> None:
    for mode, seen in ((PRIVATE, 0o600), (SHARED, 0o644)):
        path = tmp_path / f"{mode}"
        path.with_name(f"{mode}.new").write_text("left by a killed process")
        assert write_text("a\r\nb", path, mode).read_bytes() == b"a\r\nb"
        assert stat.S_IMODE(path.stat().st_mode) & ~0o022 == seen
    link = tmp_path / "link"
    link.symlink_to(tmp_path / f"{PRIVATE}")
    write_text("new", link)
    assert link.is_symlink()
    assert (tmp_path / f"{PRIVATE}").read_text() == "new"
    assert not list(tmp_path.glob("*.new"))
    with pytest.raises(WarehouseError, match="cannot be written"):
        write_text("x", tmp_path / "missing" / "x")
