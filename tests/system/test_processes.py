"""Whether a process that another one named is still there."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil

from promptaudit.system.processes import began_at, is_running, machine


def test_a_process_is_told_from_a_later_one_of_the_same_number() -> None:
    assert is_running(machine(), os.getpid(), began_at()) is True
    assert is_running(machine(), os.getpid(), began_at() - 60) is False
    assert is_running(machine(), os.getpid(), began_at() + 1) is True  # the clock was set meanwhile


def test_a_process_that_ended_is_gone_before_its_parent_looks() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    began = psutil.Process(child.pid).create_time()
    assert is_running(machine(), child.pid, began) is True
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    assert is_running(machine(), child.pid, began) is False
    child.wait()
    assert is_running(machine(), child.pid, began) is False


def test_of_another_machine_nobody_knows() -> None:
    assert is_running("another", os.getpid(), began_at()) is None
