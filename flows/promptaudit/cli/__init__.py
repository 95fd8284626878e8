"""The command line: each command is one call.

Heavy libraries are imported inside commands, so that --help is instant.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from promptaudit.cli import cards, evidence, nights, questions, repairs, runs
from promptaudit.cli.app import app, state
from promptaudit.registry.errors import PromptauditError, UsageError
from promptaudit.system.garbage import collect_rarely
from promptaudit.system.library_lines import quiet_libraries

__all__ = ["app", "cards", "evidence", "main", "nights", "questions", "repairs", "runs"]

INTERRUPTED = 130
CONTINUED = {"run", "nightly", "serve", "import", "rebuild", "try", "compare", "annotate", "erase"}
"""Commands that land something, and go on with it when they are run again."""
_OPTION = re.compile(r"--[\w-]+(=|\Z)")
SHARED_VALUES = ("--warehouse", "--registry")  # accepted before or after the command
SHARED_FLAGS = ("--json", "--quiet", "--debug")
NEED_PANDAS = {
    "great_expectations",
    "datasets",
    "promptaudit.udfs.readers.own_code",
}  # the last one: the user's own code may need pandas


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs a command and ends with its exit code; every error is one line."""
    collect_rarely()
    words = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _interrupt)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # nohup has it ignored
        signal.signal(signal.SIGHUP, _interrupt)
    debug = "--debug" in words or os.environ.get("PROMPTAUDIT_DEBUG", "").lower() in (
        "1",
        "true",
        "yes",
        "on",
        "t",
        "y",
    )
    if not debug:
        quiet_libraries()
    try:
        with sparing_pandas():
            left = app(hoisted(words), standalone_mode=False, prog_name="promptaudit")
        if left == INTERRUPTED:  # what Typer makes of an interrupt
            raise KeyboardInterrupt  # noqa: TRY301 - handled in one place
        code = left if isinstance(left, int) else 0
    except PromptauditError as error:
        code = _fail(error.lines, error.exit_code, error, debug=debug)
    except KeyboardInterrupt:
        kept = "; what had landed is kept, run again to continue" if state.command in CONTINUED else ""
        code = _fail(f"interrupted{kept}", INTERRUPTED, None, debug=debug)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # noqa: BLE001 - the last net: one line, a traceback only with --debug
        code = _fail(_one_line(error), 2, error, debug=debug)
    with contextlib.suppress(OSError):  # the terminal may be gone
        sys.stdout.flush()
    raise SystemExit(code)


def hoisted(arguments: list[str]) -> list[str]:
    """Moves the shared options before the command; what follows `--` stays.

    A query that begins with a comment, which looks like an option, is put behind `--`.
    """
    shared_part: list[str] = []
    rest: list[str] = []
    texts: list[str] = []  # behind `--`
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if word == "--":
            texts += arguments[position + 1 :]
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
        elif rest[:1] == ["sql"] and word.startswith("--") and not _OPTION.match(word):
            texts.append(word)
        else:
            rest.append(word)
        position += 1
    return [*shared_part, *rest, *(["--", *texts] if texts else [])]


class _NoPandas:
    # Hides pandas until something is imported that needs it. Once a value is bound to a query, DuckDB imports pandas if
    # it is installed, to recognise pandas' missing values: 0.4 s of processor time. None of our values comes from
    # pandas.
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas" and not NEED_PANDAS & sys.modules.keys():
            msg = f"only what {' or '.join(sorted(NEED_PANDAS))} imports finds pandas here"
            raise ModuleNotFoundError(msg, name=fullname)


@contextlib.contextmanager
def sparing_pandas() -> Iterator[None]:
    """Hides pandas for the block from code that would import it without a need."""
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _one_line(error: Exception) -> str:
    # the error is a usage error of Typer, an error of the system, or a defect
    usage = getattr(error, "format_message", None)
    if usage is not None:
        return f"UsageError: {usage()}"
    name = type(error).__name__
    if isinstance(error, OSError):
        return f"{name}: {error.filename or ''}: {error.strerror or error}"
    return f"{name}: {error} (a defect: run with --debug and tell us)"


def _fail(message: str | Sequence[str], code: int, error: BaseException | None, *, debug: bool) -> int:
    if debug and error is not None:
        import traceback

        traceback.print_exception(error)
    for line in (message,) if isinstance(message, str) else message:
        text = " ".join(line.split())
        with contextlib.suppress(OSError):  # the terminal may be gone
            sys.stderr.write(
                "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text) + "\n"
            )
    return code
