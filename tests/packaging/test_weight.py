"""The code has a ceiling in every room. `python -m tests.packaging.test_weight` prints the tables of today, to paste here."""

from __future__ import annotations

import ast
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.main import get_command

from promptaudit.cli import app
from promptaudit.registry.cards import Card
from promptaudit.report.contents import SECTIONS
from tests.support.files import tracked

ROOT = Path(__file__).parents[2]

# Room: the most lines of code and the most files. Aims in lines: flows 34700 (report 5700, engines 3800, exchange 3900, ask 3100,
# prompts 1800, cards 2000, gate 1700, plan 1250, warehouse 1500, any other below 1500), registry 3500, udfs 9000,
# SQL 12700, YAML 8900, tests 44000
#
# Raised since it was first set: SQL dbt/models and macros, udfs, marts, audit and YAML dbt for `try_` functions and
# rpt_not_derived, by which no group takes others with it; report for what breaks, the largest of many and what a cell is
# of; SQL dbt/macros for `rules_of_figures`, which follow from `meta` and stood one by one in YAML; udfs/differences and
# nights, SQL dbt/models and flows, gate for the error of alike nights, by which two runs are judged too,
# nights that wait, gold labels as streams, samples that are lost, gates that say `same` or `no worse`, and what could not be
# tested; nightly and cli, one command and its options for `rehearse` (page: guide/nights.md; readers: who is on call, and
# a smoke test of the alarm); query/history for the band of normal nights; marts/comparison for the decision in a sentence; then
# for two strategies that are compared, a trend of stability with temperature, one budget over audits and a wording that breaks
# as a stream of its own; gate, cli and nightly for gates within a run and `compare --no-worse` (page: guide/nights.md;
# reader: who signs a model); udfs/readers for one core of what a text commits to, with its phrases of thirty languages;
# exchange/recorded_runs for what a sample and a cell are, however a file says it (spellings, lists, places, names, tables of
# lists, oaieval) and for the scale of scores; engines for the scope of a failure; query/diagnosis for readers that
# differ. What the papers ask besides: agreement over answers, PSS in single figures, whether rewordings ask the same (a card's
# field, `annotate --wordings`; page: guide/measures.md), the majority's vote (`choose`), judges of pairs (a card's field, a
# mart and a section; page: guide/scoring.md); readers: who writes rewordings, and who picks a prompt or a model. Packed files,
# spreadsheets and Label Studio in registry and exchange/recorded_runs, and `run --again-errors` (page: guide/models.md;
# reader: who mends an account); `import --scale` (page: examples/from_other_programs.md; reader: who has grades of 1 to 10);
# infra for bench/same_figures, behind which whatever only moves, merges or deletes lands. cards for `init`, which renews the
# schemas that the command `schema` printed (cli is lighter by more); marts, and a file of SQL dbt/macros, for `ref` and `source`
# of dbt's own and models that other projects put hooks on; python for a chart of the page's in the place of altair's;
# ask for interrupts, each of which is heard whenever it comes. system for the one printer of results, by which nine rooms are
# lighter; page for the fold of all figures; engines, for logins in addresses that no process is given; udfs/readers for an
# object without the field; gate for the runbook that a message names. nightly, with a line each of cli and
# system, for waiting: who holds a limit is said, and what a restarted server forgot keeps no night;
# lineage for the columns of files; for a pull request `compare --markdown` (page: guide/commands.md; reader: who reviews it) and
# `try --on all` in report, trial, SQL flows, gate and marts; system, warehouse and marts for a child's error on a full disk; YAML
# models_registry and engines for a first audit that teaches. prompts for rules in German, French and Spanish, and cards
# for a language that no rules know (page: guide/prompts.md; reader: who prompts in another language than English). cards, cli,
# system and five options for `init` as a conversation: kinds of task, ids, words that are no labels, two audits in a folder
# (page: guide/prompts.md; reader: who comes with a file); registry and ask for judges that need no right answer (page:
# guide/scoring.md).
# marts, report, audit, evidence and warehouse, and a raw table, for the journal of publications, the check of every block, and
# what `verify` says restores (page: guide/evidence.md; readers: who is on call, and a reviewer).
# marts, evidence, a field or a line each of six more and an option for signed seals (page: guide/evidence.md; reader: a
# reviewer who does not trust whoever can write the warehouse).
# SQL, YAML dbt and system for `run_index` and one clock, by which no order goes by a clock that was ahead, and no state of a
# later run that an earlier build left; gate and report, too, where a pin, a waiver, an alarm or a comparison went by the clock.
# evidence, report and warehouse, by some lines, for pages that are held against the copy where the warehouse cannot be read, and
# for the sentence on a copy that lacks a table. udfs/differences, so that the order of answers moves no wording's chance.
# ask and system for the drafts that a killed lander left. marts, evidence and a line of SQL for the hash of each Parquet file,
# whose metadata hides rows from a filter when a bit of it flips; cards for labels that are given and stand for the data's, and
# for numbers that the prompt does not explain.
# SQL, YAML dbt and exchange for people's rulings on samples without a key (page: guide/scoring.md); nightly for limits of 0
# (page: guide/nights.md; reader: who stops nights), audit for an erasure whose end another spelling is, evidence for a warehouse
# that is gone; cards, registry, cli and an option for `init --judge` and gold labels that are an option's text (page:
# guide/prompts.md; reader: who comes with a file).
# report, its page, and some lines of gate, cli, nightly, audit and warehouse, for runbooks as pages to which messages link, and
# for places that a killed night held, deployments without a limit and automations that stay (readers: who is on call). marts for
# hashes that are forgotten, evidence for a retired run's file, cards and registry for the starter's data that nobody uses and a
# folder in the place of a file.
# Tests: what they test shrank by 1,400 lines, and twelve old faults that were put back went unnoticed.
MOST = {
    "SQL dbt/analyses": (795, 21),
    "SQL dbt/data-tests": (258, 16),
    "SQL dbt/macros": (556, 38),
    "SQL dbt/models": (10746, 154),
    "SQL flows": (4153, 191),
    "YAML dbt": (9843, 157),
    "YAML models_registry": (1751, 85),
    "ask": (3277, 32),
    "audit": (1752, 15),
    "cards": (3053, 27),
    "cli": (1426, 10),
    "engines": (4007, 64),
    "evidence": (1849, 19),
    "exchange": (4969, 41),
    "flows/promptaudit": (48, 1),
    "gate": (2068, 17),
    "infra": (553, 6),
    "lineage": (911, 13),
    "marts": (1675, 21),
    "nightly": (1683, 13),
    "page flows": (1255, 15),
    "plan": (1617, 13),
    "prompts": (2741, 34),
    "python": (883, 7),
    "query": (1963, 24),
    "registry": (4336, 36),
    "report": (7991, 64),
    "system": (1992, 30),
    "trial": (1011, 10),
    "udfs": (1159, 17),
    "udfs/designs": (202, 5),
    "udfs/differences": (1401, 17),
    "udfs/measures": (2016, 24),
    "udfs/nights": (525, 5),
    "udfs/raters": (121, 3),
    "udfs/readers": (2016, 15),
    "udfs/scoring": (1744, 18),
    "udfs/stability": (1107, 10),
    "udfs/templates": (458, 5),
    "warehouse": (1869, 19),
}
MOST_COUNTED = {
    "fields of cards": 233,
    "commands": 28,
    "options and arguments of commands": 161,
    "marts": 61,
    "sections of the page": 33,
}
MOST_TESTS = 0.98

