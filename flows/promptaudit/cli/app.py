"""Holds what the commands share: the Typer app, the options all of them take, how a result is shown."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptaudit.cli.command_groups import CommandGroups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, RenderableType

    from promptaudit.registry.registry import Registry
    from promptaudit.system.display.progress import Progress
    from promptaudit.system.settings import Settings
    from promptaudit.warehouse import Warehouse

DEFAULT_AUDIT = "quickstart"
WIDTH = 80  # columns if stdout is no terminal

app = typer.Typer(
    name="promptaudit",
    cls=CommandGroups,
    help="promptaudit measures every night how much a language model's answers depend on how it is asked.\n\n"
    "`promptaudit COMMAND --help` says what a command does and lists its options.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done, 1 gate failed, 2 usage or card error, 3 could not measure, 4 budget reached, 130 interrupted.",
)

MaxUsd = Annotated[float | None, typer.Option(min=0, help="Stop the run before it spends more than this.")]
MaxRequests = Annotated[int | None, typer.Option(min=0, help="Stop the run before it makes more requests than this.")]
AuditName = Annotated[str, typer.Argument(help="Name the card of an audit.")]
RunName = Annotated[
    str, typer.Argument(help="Name a run: by its id, as latest or latest~1, or by its audit or baseline.")
]
NewestRun = Annotated[
    str | None,
    typer.Argument(help="Name a run by its id, as latest or latest~1, or by its audit; the default is the newest."),
]
ModelOption = Annotated[str | None, typer.Option(help="Take this model alone; the default is every model.")]
TaskOption = Annotated[str | None, typer.Option(help="Take this task alone; the default is every task.")]
StrategyOption = Annotated[str | None, typer.Option(help="Take this strategy alone; the default is every strategy.")]


@dataclass(slots=True)
class State:
    """Holds the options that all commands share."""

    warehouse: Path | None = None
    registry: tuple[Path, ...] = ()
    as_json: bool = False
    quiet: bool = False
    debug: bool = False
    command: str | None = None
    options: str = ""  # of the cards' folders and the warehouse's file, put at the end of a proposed command

    def settings(self, **given: float | None) -> Settings:
        """Reads the settings: the command's options go before the environment."""
        from promptaudit.system.settings import settings_of

        return settings_of(self.warehouse, self.registry, **given)

    def load(self, **given: float | None) -> tuple[Settings, Registry]:
        """Reads the settings and loads the registry that they name."""
        from promptaudit.system.settings import registry_of

        settings = self.settings(**given)
        return settings, registry_of(settings)

    def text(self, given: str | None) -> str | None:
        """Decides how much of texts is shown: by an option, else by the setting of the place; None is the default."""
        return given or self.settings().text

    def progress(self) -> Progress:
        """Makes the progress that says what goes on."""
        from promptaudit.system.display.progress import Progress

        return Progress(quiet=self.quiet, may_ask=not self.as_json)


state = State()


def show(result: object, parts: Iterable[RenderableType] = (), width: int = WIDTH) -> None:
    """Writes a result to stdout: as JSON when that is asked for, else as lines, and tables as wide as the terminal.

    Without a terminal, tables are `width` columns wide.
    """
    is_screen = sys.stdout.isatty()
    if state.as_json:
        from promptaudit.system.display.encode import encoded

        sys.stdout.write(json.dumps(encoded(result), ensure_ascii=is_screen) + "\n")
        return
    from promptaudit.system.display.progress import visible

    for part in parts:
        if isinstance(part, str):
            sys.stdout.write((visible(part) if is_screen else part) + "\n")
        else:
            console(width).print(part)


def console(width: int = WIDTH) -> Console:
    """Makes a console on stdout, as wide as the terminal, or `width` columns without one."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else width)


def show_closing(warehouse: Warehouse, audit_run_id: str) -> None:
    """Writes what is worst of a published run, an example and the next command; nothing if JSON is asked for."""
    if state.as_json:
        return
    from promptaudit.report.summary import summary_of
    from promptaudit.report.terminal.closing import closing_lines

    summary = summary_of(warehouse, audit_run_id, state.settings().text)
    show({}, closing_lines(summary, console().width, state.options))


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        sys.stdout.write(f"promptaudit {version('promptaudit')}\n")
        raise typer.Exit


def _typed_places(context: typer.Context) -> str:
    # the options for the warehouse and the cards that were typed and can be printed unchanged
    source = context.get_parameter_source("warehouse")
    is_typed = source is not None and source.name == "COMMANDLINE"
    places = [("--warehouse", state.warehouse)] if is_typed else []
    places += [("--registry", folder) for folder in state.registry]
    return "".join(f" {option} {shlex.quote(str(place))}" for option, place in places if str(place).isprintable())


@app.callback()
def shared(
    context: typer.Context,
    warehouse: Annotated[
        Path | None,
        typer.Option(
            envvar="PROMPTAUDIT_WAREHOUSE",
            help="Keep the runs in this DuckDB file, or read them there; the default is warehouse/audit.duckdb.",
        ),
    ] = None,
    registry: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER", help="Add the cards of this folder to those that ship; the option may be repeated."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", envvar="PROMPTAUDIT_JSON", help="Write the result to stdout as JSON.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", envvar="PROMPTAUDIT_QUIET", help="Print the result without progress.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="PROMPTAUDIT_DEBUG", help="Show the traceback of an error.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options shared by all commands, accepted before or after the command."""
    state.warehouse, state.registry = warehouse, tuple(registry or ())
    state.as_json, state.quiet, state.debug = as_json, quiet, debug
    state.command = context.invoked_subcommand
    state.options = _typed_places(context)
