"""`--help` lists each command once, those of a first week first, and speaks in whole sentences."""

from __future__ import annotations

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from promptaudit.cli import app
from promptaudit.cli.command_groups import GROUPS

COMMANDS = get_command(app).commands
FITS = 66  # characters behind a name, where lines have 80


def is_sentence(text: str) -> bool:
    return text[0].isupper() and text[-1] == "." and "default:" not in text


def test_every_command_is_in_one_group() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)
    assert len(next(iter(GROUPS.values()))) == 10


def test_the_commands_come_first_each_with_a_sentence_on_its_line() -> None:
    lines = CliRunner().invoke(app, ["--help"], prog_name="promptaudit", env={"COLUMNS": "80"}).output.splitlines()
    first, options = lines.index("In a first week:"), lines.index("Options:")
    said = [line.split(maxsplit=1) for line in lines[first:options] if line.startswith("  ")]
    assert [name for name, _ in said] == [name for names in GROUPS.values() for name in names]
    assert [sentence for _, sentence in said if not is_sentence(sentence) or len(sentence) > FITS] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_takes_is_said_in_sentences(name: str) -> None:
    command = COMMANDS[name]
    assert is_sentence(command.help)
    assert [each.name for each in command.params if each.name != "help" and not is_sentence(each.help or "-")] == []


def test_the_shared_options_are_sentences() -> None:
    assert [each.name for each in get_command(app).params if not is_sentence(each.help or "-")] == []
