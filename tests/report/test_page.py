from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest
from markupsafe import Markup

from promptaudit.registry.errors import WarehouseError
from promptaudit.report import as_written, report
from promptaudit.report.answers_grid.section import SCRIPT as GRID_SCRIPT
from promptaudit.report.blocks.blocks import Block
from promptaudit.report.blocks.filters import inline
from promptaudit.report.contents import OF_TASKS
from promptaudit.report.gather import gather
from promptaudit.report.page import SCRIPT
from promptaudit.report.sections.section import Chart, Room
from promptaudit.system.display.figures import shown
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql
from tests.report.conftest import Reported
from tests.support.imported_runs import HOSTILE
from tests.support.published_copy import table

SECTIONS = {
    *("scorecard", "answers", "samples", "format_gate", "identity", "guide"),
    *(section.name for section in OF_TASKS if not section.is_optional),
}

JUDGED = {"scoring", "rankings", "agreement", "disagreements"}  # of runs that are scored by more than labels
PAGES = {
    "ordinary": SECTIONS,
    "hostile": SECTIONS,
    "judged": SECTIONS | JUDGED | {"scoring_across_tasks"},
    "hostile_judged": SECTIONS | JUDGED,
}


class Seen(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.pieces: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def test_the_most_sensitive_samples_stand_with_their_answers(ordinary: Reported) -> None:
    run = ordinary.audit_run_id
    query = (
        f"select sample_id, avg(sensitivity) as s from marts.fct_sensitivity where audit_run_id = '{run}' group by all "
        "having s > 0 order by s desc, sample_id limit 20"
    )
    expected = [name for name, _ in table(ordinary.warehouse, query)[1]]
    assert re.findall(r"<h3>(c\d+)</h3><span>colours", ordinary.html) == expected
    assert 0 < len(expected) <= 20


def test_what_is_absent_says_why(ordinary: Reported) -> None:
    text = Seen(ordinary.html).text
    for sentence in (
        "Only one prompt variant was asked, and sensitivity needs two.",
        "No sample of this task has a gold label, so there are no classes to compare.",
        "No original wording was asked twice, so there are no repetitions to compare.",
        "Only one prompt variant was asked, and PSS over prompt variants needs two.",
        "No sample of this task has a gold label, so no answer can be called right or wrong.",
        "Every answer was read as a label.",
    ):
        assert sentence in text


def test_variants_that_break_their_format_are_named_with_their_reason(ordinary: Reported) -> None:
    text = Seen(ordinary.html).text
    query = (
        "select distinct breaking_reason from marts.fct_answer_formats "
        f"where is_breaking and audit_run_id = '{ordinary.audit_run_id}'"
    )
    reasons = [reason for (reason,) in table(ordinary.warehouse, query)[1]]
    assert reasons
    assert all(reason in text for reason in reasons)


def test_the_run_is_identified(ordinary: Reported) -> None:
    text = Seen(ordinary.html).text
    names, rows = table(
        ordinary.warehouse, f"select * from marts.dim_audit_runs where audit_run_id = '{ordinary.audit_run_id}'"
    )
    run = dict(zip(names, rows[0], strict=True))
    for name in ("audit_run_id", "fingerprint", "plan_fingerprint", "seed", "code_version", "origin", "state"):
        assert str(run[name]) in text
    assert "answers 0.parquet" in text
    assert "dbt-duckdb" in text


@pytest.mark.parametrize("name", list(PAGES))
def test_the_page_is_complete_closed_and_accessible(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    seen = Seen(run.html)
    ids = [value for _, attribute, value in seen.attributes if attribute == "id"]
    assert set(ids) == PAGES[name] | {"answers-packed", "figures"}
    # sections that the first screen does not lead to stand together in a fold
    folded = run.html.partition('id="figures">')[2].partition('id="format_gate">')[0]
    led_to = {"prompt_variants", "samples", "run_changes", "answer_formats", "wording_choices"}
    assert {*led_to, "costs"} & set(re.findall(r'class="inside" id="(\w+)"', folded)) == {"costs"}
    assert len(ids) == len(set(ids))
    policy = next(v for t, a, v in seen.attributes if t == "meta" and a == "content" and "default-src" in v)
    assert policy == (
        f"default-src 'none'; script-src '{inline(SCRIPT).source}' '{inline(GRID_SCRIPT).source}'; style-src 'unsafe-inline'; "
        "img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
    links = [value for _, attribute, value in seen.attributes if attribute in {"href", "src", "xlink:href"}]
    trace = re.compile(rf"traces/{run.audit_run_id}/[a-z_]+\.[0-9a-f]{{12}}\.html")
    formats = f"reports/{run.audit_run_id}.formats.html"
    assert links.count(formats) == 1
    assert all(value.startswith("#") or value in {"data:,", formats} or trace.fullmatch(value) for value in links)
    assert {value[1:] for value in links if value.startswith("#")} <= set(ids)
    screen = Seen(run.html.partition('aria-label="Outcome">')[2].partition('<div class="inside"')[0])
    assert {value for _, attribute, value in screen.attributes if attribute == "href"} >= {
        "#scorecard",
        "#prompt_variants",
    }
    assert "url(http" not in run.html
    n_clips = seen.attributes.count(("svg", "class", "clip"))  # parts of a chart that end at its frame
    assert seen.tags.count("svg") - n_clips == sum(
        1 for t, a, v in seen.attributes if (t, a) == ("svg", "aria-label") and v
    )
    assert seen.tags.count("th") == sum(1 for t, a, _ in seen.attributes if (t, a) == ("th", "scope"))
    assert seen.tags.count("table") == seen.tags.count("caption")


@pytest.mark.parametrize("name", ["hostile", "hostile_judged"])
def test_nothing_hostile_is_live(name: str, request: pytest.FixtureRequest) -> None:
    hostile: Reported = request.getfixturevalue(name)
    seen = Seen(hostile.html)
    assert not {"img", "iframe", "object", "embed", "form", "base"} & set(seen.tags)
    assert not [
        name for _, name, _ in seen.attributes if name.startswith("on") or name in {"srcdoc", "action", "srcset"}
    ]
    links = [value for _, name, value in seen.attributes if "href" in name]
    run = hostile.audit_run_id
    own = ("#", "data:,", f"traces/{run}/", f"reports/{run}.formats.html")
    assert not [value for value in links if not value.startswith(own)]
    assert not {chr(code) for code in (*range(9), 11, 12, *range(14, 32), 0x202E, 0xFFFF)} & set(hostile.html)


@pytest.mark.parametrize("name", list(PAGES))
def test_the_two_scripts_that_run_are_those_the_policy_names(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", run.html, re.DOTALL)
    assert run.html.count("<script") == len(scripts)
    running = [text for attributes, text in scripts if attributes == ""]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    (named,) = re.findall(r"script-src ([^;]*);", run.html)
    assert len(running) == 2
    assert sorted(named.split()) == sorted(f"'sha256-{digest}'" for digest in digests)
    data = [text for attributes, text in scripts if attributes.startswith(' type="application/json"')]
    assert len(data) == len(scripts) - 2
    for text in data:
        assert not set("<>&\u2028\u2029") & set(text)
        assert isinstance(json.loads(text), dict)


def test_what_is_hostile_is_readable(hostile: Reported) -> None:
    text = Seen(hostile.html).text
    for words in HOSTILE:
        assert shown(words) in text, words
    for words in ("<script>alert(1)</script>", "<i onclick=alert(4)>", "<b>hostile</b>\\x00\\u202e"):
        assert words in text, words
    assert "{{7*7}}" in text


def test_ten_megabytes_are_cut_with_an_ellipsis(hostile: Reported) -> None:
    assert len(hostile.html) < 1_000_000
    assert "<bdi>" in hostile.html
    assert "x" * 301 not in hostile.html
    assert "z" * 301 not in hostile.html


@pytest.mark.parametrize("name", ["hostile", "judged"])
def test_rendering_twice_gives_the_same_page(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    assert as_written(Warehouse(run.warehouse), run.audit_run_id) == run.html


def test_many_pairs_share_the_charts_and_the_rest_is_named(ordinary: Reported) -> None:
    found = gather(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    charts = [Chart(f"m{place}", "simple", lambda: ("", Markup(""))) for place in range(14)]
    for n_tasks, n_drawn in ((1, 12), (2, 10), (100, 1)):
        block = Block(task_id="task")
        room = Room(replace(found, scorecard=[{"task_id": str(place)} for place in range(n_tasks)]))
        room.draw_pairs(block, charts)
        assert len(block.panels) == n_drawn
        room.draw_pairs(block, charts, n_sharing=6)  # of 12, 10 and 1
        assert len(block.panels) - n_drawn == max(1, n_drawn // 6)
        assert block.notes[0].startswith(f"{n_drawn} of 14 model and strategy pairs")


def test_reporting_loads_no_library_of_charts_or_frames(ordinary: Reported) -> None:
    code = (
        "import sys; from pathlib import Path; from promptaudit import cli, report; "
        "from promptaudit.warehouse import Warehouse; guard = cli.sparing_pandas(); guard.__enter__(); "
        f"report.as_written(Warehouse(Path({str(ordinary.warehouse)!r})), {ordinary.audit_run_id!r}); "
        "print(sorted({'altair', 'pandas', 'prefect', 'vl_convert'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_many_tasks_are_parted_and_every_figure_stands_on_one_page(
    ordinary: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    from promptaudit.report import page_size
    from promptaudit.report.page import render, render_parts
    from promptaudit.report.verify_file import figures_of

    found = gather(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    n_tasks = len({row["task_id"] for row in found.scorecard})
    assert n_tasks > 1
    whole = render(found)
    assert render_parts(found) == [whole]
    monkeypatch.setattr(page_size, "MOST_GROUPS", 1)
    pages = render_parts(found)
    assert len(pages) == n_tasks
    names = [[each.figure for each in figures_of(page)] for page in pages]
    assert sorted(name for own in names for name in own) == sorted(each.figure for each in figures_of(whole))
    worst = max((row for row in found.scorecard if row["sensitivity"] is not None), key=lambda row: row["sensitivity"])
    assert (
        f"<h3>{worst['task_id']}</h3>"
        in pages[0].partition('id="consistency"')[2].partition('id="sample_consistency"')[0]
    )
    for page in pages:
        others = {value for _, name, value in Seen(page).attributes if name == "href" and value.startswith("reports/")}
        others.discard(f"reports/{ordinary.audit_run_id}.formats.html")
        assert len(others) == n_tasks - 1


def test_reporting_is_cheap_to_import() -> None:
    heavy = "{'vl_convert', 'jinja2', 'rich.table'} & set(sys.modules)"
    code = f"import sys, promptaudit.report; sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_cannot_be_reported_is_one_line(ordinary: Reported, tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="no run 'nowhere' is published"):
        report(Warehouse(ordinary.warehouse), "nowhere")
    with pytest.raises(WarehouseError, match="nothing is published yet"):
        report(Warehouse(tmp_path / "audit.duckdb"), "nowhere")


def published_without(source: Reported, folder: Path, *statements: str) -> Warehouse:
    """A copy of the published file alone, changed."""
    place = folder / "published/audit.duckdb"
    place.parent.mkdir(parents=True)
    shutil.copy(Warehouse(source.warehouse).published.path, place)
    with duckdb.connect(str(place)) as con:
        for statement in statements:
            con.execute(statement)
    return Warehouse(folder / "audit.duckdb")


def test_a_copy_that_lacks_a_table_is_refused(ordinary: Reported, tmp_path: Path) -> None:
    damaged = published_without(ordinary, tmp_path / "damaged", "drop table marts.fct_prompt_stability")
    with pytest.raises(WarehouseError, match="fct_prompt_stability"):
        gather(damaged, ordinary.audit_run_id)


def test_a_run_that_is_not_complete_is_shown_with_the_nights_before_it(ordinary: Reported, tmp_path: Path) -> None:
    unfinished = (
        "insert into marts.dim_audit_runs by name select * replace ('open' as audit_run_id, 'running' as state, "
        "started_at + interval 1 day as started_at, run_index + 1 as run_index) "
        f"from marts.dim_audit_runs where audit_run_id = '{ordinary.audit_run_id}'"
    )
    warehouse = published_without(ordinary, tmp_path / "open", unfinished)
    with warehouse.published.connect() as con:
        nights = con.execute(sql("query.history", "nights"), {"run": "open", "most": 9}).fetchall()
    assert [run for run, *_ in nights] == [ordinary.audit_run_id]


def test_the_verdict_of_the_gate_comes_first_and_its_names_are_text(hostile: Reported, tmp_path: Path) -> None:
    run = hostile.audit_run_id
    warehouse = published_without(hostile, tmp_path)
    with duckdb.connect(str(warehouse.published.path)) as con:
        audit = con.execute("select audit_id from raw.audit_runs where audit_run_id = ?", [run]).fetchone()
        assert audit is not None
        card = {"audits": {audit[0]: {"gate": ["invalid_rate <= 0.01", "micro_f1 >= 0"]}}}
        con.execute("update raw.audit_runs set card = ? where audit_run_id = ?", [json.dumps(card), run])
    page = as_written(warehouse, run)
    seen, before = Seen(page), Seen(hostile.html)
    assert page.index('id="gate_rules"') < page.index('id="scorecard"')
    assert re.search(r"Failed\s*1 of 2 rules fails\.\s*invalid_rate <= 0\.01: \d+ of \d+ rows? fails?", seen.text)
    assert re.search(r"Failed\s*invalid_rate <= 0\.01\s*\d+ of \d+ rows? fails?", seen.text)
    assert set(seen.tags) == set(before.tags)
    assert {name for _, name, _ in seen.attributes} == {name for _, name, _ in before.attributes}
