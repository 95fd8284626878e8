"""Ends the processes that a killed run leaves behind.

`child_processes` starts this file by its path, so that the package is not imported.
"""

from __future__ import annotations

import os
import sys

MARK = "PROMPTAUDIT_GUARD"
ENDED = b"."


def watch(mark: str) -> None:
    """Waits for the pipe to close, and ends all processes with the mark unless the run said that it ended."""
    if os.read(sys.stdin.fileno(), 1) == ENDED:
        return
    import site

    site.main()  # the folders of installed packages, which `-S` left out of the path
    import contextlib

    import psutil

    marked: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                # a process that renames itself, as vLLM's workers do, overwrites its environment: take all children
                marked += [process, *process.children(recursive=True)]
    for process in marked:
        with contextlib.suppress(psutil.Error):
            process.kill()


if __name__ == "__main__":
    watch(sys.argv[1])
