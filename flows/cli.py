"""The command line: each command is one call. Heavy libraries are imported inside commands, so that --help is instant."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from models_registry.errors import PromptauditError, UsageError, nearest

if TYPE_CHECKING:
    from flows.progress import Progress
    from flows.settings import Settings
    from models_registry.registry import Registry

INTERRUPTED = 130
SHARED_VALUES = ("--warehouse", "--registry")  # accepted before or after the command
SHARED_FLAGS = ("--json", "--quiet", "--debug")
DEFAULT_AUDIT = "quickstart"

app = typer.Typer(
    name="promptaudit",
    help="Nightly audits of how much a language model's answers depend on how it is asked.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done, 1 gate failed, 2 usage or card error, 3 could not measure, 4 budget reached, 130 interrupted.",
)

AuditName = Annotated[str, typer.Argument(help="An audit card.", envvar="PROMPTAUDIT_AUDIT")]


@dataclass(slots=True)
class State:
    """Options shared by all commands."""

    warehouse: Path | None = None
    registry: tuple[Path, ...] = ()
    as_json: bool = False
    quiet: bool = False
    debug: bool = False

    def settings(self) -> Settings:
        """The options over the environment."""
        from pydantic import ValidationError

        from flows.settings import Settings

        given: dict[str, Any] = {}
        if self.warehouse is not None:
            given["warehouse"] = self.warehouse
        try:
            settings = Settings(**given)
        except ValidationError as error:
            first = error.errors()[0]
            msg = f"PROMPTAUDIT_{'_'.join(str(part) for part in first['loc']).upper()}: {first['msg']}"
            raise UsageError(msg) from None
        except ValueError as error:  # a list that is no JSON
            raise UsageError(str(error)) from None
        return settings.model_copy(update={"registry": (*settings.registry, *self.registry)})

    def load(self) -> tuple[Settings, Registry]:
        """Settings and the registry they name; ./registry counts when it is there."""
        from models_registry.registry import load_registry

        settings = self.settings()
        here = Path("registry")
        own = [here] if here.is_dir() and here not in settings.registry else []
        return settings, load_registry([*own, *settings.registry])

    def progress(self) -> Progress:
        """Where to say what goes on."""
        from flows.progress import Progress

        return Progress(quiet=self.quiet, may_ask=not self.as_json)


state = State()


def show(result: dict[str, Any] | list[Any], text: str | None = None) -> None:
    """The result on stdout: as JSON when asked for, else as text."""
    if state.as_json:
        sys.stdout.write(json.dumps(result, ensure_ascii=False, default=str) + "\n")
    elif text is not None:
        sys.stdout.write(text + "\n")


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        sys.stdout.write(f"promptaudit {version('promptaudit')}\n")
        raise typer.Exit


@app.callback()
def shared(
    warehouse: Annotated[Path | None, typer.Option(envvar="PROMPTAUDIT_WAREHOUSE", help="The DuckDB file.")] = None,
    registry: Annotated[list[Path] | None, typer.Option(help="A folder of cards beside the shipped ones.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", envvar="PROMPTAUDIT_JSON", help="Machine-readable result.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", envvar="PROMPTAUDIT_QUIET", help="Say nothing but results.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="PROMPTAUDIT_DEBUG", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options shared by all commands, accepted before or after the command."""
    state.warehouse, state.registry = warehouse, tuple(registry or ())
    state.as_json, state.quiet, state.debug = as_json, quiet, debug


@app.command()
def run(
    audit: AuditName = DEFAULT_AUDIT,
    new: Annotated[bool, typer.Option("--new", envvar="PROMPTAUDIT_NEW", help="Ask everything again.")] = False,
    rephrase: Annotated[
        bool,
        typer.Option("--rephrase", envvar="PROMPTAUDIT_REPHRASE", help="Make the prompt variants again, in a new run."),
    ] = False,
    prompts: Annotated[
        Path | None, typer.Option(envvar="PROMPTAUDIT_PROMPTS", help="Prompt variants that a person edited.")
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option(min=0, envvar="PROMPTAUDIT_MAX_USD", help="Stop before more is spent.")
    ] = None,
    max_requests: Annotated[
        int | None, typer.Option(min=0, envvar="PROMPTAUDIT_MAX_REQUESTS", help="Stop before more is asked.")
    ] = None,
) -> None:
    """Run an audit: from its cards to published marts, scorecard and report."""
    from flows.running import run_audit

    settings, registry = state.load()
    done = run_audit(
        settings, registry, audit, state.progress(),
        new=new, rephrase=rephrase, prompts=prompts, max_usd=max_usd, max_requests=max_requests,
    )  # fmt: skip
    _close(settings.warehouse, done)


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(help="Recorded predictions: Parquet, CSV or JSONL.")],
    labels: Annotated[
        str | None,
        typer.Option(envvar="PROMPTAUDIT_LABELS", help="The labels in order: a,b,c (or a JSON list)."),
    ] = None,
    level: Annotated[str | None, typer.Option(envvar="PROMPTAUDIT_LEVEL", help="nominal, ordinal or interval.")] = None,
    task: Annotated[
        str | None, typer.Option(envvar="PROMPTAUDIT_TASK", help="A task card, or a name for the task.")
    ] = None,
    strategy: Annotated[
        str, typer.Option(envvar="PROMPTAUDIT_STRATEGY", help="The strategy of rows without one.")
    ] = "simple",
    audit: Annotated[
        str | None, typer.Option(envvar="PROMPTAUDIT_AUDIT", help="The audit's name; default: the file's.")
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(envvar="PROMPTAUDIT_READER", help="exact, first_integer or label_in_text; default: the card's."),
    ] = None,
    policy: Annotated[str, typer.Option(envvar="PROMPTAUDIT_POLICY", help="warn, quarantine or fail.")] = "warn",
    resamples: Annotated[
        int, typer.Option(min=0, max=100_000, envvar="PROMPTAUDIT_RESAMPLES", help="Resamples an interval.")
    ] = 1000,
    seed: Annotated[int, typer.Option(envvar="PROMPTAUDIT_SEED", help="Seed of the resamples.")] = 20250601,
) -> None:
    """Take recorded predictions in as a run; then validate, transform, publish and report."""
    from flows.importing import options_of
    from flows.running import run_import

    settings, registry = state.load()
    options = options_of(
        labels=labels, level=level, task=task, strategy=strategy, audit=audit, reader=reader, policy=policy,
        resamples=resamples, seed=seed,
    )  # fmt: skip
    _close(settings.warehouse, run_import(settings, registry, files, options, state.progress()))


