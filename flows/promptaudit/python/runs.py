"""Runs audits from Python: the command line's own commands make the runs, and the published copy gives the frames."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from promptaudit.python.bars import Bars, environment
from promptaudit.registry import errors
from promptaudit.registry.errors import PromptauditError, UsageError, nearest
from promptaudit.system.settings import settings_of
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.run_names import resolve

if TYPE_CHECKING:
    import polars as pl

FILE = "audit.duckdb"
OTHERS = "its rows are of two runs; ask by `Audits.sql`"
INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run.

    Attributes:
        audit_run_id: its id.
        audit_id: the id of its audit.
        warehouse: the DuckDB file it lies in.
        is_derived: whether its marts are derived. A run that was only asked is derived, sealed and published when its tables
            or page are first wanted.
        is_quiet: whether nothing is printed while it is derived.
    """

    audit_run_id: str
    audit_id: str
    warehouse: Path
    is_derived: bool = field(default=True, compare=False)
    is_quiet: bool = field(default=False, compare=False)

    @property
    def scorecard(self) -> pl.DataFrame:
        """Reads each measure with its bounds, one row for each model, task and strategy."""
        return self.table("rpt_audit")

    def table(self, name: str) -> pl.DataFrame:
        """Reads this run's rows of a mart, in the mart's columns and types.

        Raises:
            UsageError: no such mart, or one whose rows are not of one run.
            WarehouseError: nothing is published.
        """
        self._publish()
        published = Warehouse(self.warehouse).published
        columns = published.read(
            "select table_name, bool_or(column_name = 'audit_run_id') as is_of_a_run from information_schema.columns "
            "where table_schema = 'marts' group by table_name"
        )
        known = {row["table_name"]: row["is_of_a_run"] for row in columns}
        if not known.get(name, False):
            why = f"{name}: {OTHERS}" if name in known else f"no mart {name!r}{nearest(name, known)}"
            raise UsageError(why)
        return published.frame(f'select * from marts."{name}" where audit_run_id = $run', run=self.audit_run_id)  # noqa: S608 - a known name

    def report(self) -> Path:
        """Finds the run's page and gives its path."""
        self._publish()
        return Warehouse(self.warehouse).places.report(self.audit_run_id)

    @property
    def is_open(self) -> bool:
        """Checks whether the run was only asked, and not derived since.

        Raises:
            WarehouseLocked: another process writes to the warehouse.
        """
        if self.is_derived:  # readers of what is published wait for nobody
            return False
        with Warehouse(self.warehouse).inspect() as con:
            state = con.execute(
                "select state from raw.audit_runs where audit_run_id = ?", [self.audit_run_id]
            ).fetchall()
        return state == [("running",)]

    def _publish(self) -> None:
        if self.is_open:
            shared = [f"--warehouse={self.warehouse}", "--json", *(["--quiet"] if self.is_quiet else [])]
            _command([*shared, "rebuild", self.audit_run_id])


@dataclass(frozen=True)
class Audits:
    """The published runs of a warehouse. `warehouse` is its DuckDB file."""

    warehouse: Path

    @property
    def runs(self) -> pl.DataFrame:
        """Lists the published runs, newest first, as `dim_audit_runs` has them."""
        return Warehouse(self.warehouse).published.frame("select * from marts.dim_audit_runs order by run_index desc")

    def latest(self, audit: str | None = None) -> Run:
        """Finds the newest complete run, of one audit or of any.

        Raises:
            UsageError: no such audit.
            DataError: no complete run.
        """
        return self.run("latest" if audit is None else audit)

    def run(self, name: str) -> Run:
        """Finds the complete run of a name as the command line takes it: an id, latest~1, an audit, a baseline."""
        found = resolve(Warehouse(self.warehouse), name)
        return Run(audit_run_id=found.audit_run_id, audit_id=found.audit_id, warehouse=self.warehouse)

    def sql(self, query: str) -> pl.DataFrame:
        """Answers a query as `promptaudit sql` does; it reads the published copy or the lake, and nothing else.

        The query runs in a process of its own, which ends when `PROMPTAUDIT_SQL_SECONDS` are over.
        """
        import polars as pl

        asked = subprocess.run(  # noqa: S603 - this interpreter, and a path
            [sys.executable, "-P", "-m", "promptaudit.query.sql", str(self.warehouse)],
            input=query.encode(errors="backslashreplace"),
            capture_output=True,
            start_new_session=True,
            check=False,
        )
        if asked.returncode:
            raise _error(asked.stderr.decode(errors="replace").strip().rpartition("\n")[2])
        return pl.read_ipc(asked.stdout)


def open(warehouse: str | Path = "warehouse") -> Audits:  # noqa: A001 - pa.open
    """Opens the published runs of a warehouse, named by its DuckDB file or by the folder that has `audit.duckdb`."""
    path = Path(warehouse)
    return Audits(path / FILE if path.is_dir() else path)


