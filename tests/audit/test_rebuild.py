"""Which runs are derived again where answers were read by code of the user's own; nothing is built here."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.audit import rebuild
from promptaudit.audit.runs import close_run, run_row
from promptaudit.cards.trust.command import trust_folder
from promptaudit.marts.transform import transform
from promptaudit.registry.errors import ChangedCode, DataError
from promptaudit.registry.registry import load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of, task_row
from tests.support.own_code import PARSER, write_registry


def landed(warehouse: Warehouse, run: str, registry: Path) -> None:
    card = load_registry([registry]).task("tone")
    opened = run_row(
        audit_run_id=run,
        audit_id="a",
        origin="run",
        fingerprint="",
        plan_fingerprint="",
        card="{}",
        format_limits="{}",
        seed=1,
        n_resamples=1,
        manifest={},
    )
    warehouse.land([("audit_runs", opened), ("tasks", frame_of("tasks", [task_row(run, "tone", card)]))])
    close_run(warehouse, run, "complete")


def test_a_run_that_changed_code_has_read_keeps_its_marts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built: list[list[str]] = []
    monkeypatch.setattr(rebuild, "start", lambda *_: None)
    monkeypatch.setattr(rebuild, "transform", lambda warehouse, runs, part: built.append(list(runs)))  # noqa: ARG005
    monkeypatch.setattr(rebuild, "judge_nights", lambda _, runs: list(runs))
    monkeypatch.setattr(rebuild, "publish", lambda *_: tmp_path)
    settings = Settings(warehouse=tmp_path / "audit.duckdb")
    warehouse = Warehouse(settings.warehouse)
    warehouse.apply_schema()
    for run, parser in (("before", PARSER), ("now", PARSER + "# other\n")):
        root = write_registry(tmp_path, parser_py=parser)
        trust_folder(settings, root)
        landed(warehouse, run, root)
    rebuild.rebuild_runs(settings, None, Progress())
    assert built == [["now"], ["now"]]
    said = capsys.readouterr().err
    assert f"task 'tone' of run before is read by code 'parser:read' of {root}/parser.py, which changed since" in said
    assert "the run keeps its marts as they are" in said
    (root / "parser.py").write_text("")
    with pytest.raises(DataError, match=r"the answers of no run of .* can be read again"):
        rebuild.rebuild_runs(settings, None, Progress())
    with pytest.raises(ChangedCode, match="task 'tone' of run before is read by code"):  # as a run that is named is
        transform(warehouse, ["before"], "up_to_formats")
