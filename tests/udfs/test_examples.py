"""The examples in the docstrings of measures, run as they stand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

UDFS = Path(__file__).parents[2] / "flows/promptaudit/udfs"
WITH_EXAMPLES = sorted(path for path in UDFS.rglob("*.py") if ">>>" in path.read_text())


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.relative_to(UDFS).as_posix())
def test_examples_say_what_comes_out(path: Path) -> None:
    name = ".".join(path.relative_to(UDFS).with_suffix("").parts)
    found = doctest.testmod(importlib.import_module(f"promptaudit.udfs.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
