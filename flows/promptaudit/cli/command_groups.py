"""Lists the commands in `--help` by what they are for: the commands of a first week, then the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer import _click

GROUPS: Mapping[str, tuple[str, ...]] = {
    "In a first week": ("init", "plan", "run", "import", "view", "diagnose", "sql", "nightly", "compare", "check"),
    "Ask models and people": ("validate", "trust", "try", "annotate"),
    "Read results": ("report", "history", "export"),
    "Decide what to ship": ("choose", "accept", "pin"),
    "Prove a figure": ("trace", "verify", "cite"),
    "Keep nights and files": ("serve", "deploy", "rehearse", "rebuild", "erase"),
}
"""Lists every command once, in the order of `--help`."""
_MOST = 1000  # characters of a sentence, so that none is cut
_WIDTH = max(len(name) for names in GROUPS.values() for name in names)


class CommandGroups(TyperGroup):
    """Lists each command with the first sentence of its help, whole, and the shared options behind the commands."""

    def format_options(self, ctx: _click.Context, formatter: _click.HelpFormatter) -> None:
        """Writes a section for each group of commands, and one for the options."""
        for title, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:<{_WIDTH}}", command.get_short_help_str(_MOST)) for name, command in commands if command]
                )
        super().format_options(ctx, formatter)

    def format_commands(self, *_: object) -> None:
        """Writes nothing: Typer would list the commands again behind the options."""
