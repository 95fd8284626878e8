"""Writes the sources of the site that `make docs` builds: the repository's pages, and those made of commands, cards and marts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.main import get_command

from promptaudit.cli import app
from promptaudit.cli.command_groups import GROUPS
from promptaudit.registry.card_reference import reference
from promptaudit.registry.mart_columns import dbt_project, declared_models
from promptaudit.warehouse.figure_names import begin_with

ROOT = Path(__file__).parents[2]
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Guide": tuple(
        f"guide/{name}"
        for name in (
            "prompts",
            "cards",
            "recorded_answers",
            "designs",
            "variations",
            "models",
            "nights",
            "measures",
            "tables",
            "scoring",
            "evidence",
            "commands",
        )
    ),
    "Reference": ("reference/commands", "reference/cards", "reference/tables/index"),
    "Runbooks": ("runbooks/index",),
    "Other programs and papers": ("examples/*",),
    "Behind it": ("methods", "scaling", "vllm/README", "work_pools/README", "decisions", "CHANGELOG"),
}
"""The contents of the site, beside its front page: pages, or a pattern of them, by caption."""
PAGES = ("README.md", "CHANGELOG.md", "infra/*.md", "infra/*/*.md")
"""The pages of the repository that are part of the site."""
FOLDERS = {"infra/runbooks": "runbooks/index.md", "infra/work_pools": "work_pools/README.md"}
"""The pages that links to folders lead to."""
_FENCED = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
_SPECIAL = re.compile(r"(`[^`]*`)|([\\*_<\[\]|{}#~$])")


def write(folder: Path) -> None:
    """Writes every page of the site into a new folder."""
    pages = {page: _place(page) for pattern in PAGES for page in sorted(ROOT.glob(pattern))}
    texts = {place: _with_links(page, pages, folder) for page, place in pages.items()}
    texts["index.md"] += _contents()
    texts["runbooks/index.md"] = "# When something happens\n\n" + _toctree("*")
    texts["reference/commands.md"] = "\n\n".join(_commands()) + "\n"
    texts["reference/cards.md"] = reference()
    texts |= _tables()
    for place, text in texts.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _place(page: Path) -> str:
    """Returns the place in the site of a page or another file of the repository."""
    path = page.relative_to(ROOT).as_posix()
    return "index.md" if path == "README.md" else path.removeprefix("infra/")


def _with_links(page: Path, pages: Mapping[Path, str], folder: Path) -> str:
    """Returns the text of a page with its links as the site has them; files that it links to are copied into the folder.

    A link to a folder that has no page becomes its text.
    """
    here = Path(pages[page]).parent

    def linked(match: re.Match[str]) -> str:
        mark, text, target, anchor = match.groups(default="")
        if not target or "://" in target:
            return match[0]
        named = Path(os.path.normpath(page.parent / target))
        place = FOLDERS.get(named.relative_to(ROOT).as_posix()) or pages.get(named)
        if place is None and named.is_dir():
            return text
        if place is None:
            place = _place(named)
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(named, folder / place)
        return f"{mark}[{text}]({os.path.relpath(place, here)}{anchor})"

    parts = _FENCED.split(page.read_text(encoding="utf-8"))
    return "".join(part if place % 2 else _LINK.sub(linked, part) for place, part in enumerate(parts))


def _contents() -> str:
    return "".join(
        f"\n{_toctree(*pages, options=(':hidden:', f':caption: {title}'))}" for title, pages in SECTIONS.items()
    )


def _toctree(*pages: str, options: Sequence[str] = ()) -> str:
    return "\n".join(("```{toctree}", ":glob:", *options, "", *pages, "```", ""))


def _commands() -> Iterator[str]:
    """Returns what `--help` says of each command, a section a command."""
    group = get_command(app)
    whole = group.context_class(group, info_name="promptaudit")
    yield f"# What each command takes\n\n{_text(group.help)}"
    yield "Every command takes these options, before or after its name:"
    yield _parameters(group, whole)
    for title, names in GROUPS.items():
        yield f"## {title}"
        for name in names:
            command = group.commands[name]
            context = command.context_class(command, info_name=name, parent=whole)
            yield f"### {name}"
            yield f"```text\npromptaudit {name} {' '.join(command.collect_usage_pieces(context))}\n```"
            yield _text(command.help)
            yield _parameters(command, context)
    yield f"## Exit codes\n\n{_text(group.epilog.partition(': ')[2])}"


def _parameters(command: Any, context: Any) -> str:  # noqa: ANN401 - Typer's classes have no public names
    records = [each.get_help_record(context) for each in command.get_params(context) if each.name != "help"]
    return _explained((f"`{names}`", said) for names, said in records)


def _tables() -> Iterator[tuple[str, str]]:
    """Returns the pages of the marts by their places: one a mart, and one that lists them."""
    folders = sorted((dbt_project() / "models" / "marts").iterdir())
    by_folder = {
        folder.name: [model for path in sorted(folder.glob("*.yml")) for model in declared_models(path)]
        for folder in folders
        if folder.is_dir()
    }
    models = {model["name"]: model for each in by_folder.values() for model in each}
    yield "reference/tables/index.md", "\n\n".join(_list_of_tables(by_folder, models)) + "\n"
    for name, model in models.items():
        yield f"reference/tables/{name}.md", _table(model)


def _list_of_tables(by_folder: Mapping[str, Sequence[Any]], models: Mapping[str, Any]) -> Iterator[str]:
    yield "# The tables"
    yield (
        "Queries read `marts.<table>` of the published copy. Names, columns and types are contracts. "
        '<a href="../../dbt/index.html">dbt\'s own pages</a> have their SQL and what they are made of.'
    )
    yield "## To begin with"
    yield _summaries(models[name] for name in begin_with())
    for folder, declared in by_folder.items():
        yield f"## {folder.capitalize()}"
        yield _summaries(declared)
    yield _toctree(*begin_with(), "*", options=(":hidden:",))


def _summaries(models: Iterable[Mapping[str, Any]]) -> str:
    """Returns a list of tables, each with the first sentence of its description, which says its grain."""
    return _explained((f"[`{each['name']}`]({each['name']}.md)", each["description"].split(". ")[0]) for each in models)


def _table(model: Mapping[str, Any]) -> str:
    grain = next(test["unique_grain"]["arguments"]["columns"] for test in model["data_tests"] if "unique_grain" in test)
    columns = ((f"`{each['name']}` {each['data_type']}", each["description"]) for each in model["columns"])
    key = ", ".join(f"`{column}`" for column in grain)
    return (
        "\n\n".join((f"# {model['name']}", _text(model["description"]), f"Its key: {key}.", _explained(columns))) + "\n"
    )


def _explained(terms: Iterable[tuple[str, str]]) -> str:
    """Returns a list of terms, Markdown, each with a text that explains it; a narrow screen shows it whole."""
    return "\n\n".join(f"{term}\n: {_text(text)}" for term, text in terms)


def _text(plain: str) -> str:
    """Returns a text as Markdown that shows it as it is, but for `code`; its paragraphs stay."""
    paragraphs = (" ".join(each.split()) for each in plain.split("\n\n"))
    return "\n\n".join(_SPECIAL.sub(lambda match: match[1] or f"\\{match[2]}", each) for each in paragraphs)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