def run(  # noqa: PLR0913 - one option of the command each
    audit: str = "quickstart",
    *,
    warehouse: str | Path | None = None,
    registry: Sequence[str | Path] = (),
    new: bool = False,
    rephrase: bool = False,
    prompts: str | Path | None = None,
    max_usd: float | None = None,
    max_requests: int | None = None,
    askers: int | None = None,
    quiet: bool = False,
) -> Run:
    """Runs an audit, continues its unfinished run, or returns the last run if that is complete, as `promptaudit run` does.

    It runs in a process of its own, so that it works in a notebook; its messages go to stderr. Ctrl-C ends it in good order,
    and the same call goes on where it stopped.

    Raises:
        PromptauditError: the error of the command, with its message and of the class that the message names.
        KeyboardInterrupt: the run was interrupted; answers that had landed are kept.
    """
    options = {"prompts": prompts, "max-usd": max_usd, "max-requests": max_requests, "askers": askers}
    flags = {"new": new, "rephrase": rephrase}
    line = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return made(
        ["run", *line, *(f"--{name}" for name, is_set in flags.items() if is_set), "--", audit],
        warehouse,
        registry,
        quiet=quiet,
    )


def import_answers(  # noqa: PLR0913 - one option of the command each
    answers: Any,  # noqa: ANN401 - whatever holds a table
    *,
    labels: Sequence[str] | None = None,
    level: str | None = None,
    task: str | None = None,
    strategy: str | None = None,
    audit: str = "imported",
    reader: str | None = None,
    policy: str | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    warehouse: str | Path | None = None,
    registry: Sequence[str | Path] = (),
    quiet: bool = False,
) -> Run:
    """Imports recorded answers as a run and derives its figures, as `promptaudit import` does.

    Args:
        answers: a frame with the columns of a recorded-predictions file: `model`, `sample_id`, `completion`, and where they
            apply `task`, `strategy`, `variant_index`, `is_original`, `instruction`, `paraphrase_temperature`, `repetition`,
            `gold_label`, `input`, `choices`.
        labels: the label set in order; default: the card's, else the gold labels or the letters of options, where there are some.
        level: nominal, ordinal or interval; default: the card's, else nominal.
        task: a task card, or a name for the task of answers without one.
        strategy: the strategy of answers without one; default: simple.
        audit: the name of the audit. The same answers and options again do nothing.
        reader: exact, label, label_in_text or first_integer; default: the card's, else label.
        policy: warn (the default) or fail, where answers do not keep their format.
        resamples: number of resamples for each interval; default: 1000.
        seed: of the resamples.
        warehouse: the DuckDB file; default: as for the commands.
        registry: folders of cards, beside those that ship.
        quiet: whether nothing is printed about the progress.

    Raises:
        PromptauditError: the error of the command, with its message and of the class that the message names.
    """
    from promptaudit.python.answers import frame

    options = {
        "labels": None if labels is None else json.dumps([str(label) for label in labels]),
        "level": level,
        "task": task,
        "strategy": strategy,
        "audit": audit,
        "reader": reader,
        "policy": policy,
        "resamples": resamples,
        "seed": seed,
    }
    line = [f"--{name}={value}" for name, value in options.items() if value is not None]
    with tempfile.TemporaryDirectory(prefix="promptaudit-") as folder:
        file = Path(folder) / "answers.parquet"
        frame(answers).write_parquet(file)
        return made(["import", *line, "--", str(file)], warehouse, registry, quiet=quiet)


def made(
    line: list[str],
    warehouse: str | Path | None,
    registry: Sequence[str | Path],
    *,
    quiet: bool,
    variables: Mapping[str, str] = MappingProxyType({}),
    until: Callable[[Callable[[], None]], None] = lambda _: None,
) -> Run:
    """Starts a command and gives the run that it makes or finds.

    `variables` are set only in its environment. `until` receives a function that interrupts it. Raises as `run` does.
    """
    shared = [] if warehouse is None else [f"--warehouse={warehouse}"]
    shared += [f"--registry={folder}" for folder in registry]
    done = _command([*shared, "--json", *(["--quiet"] if quiet else []), *line], variables, until)
    file = settings_of(None if warehouse is None else Path(warehouse)).warehouse
    return Run(
        audit_run_id=done["audit_run_id"],
        audit_id=done["audit_id"],
        warehouse=file,
        is_derived=done.get("is_derived", True),
        is_quiet=quiet,
    )


def _command(
    line: list[str],
    variables: Mapping[str, str] = MappingProxyType({}),
    until: Callable[[Callable[[], None]], None] = lambda _: None,
) -> dict[str, Any]:
    # the command's `--json` is the result; its other lines go to stderr, and the last one names its error
    said = ""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as result,
        subprocess.Popen(  # noqa: S603 - this interpreter, and the values of options
            [sys.executable, "-P", "-m", "promptaudit.cli", *line],
            stdin=subprocess.DEVNULL,
            stdout=result,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            env={**os.environ, **environment(), **variables},
        ) as process,
    ):
        until(partial(process.send_signal, signal.SIGINT))
        with Bars() as bars:
            try:
                for text in process.stderr or ():
                    said = text if bars.take(text) else said
                process.wait()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                for text in process.stderr or ():
                    bars.take(text)
                process.wait()
                raise
        if process.returncode == 0:
            result.seek(0)
            # functions of the user's own may print before: the result is the last line
            found: dict[str, Any] = json.loads(result.read().splitlines()[-1])
            return found
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt(said.strip())
    raise _error(said)


def _error(line: str) -> PromptauditError:
    kind, _, message = line.partition(": ")
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, PromptauditError) and found is not errors.SeveralErrors:
        return found(message)
    return PromptauditError(line)
