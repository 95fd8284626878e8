"""Names the places of a warehouse's files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_NAME, PUBLISHED = "audit.duckdb", "published"


@dataclass(frozen=True)
class Places:
    """The files and folders of the warehouse at `path`, which may be a link."""

    path: Path

    @property
    def file(self) -> Path:
        """Finds the DuckDB file itself, after following links."""
        return Path(os.path.realpath(self.path))

    def beside(self, ending: str) -> Path:
        """Names the file with this ending beside the DuckDB file; every link leads to the same one."""
        return self.file.with_name(self.file.name + ending)

    @property
    def copy(self) -> Path:
        """Names the published copy."""
        return self.path.parent / PUBLISHED / self.path.name

    @property
    def published(self) -> Path:
        """Names the folder of reports, traces and Parquet marts."""
        return _own(self.path, PUBLISHED)

    @property
    def marts(self) -> Path:
        """Names the folder of the marts as Parquet files."""
        return self.published / "marts"

    @property
    def newest_report(self) -> Path:
        """Names the page of the run that was reported last."""
        return self.published / "report.html"

    @property
    def reports(self) -> Path:
        """Names the folder of the pages that stay when another run is reported."""
        return self.published / "reports"

    def report(self, audit_run_id: str, part: int = 1) -> Path:
        """Names the page of a run, or a further page of it."""
        return self.reports / f"{audit_run_id if part == 1 else f'{audit_run_id}-{part}'}.html"

    def comparison(self, comparison_id: str) -> Path:
        """Names the page about a comparison."""
        return self.reports / f"comparison-{comparison_id[:12]}.html"

    def compared(self) -> dict[str, Path]:
        """Finds the pages about comparisons, by the beginnings of the comparisons' ids."""
        return {path.stem.removeprefix("comparison-"): path for path in sorted(self.reports.glob("comparison-*.html"))}

    def formats_page(self, audit_run_id: str) -> Path:
        """Names the page about the format validation of a run."""
        return self.reports / f"{audit_run_id}.formats.html"

    def runbook(self, name: str) -> Path:
        """Names the page of a runbook."""
        return self.published / "runbooks" / f"{name}.html"

    def traces(self, audit_run_id: str) -> Path:
        """Names the folder of a run's trace pages."""
        return self.published / "traces" / audit_run_id

    @property
    def dbt(self) -> Path:
        """Names the folder of the files that dbt writes."""
        return _own(self.path.resolve(), "dbt")

    @property
    def prefect(self) -> Path:
        """Names the folder in which Prefect's own server keeps runs."""
        return _own(self.file, "prefect")

    @property
    def archive(self) -> Path:
        """Names the folder of retired raw rows."""
        return self.file.parent / "archive"

    @property
    def python(self) -> Path:
        """Names the folder of the cards and samples that were asked from Python."""
        return self.file.parent / "python"

    @property
    def spool(self) -> Path:
        """Names the folder of rows that have not landed yet."""
        return self.beside(".spool")

    @property
    def askers(self) -> Path:
        """Names the folder that the askers of runs share, unless a setting names another."""
        return self.beside(".askers")

    @property
    def batches(self) -> Path:
        """Names the folder of requests to and replies from batch interfaces."""
        return self.path.parent / "batches"


def _own(warehouse: Path, name: str) -> Path:
    # `audit.duckdb` has the whole folder, other warehouses have `<file name>.d` in it
    shared = warehouse.parent / name
    return shared if warehouse.name == DEFAULT_NAME else shared / f"{warehouse.name}.d"
