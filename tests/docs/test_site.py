"""The sources of the site hold every page of the guide, runbook, command, kind of card and mart; `make docs` tries the links."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from typer.main import get_command

from promptaudit.cli import app
from promptaudit.registry.mart_columns import dbt_project, declared_models
from promptaudit.registry.registry import KINDS
from promptaudit.warehouse.figure_names import begin_with

ROOT = Path(__file__).parents[2]
SOURCES = runpy.run_path(str(ROOT / "infra/site/sources.py"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    SOURCES["write"](folder)
    return folder


def read(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["guide", "runbooks", "examples"])
def test_every_page_of_a_folder_is_there_in_its_words(site: Path, folder: str) -> None:
    pages = sorted((ROOT / "infra" / folder).glob("*.md"))
    assert pages
    for page in pages:
        assert read(site, f"{folder}/{page.name}").startswith(page.read_text(encoding="utf-8").splitlines()[0])


def test_the_front_page_is_the_readme_with_its_links_as_the_site_has_them(site: Path) -> None:
    front = read(site, "index.md")
    assert "[cards](guide/cards.md)" in front
    assert "[what to do when](runbooks/index.md)" in front
    assert "](pictures/first_screen.png)" in front
    assert "](infra" not in front
    assert (site / "pictures/first_screen.png").is_file()
    for name in SOURCES["SECTIONS"]["Guide"]:
        assert f"\n{name}\n" in front


def test_every_command_is_there_with_all_that_it_takes(site: Path) -> None:
    page = read(site, "reference/commands.md")
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    commands = get_command(app).commands
    assert sections.keys() == commands.keys()
    for name, command in commands.items():
        assert f"promptaudit {name}" in sections[name]
        for parameter in command.params:
            assert parameter.opts[0] in sections[name]


def test_every_kind_of_cards_is_there(site: Path) -> None:
    assert set(re.findall(r"^## (\w+)$", read(site, "reference/cards.md"), re.MULTILINE)) == set(KINDS)


def test_every_mart_is_there_with_its_columns_and_ten_come_first(site: Path) -> None:
    marts = {path.stem for path in (dbt_project() / "models/marts").rglob("*.sql")}
    index = read(site, "reference/tables/index.md")
    listed = re.findall(r"^\[`(\w+)`\]\(\1\.md\)$", index, re.MULTILINE)
    assert tuple(listed[:10]) == begin_with()
    assert sorted(listed[10:]) == sorted(marts)
    assert {path.stem for path in (site / "reference/tables").iterdir()} == {*marts, "index"}
    for path in (dbt_project() / "models/marts").rglob("*.yml"):
        for model in declared_models(path):
            shown = re.findall(
                r"^`(\w+)` (\S.*)\n: \S", read(site, f"reference/tables/{model['name']}.md"), re.MULTILINE
            )
            assert shown == [(column["name"], column["data_type"]) for column in model["columns"]]
    assert "Its key: `audit_run_id`.\n" in read(site, "reference/tables/dim_nights.md")


def test_a_text_is_shown_as_it_is() -> None:
    assert SOURCES["_text"]("a_b <c> *d* `e_f`\ng\n\nh|i") == r"a\_b \<c> \*d\* `e_f` g" + "\n\n" + r"h\|i"