def _close(warehouse: Path, done: Any) -> None:  # noqa: ANN401 - flows.running.Done, imported late
    """The closing scorecard and the paths of what was written."""
    from flows.report import comparison_rows
    from flows.report.scorecard import scorecard, scorecard_rows

    if state.as_json:
        run = done.audit_run_id
        figures = {"scorecard": scorecard_rows(warehouse, run), "rule_against_judge": comparison_rows(warehouse, run)}
        show({**done.as_dict(), **figures})
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 130)
    if done.is_published:
        console.print(scorecard(warehouse, done.audit_run_id))
    for line in done.lines():
        sys.stdout.write(line + "\n")


@app.command()
def plan(
    audit: AuditName = DEFAULT_AUDIT,
    export_prompts: Annotated[
        Path | None, typer.Option(help="Write the prompt variants to a CSV or JSONL file to edit.")
    ] = None,
) -> None:
    """Requests, tokens and USD of an audit, and of subsamples of it; calls nothing."""
    from flows.estimate import estimate_audit, render_estimate

    settings, registry = state.load()
    if export_prompts is not None:
        from flows.running import export_variants

        n = export_variants(settings, registry, audit, export_prompts, state.progress())
        show({"path": str(export_prompts), "n_variants": n}, f"{n} prompt variants in {export_prompts}")
        return
    estimate = estimate_audit(registry, audit)
    show(estimate, render_estimate(estimate))


@app.command()
def validate(audit: Annotated[str | None, typer.Argument(help="An audit card; default: every card.")] = None) -> None:
    """Check cards and the data they name."""
    from flows.checking import check_cards

    _, registry = state.load()
    found = check_cards(registry, audit)
    show(found, "\n".join([*found["notes"], found["summary"]]))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to put a folder of your own cards.")] = Path("registry"),
) -> None:
    """Scaffold a folder of your own cards: a model, a task with data, a rephraser and an audit."""
    from flows.scaffold import scaffold

    written = scaffold(folder)
    show(
        {"written": [str(path) for path in written]}, "\n".join([*(str(path) for path in written), _next_step(folder)])
    )


def _next_step(folder: Path) -> str:
    where = "" if folder == Path("registry") else f" --registry {folder}"
    return f"next: promptaudit run mine{where}"


@app.command()
def trust(
    folder: Annotated[Path, typer.Argument(help="A folder of cards.")] = Path("registry"),
    list_: Annotated[bool, typer.Option("--list", help="Show everything that is trusted instead.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Take the folder's trust back instead.")] = False,
) -> None:
    """Trust the hosts that a folder's model cards send keys to; asked for once, and again when a card changes them."""
    from flows.trusting import forget_folder, list_trusted, render_trust, trust_folder

    settings = state.settings()
    if list_ and forget:
        msg = "--list and --forget are two things; give one"
        raise UsageError(msg)
    act = forget_folder if forget else trust_folder
    done = list_trusted(settings) if list_ else act(settings, folder)
    show(done, render_trust(done))


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="One SQL query over the published copy.")],
    format_: Annotated[
        str, typer.Option("--format", envvar="PROMPTAUDIT_FORMAT", help="table, csv or json.")
    ] = "table",
) -> None:
    """Ask the published copy, closed in: no files, no network, limited memory and time."""
    from flows.asking import FORMATS, ask

    if format_ not in FORMATS:
        msg = f"--format {format_}{nearest(format_, FORMATS)}"
        raise UsageError(msg)
    settings = state.settings()
    ask(settings, query, "json" if state.as_json else format_, sys.stdout)