ADVICE = "raise the number in this table in the same commit, with a word why, or take something away"
# by a file's ending: the name of its rooms, how many folders deep a room lies, and what is a comment
ENDINGS = {
    ".py": ("", {"flows": 3, "infra": 1, "tests": 1}, r"^\s*#.*?$"),
    ".sql": ("SQL ", {"flows": 1, "dbt": 2}, r"\{#.*?#\}|^\s*--.*?$"),
    ".yml": ("YAML ", {"dbt": 1, "models_registry": 1}, r"^\s*#.*?$"),
    ".js": ("page ", {"flows": 1}, r"/\*.*?\*/|^\s*//.*?$"),
    ".css": ("page ", {"flows": 1}, r"/\*.*?\*/"),
    ".j2": ("page ", {"flows": 1}, r"\{#.*?#\}|<!--.*?-->"),
}


def docstrings(body: Sequence[ast.AST]) -> Iterator[ast.Expr]:
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())):
                yield statement
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from docstrings(getattr(statement, part, ()))


def lines_of_code(text: str, ending: str) -> int:
    """Counts lines that hold code: none that is blank, a comment or part of a docstring."""
    if ending == ".py":
        lines = text.splitlines()
        for found in docstrings(ast.parse(text).body):
            lines[found.lineno - 1 : found.end_lineno] = [""] * len(lines[found.lineno - 1 : found.end_lineno])
        text = "\n".join(lines)
    _, _, comment = ENDINGS[ending]
    return sum(bool(line.strip()) for line in re.sub(comment, "", text, flags=re.DOTALL | re.MULTILINE).splitlines())


