"""Where a warehouse's files lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_NAME, PUBLISHED = "audit.duckdb", "published"


@dataclass(frozen=True)
class Places:
    """The files and folders of the warehouse that is called by `path`, which may be a link."""

    path: Path

    @property
    def file(self) -> Path:
        """Returns the DuckDB file itself, by whatever link it is reached."""
        return Path(os.path.realpath(self.path))

    def beside(self, ending: str) -> Path:
        """Returns the file of this ending that lies beside the DuckDB file: one, by whatever link it is reached."""
        return self.file.with_name(self.file.name + ending)

    @property
    def copy(self) -> Path:
        """Returns the published copy."""
        return self.path.parent / PUBLISHED / self.path.name

    @property
    def published(self) -> Path:
        """Returns the folder of reports, traces and Parquet marts."""
        return _own(self.path, PUBLISHED)

    @property
    def marts(self) -> Path:
        """Returns the folder of the marts as Parquet files."""
        return self.published / "marts"

    @property
    def newest_report(self) -> Path:
        """Returns the page of the run that was reported last."""
        return self.published / "report.html"

    @property
    def reports(self) -> Path:
        """Returns the folder of the pages that stay when another run is reported."""
        return self.published / "reports"

    def report(self, audit_run_id: str, part: int = 1) -> Path:
        """Returns where the page of a run lies, or a further page of it."""
        return self.reports / f"{audit_run_id if part == 1 else f'{audit_run_id}-{part}'}.html"

    def comparison(self, comparison_id: str) -> Path:
        """Returns where the page about a comparison lies."""
        return self.reports / f"comparison-{comparison_id[:12]}.html"

    def compared(self) -> dict[str, Path]:
        """Returns the pages about comparisons that are there, by the beginnings of the comparisons' ids."""
        return {path.stem.removeprefix("comparison-"): path for path in sorted(self.reports.glob("comparison-*.html"))}

    def formats_page(self, audit_run_id: str) -> Path:
        """Returns where the page about the format validation of a run lies."""
        return self.reports / f"{audit_run_id}.formats.html"

    def traces(self, audit_run_id: str) -> Path:
        """Returns the folder of a run's trace pages."""
        return self.published / "traces" / audit_run_id

    @property
    def dbt(self) -> Path:
        """Returns the folder of what dbt writes."""
        return _own(self.path.resolve(), "dbt")

    @property
    def prefect(self) -> Path:
        """Returns the folder of what Prefect's own server keeps of runs."""
        return _own(self.file, "prefect")

    @property
    def archive(self) -> Path:
        """Returns the folder of retired raw rows."""
        return self.file.parent / "archive"

    @property
    def python(self) -> Path:
        """Returns the folder of the cards and samples of what was asked from Python."""
        return self.file.parent / "python"

    @property
    def spool(self) -> Path:
        """Returns the folder of rows that have not landed yet."""
        return self.beside(".spool")

    @property
    def askers(self) -> Path:
        """Returns the folder that the askers of runs share, unless a setting names another."""
        return self.beside(".askers")

    @property
    def batches(self) -> Path:
        """Returns the folder of what was sent to and came from batch interfaces."""
        return self.path.parent / "batches"


def _own(warehouse: Path, name: str) -> Path:
    """Returns a warehouse's part of a folder beside it: all of it for `audit.duckdb`, `<file name>.d` in it for others."""
    shared = warehouse.parent / name
    return shared if warehouse.name == DEFAULT_NAME else shared / f"{warehouse.name}.d"
