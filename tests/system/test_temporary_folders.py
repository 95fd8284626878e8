"""Temporary folders last as long as they are held, and a day beyond that."""

from __future__ import annotations

import os
from pathlib import Path

from promptaudit.system.temporary_folders import hold, make_folder


def test_what_nobody_holds_goes_after_a_day(tmp_path: Path) -> None:
    folders = {name: make_folder("ours-", str(tmp_path)) for name in ("held", "left", "young")}
    other = tmp_path / "theirs-1"
    other.mkdir()
    held = hold(folders["held"])
    os.mkfifo(folders["held"] / "log.txt")
    for old in (folders["held"], folders["left"], other):
        (old / "code.py").touch()
        os.utime(old, (0, 0))
    new = make_folder("ours-", str(tmp_path))
    os.close(held)
    assert {*tmp_path.iterdir()} == {folders["held"], folders["young"], other, new}
    make_folder("ours-", str(tmp_path), held="log.txt")  # which is a pipe that nobody writes to
    assert not folders["held"].exists()
