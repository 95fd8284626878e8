"""Each extra that a message names is one of the package, and its module is one that the core does without."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from promptaudit.registry.extras import MODULES, is_installed, needs_extra, refused_scoring
from promptaudit.udfs.scoring.math.pool import MathProcess

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_extras_are_those_of_the_package() -> None:
    assert {*MODULES, "kubernetes"} == set(PROJECT["optional-dependencies"])
    assert needs_extra("a lake", "lake") == "a lake needs the extra `lake`: python -m pip install 'promptaudit[lake]'"


@pytest.mark.parametrize("extra", ["charts", "lineage", "math"])
def test_an_extra_is_known_by_its_module(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed(extra)
    monkeypatch.setitem(sys.modules, MODULES[extra], None)
    assert not is_installed(extra)


def test_a_folder_of_that_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xllamacpp_of_nobody").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(MODULES, "local", "xllamacpp_of_nobody")
    assert not is_installed("local")
    monkeypatch.setitem(MODULES, "local", "no_such.module")
    assert not is_installed("local")


@pytest.mark.parametrize("method", ["math_equal", "math_boxed"])
def test_formulas_are_refused_without_their_library_and_the_worker_says_the_same(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused_scoring(["token_f1", method]) is None
    monkeypatch.setitem(sys.modules, MODULES["math"], None)
    refused = refused_scoring(["token_f1", method])
    assert str(refused) == f"UsageError: {needs_extra(method, 'math')}"
    assert refused_scoring(["token_f1"]) is None
    with pytest.raises(OSError, match="python -m pip install 'promptaudit\\[math\\]'"):
        MathProcess(1.0, 1).compare([("x", "y")])