@app.command()
def report(audit_run_id: Annotated[str | None, typer.Argument(help="A run; default: the newest.")] = None) -> None:
    """Write report.html of a published run again."""
    from flows.report import report as write_report
    from flows.running import find_run

    settings = state.settings()
    path = write_report(settings.warehouse, find_run(settings.warehouse, audit_run_id))
    show({"report": str(path)}, str(path))


@app.command()
def rebuild(audit_run_id: Annotated[str | None, typer.Argument(help="A run; default: every run.")] = None) -> None:
    """Derive the marts again from what has landed, and publish."""
    from flows.running import rebuild_runs

    settings, _ = state.load()
    path = rebuild_runs(settings, audit_run_id, state.progress())
    show({"published": str(path)}, str(path))


@app.command()
def annotate(
    audit_run_id: Annotated[str | None, typer.Argument(help="A run; default: the newest.")] = None,
    sheet: Annotated[Path | None, typer.Option(help="Write a blinded sheet to fill in: a CSV file.")] = None,
    take: Annotated[Path | None, typer.Option(help="Take a filled-in sheet's rulings in as verdicts.")] = None,
    annotator: Annotated[
        str | None,
        typer.Option(envvar="PROMPTAUDIT_ANNOTATOR", help="--take: who ruled; or a column 'annotator' says it a row."),
    ] = None,
    answers: Annotated[int, typer.Option(min=1, envvar="PROMPTAUDIT_ANSWERS", help="--sheet: how many.")] = 100,
    seed: Annotated[int, typer.Option(envvar="PROMPTAUDIT_SEED", help="--sheet: seed of the sample.")] = 42,
    task: Annotated[
        str | None, typer.Option(envvar="PROMPTAUDIT_TASK", help="--sheet: answers to one task; default: to all.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="--sheet: write over a file that is there.")] = False,
) -> None:
    """Have people rule on answers, beside the judges: write a sheet, fill is_match in with yes or no, take it in.

    In a sheet, a cell that a spreadsheet would take for a formula begins with an apostrophe that is not part of the answer.
    """
    from flows.annotate import take_sheet
    from flows.sheets import write_sheet

    settings = state.settings()
    if sheet is not None and take is None:
        written = write_sheet(settings, audit_run_id, sheet, n=answers, seed=seed, task=task, force=force)
        show(written.as_dict(), "\n".join(written.lines()))
    elif take is not None and sheet is None:
        taken = take_sheet(settings, audit_run_id, take, annotator, state.progress())
        show(taken.as_dict(), "\n".join(taken.lines()))
    else:
        msg = "annotate writes a sheet or takes one in: give one of --sheet and --take"
        raise UsageError(msg)


# ---------------------------------------------------------------- entry
def main(arguments: list[str] | None = None) -> NoReturn:
    """The console script: runs a command and ends with its exit code; every error is one line."""
    given = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _interrupt)
    debug = "--debug" in given or os.environ.get("PROMPTAUDIT_DEBUG", "").lower() in (
        "1",
        "true",
        "yes",
        "on",
        "t",
        "y",
    )
    try:
        left = app(hoisted(given), standalone_mode=False, prog_name="promptaudit")
        if left == INTERRUPTED:  # what Typer makes of an interrupt
            raise KeyboardInterrupt  # noqa: TRY301 - said in one place
        code = left if isinstance(left, int) else 0
    except PromptauditError as error:
        code = _fail(str(error), error.exit_code, error, debug=debug)
    except KeyboardInterrupt:
        code = _fail("interrupted; what had landed is kept, run again to continue", INTERRUPTED, None, debug=debug)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # noqa: BLE001 - the last net: one line, a traceback only with --debug
        said = getattr(error, "format_message", None)
        if said is not None:
            code = _fail(f"UsageError: {said()}", 2, error, debug=debug)
        elif isinstance(error, OSError):
            code = _fail(
                f"{type(error).__name__}: {error.filename or ''}: {error.strerror or error}", 2, error, debug=debug
            )
        else:
            code = _fail(
                f"{type(error).__name__}: {error} (a defect: run with --debug and tell us)", 2, error, debug=debug
            )
    sys.stdout.flush()
    raise SystemExit(code)


def hoisted(arguments: list[str]) -> list[str]:
    """The arguments with the shared options moved before the command; what follows `--` stays."""
    shared_part: list[str] = []
    rest: list[str] = []
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if word == "--":
            rest += arguments[position:]
            break
        name = word.split("=", 1)[0]
        if word in SHARED_FLAGS or (name in SHARED_VALUES and "=" in word):
            shared_part.append(word)
        elif name in SHARED_VALUES:
            if position + 1 == len(arguments):
                msg = f"{name} needs a value"
                raise UsageError(msg)
            shared_part += arguments[position : position + 2]
            position += 1
        else:
            rest.append(word)
        position += 1
    return [*shared_part, *rest]


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _fail(line: str, code: int, error: BaseException | None, *, debug: bool) -> int:
    if debug and error is not None:
        import traceback

        traceback.print_exception(error)
    text = " ".join(line.split())
    sys.stderr.write("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text) + "\n")
    return code


if __name__ == "__main__":
    main()