def weights() -> dict[str, tuple[int, int]]:
    """Returns the lines of code and the files of each room; `tests` is one."""
    lines, files = Counter[str](), Counter[str]()
    for path in tracked(ROOT):
        name, depths, _ = ENDINGS.get(path.suffix, ("", {}, ""))
        folders = path.relative_to(ROOT).parts[:-1]
        if depth := depths.get(folders[0] if folders else ""):
            depth += folders[2:3] == ("udfs",)  # whose folders are rooms
            room = name + "/".join(folders[:depth]).removeprefix("flows/promptaudit/")
            lines[room] += lines_of_code(path.read_text(encoding="utf-8"), path.suffix)
            files[room] += 1
    return {room: (lines[room], files[room]) for room in sorted(files)}


def split(held: dict[str, tuple[int, int]]) -> tuple[dict[str, tuple[int, int]], float]:
    """Returns the rooms without the tests, and the lines of tests for each line of Python that they test."""
    rooms = {room: weight for room, weight in held.items() if room != "tests"}
    return rooms, held["tests"][0] / sum(lines for room, (lines, _) in rooms.items() if " " not in room)


def kinds(card: type[Card]) -> Iterator[type[Card]]:
    for kind in card.__subclasses__():
        yield kind
        yield from kinds(kind)


def counts() -> dict[str, int]:
    commands = get_command(app).commands.values()  # type: ignore[attr-defined]
    return {
        "fields of cards": sum(
            len(card.model_fields) for card in kinds(Card) if card.__module__.startswith("promptaudit.")
        ),
        "commands": len(commands),
        "options and arguments of commands": sum(len(command.params) for command in commands),
        "marts": len(list((ROOT / "dbt/models/marts").rglob("*.sql"))),
        "sections of the page": len(SECTIONS),
    }


def test_no_room_and_no_tests_weigh_more_than_their_ceiling() -> None:
    rooms, ratio = split(weights())
    over = [
        f"{room}: {lines} lines of code in {files} files; the ceiling is {most[0]} in {most[1]}"
        for room, (lines, files) in rooms.items()
        if lines > (most := MOST.get(room, (0, 0)))[0] or files > most[1]
    ]
    over += [f"tests: {ratio:.3f} lines for each that they test; the ceiling is {MOST_TESTS}"] * (ratio > MOST_TESTS)
    assert not over, "\n".join([*over, ADVICE])
    assert not MOST.keys() - rooms.keys(), "a room that is gone leaves this table"


def test_one_in_one_out() -> None:
    over = [
        f"{name}: {n}; the ceiling is {MOST_COUNTED[name]}" for name, n in counts().items() if n > MOST_COUNTED[name]
    ]
    assert not over, "\n".join([*over, ADVICE])


@pytest.mark.parametrize(
    ("ending", "text", "lines"),
    [
        (
            ".py",
            '"""Doc\n\n# more"""\n\nA = 1  # one\n"""A."""\ndef f():\n    """F."""\n    # why\n    return "x"\n',
            3,
        ),
        (".sql", "{# a\nb #}\n-- c\nselect 1 -- one\n\nfrom t\n", 2),
        (".yml", "# a\na: 1 # one\n\n  # b\n", 1),
        (".js", "// a\nlet a; // one\n/* b\nc */\n", 1),
        (".css", "/* a */\nb { c: d }\n", 1),
        (".j2", "{# a #}\n<!-- b\n-->\n<p>c</p>\n", 1),
    ],
)
def test_blanks_comments_and_docstrings_are_no_code(ending: str, text: str, lines: int) -> None:
    assert lines_of_code(text, ending) == lines


if __name__ == "__main__":
    rooms, ratio = split(weights())
    tables = ("MOST", rooms.items()), ("MOST_COUNTED", counts().items())
    for name, rows in tables:
        sys.stdout.writelines([f"{name} = {{\n", *(f'    "{row}": {most},\n' for row, most in rows), "}\n"])
    sys.stdout.write(f"MOST_TESTS = {math.ceil(ratio * 100) / 100}\n")
