"""A child of the worker can do no harm, whatever it is told to compare."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CHILD = """
import ctypes, os, socket, subprocess, sys, time
import sympy
from promptaudit.udfs.scoring.math.worker import Worker

def compare(deed, reference):
    exec(compile(deed, __file__, "exec"), globals())
    return True, None

__file__ = sys.argv[1]
sys.path.append(os.path.dirname(__file__))
Worker(compare, 1.0, 2).serve()
"""


def test_what_a_child_does_harms_nobody(tmp_path: Path) -> None:
    written = tmp_path / "written"
    deeds = {
        "pass": [True, None],
        "while True: pass": [None, "timeout"],
        "time.sleep(60)": [None, "timeout"],
        "bytearray(2**31)": [None, "too much memory"],
        "list(range(10**9))": [None, "too much memory"],
        "os.abort()": [None, "too much memory"],
        f"open({str(written)!r}, 'w')": [None, "unreadable"],
        f"os.open({str(written)!r}, os.O_CREAT)": [None, "unreadable"],
        f"os.mkdir({str(written)!r})": [None, "unreadable"],
        f"os.system('touch {written}')": [None, "unreadable"],
        f"subprocess.run(['touch', {str(written)!r}])": [None, "unreadable"],
        "os.fork()": [None, "unreadable"],
        "os.kill(os.getppid(), 9)": [None, "unreadable"],
        "socket.socket()": [None, "unreadable"],
        "eval('1')": [None, "unreadable"],
        "exec('1')": [None, "unreadable"],
        "ctypes.CDLL(None)": [None, "unreadable"],
        "sympy.sympify('1+1')": [None, "unreadable"],
        "sympy.lambdify(sympy.Symbol('x'), sympy.Symbol('y'))": [None, "unreadable"],
        "sympy.simplify('x')": [None, "unreadable"],
        "x = sympy.Symbol('x'); assert sympy.cancel((x**2 - 1)/(x - 1)) == x + 1": [True, None],
        "import late": [True, None],  # modules are read and run, and not written beside
        "print('words on the pipe'); os.write(1, b'words')": [True, None],
    }
    (tmp_path / "late.py").write_text("print('imported')")
    lines = "".join(json.dumps([number, deed, ""]) + "\n" for number, deed in enumerate(deeds))
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path / "child.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(lines.encode())
        worker.stdin.flush()
        assert json.loads(worker.stdout.readline()) == []
        found = {number: rest for number, *rest in (json.loads(worker.stdout.readline()) for _ in deeds)}
    assert {deed: found[number] for number, deed in enumerate(deeds)} == deeds
    assert not written.exists()
