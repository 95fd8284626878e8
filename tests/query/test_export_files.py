"""Where an export may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.query.export_files import refuse_filled
from promptaudit.registry.errors import UsageError


def test_the_folder_that_the_command_runs_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match=r"--to \.: it is the folder that the command runs in; name a new or an empty one"
    ):
        refuse_filled(Path())
    refuse_filled(tmp_path / "new")
