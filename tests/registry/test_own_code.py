"""A card names code; what it names is found, hashed and shown without being run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from promptaudit.registry.cards import Card, ModelCard, PythonReader, RephraserCard, TaskCard
from promptaudit.registry.errors import CardError, SeveralErrors
from promptaudit.registry.own_code import Code, CodeFinder, problem_of, program_of
from promptaudit.registry.registry import load_registry
from tests.support.own_code import LAB, PARSER, REWORDER, write_registry


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def code_in(root: Path, card: Card) -> Code:
    code = CodeFinder(root).code_of(card)
    assert code is not None
    return code


def annotator(function: str, **fields: object) -> ModelCard:
    return ModelCard.model_validate({"engine": "python", "model": function, **fields})


def command(*words: str) -> RephraserCard:
    return RephraserCard(kind="command", command=words)


def test_each_kind_of_card_has_the_sha256_of_its_code(tmp_path: Path) -> None:
    root = write_registry(tmp_path)
    registry = load_registry([root])
    reader = registry.task("tone").reader
    assert isinstance(reader, PythonReader)
    assert reader.code_sha256 == sha256(PARSER)
    assert registry.model("own").code_sha256 == registry.rephraser("function").code_sha256 == sha256(LAB)
    assert registry.rephraser("command").code_sha256 not in (None, sha256(REWORDER))  # what lies beside it counts too
    kinds = {kind: registry.entries[kind][name] for kind, name in (("models", "own"), ("rephrasers", "command"))}
    function, command = (entry.code for entry in kinds.values())
    assert str(function) == f"code 'lab:annotate' of {root}/lab.py"
    assert str(command) == f"command 'python3 reword.py --fast' in {root}"


def test_changed_code_is_another_card_and_nothing_else_is(tmp_path: Path) -> None:
    before = load_registry([write_registry(tmp_path)])
    after = load_registry([write_registry(tmp_path, lab_py=LAB + "\n# slower\n")])
    assert before.model("own").fingerprint() != after.model("own").fingerprint()
    assert before.rephraser("function").fingerprint() != after.rephraser("function").fingerprint()
    assert before.task("tone").fingerprint() == after.task("tone").fingerprint()
    assert (
        before.rephraser("command").fingerprint() != after.rephraser("command").fingerprint()
    )  # it may import the file


def test_a_sha256_that_is_written_in_the_card_is_held(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(LAB)
    assert code_in(tmp_path, annotator("lab:annotate", code_sha256=sha256(LAB))).sha256 == sha256(LAB)
    with pytest.raises(CardError, match=f"code 'lab:annotate' of .*lab.py has the sha256 {sha256(LAB)}, and not 0000"):
        code_in(tmp_path, annotator("lab:annotate", code_sha256="0" * 64))


def test_an_installed_module_is_found_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site"
    (installed / "parsers").mkdir(parents=True)
    (installed / "parsers" / "__init__.py").write_text("raise AssertionError\n")
    (installed / "parsers" / "tone.py").write_text("raise AssertionError\n")
    monkeypatch.syspath_prepend(str(installed))
    code = code_in(tmp_path / "r", annotator("parsers.tone:read"))
    assert (code.place, code.sha256) == (None, sha256("raise AssertionError\n"))
    assert str(code) == "code 'parsers.tone:read' of an installed module"
    assert problem_of(code) is None


def test_the_working_directory_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.py").write_text("def f(): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend("")
    code = code_in(tmp_path / "r", annotator("here:f"))
    assert problem_of(code) == "no module 'here.py' in the registry folder, and none is installed"


def test_a_module_that_python_finds_in_the_registry_counts_as_no_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "run.py").write_text(LAB)
    monkeypatch.syspath_prepend(str(tmp_path))  # as PYTHONPATH has it
    with pytest.raises(
        CardError, match=r"'models\.run:annotate' lies in models/run\.py, and a function of a registry lies in"
    ):
        code_in(tmp_path, annotator("models.run:annotate"))


@pytest.mark.parametrize(
    ("text", "function", "problem"),
    [
        ("def annotate(t, p): ...", "annotate", None),
        ("class A: ...", "A.annotate", None),
        ("from os import path as annotate", "annotate", None),
        ("annotate = max", "annotate", None),
        ("from os import *", "annotate", None),  # only running it would tell
        ("if True:\n    def annotate(t, p): ...", "annotate", None),
        ("def annotate(t, p): ...", "annotates", "lab.py has no 'annotates'; nearest: annotate"),
        ("(" * 5000, "annotate", "lab.py is no Python: too many nested parentheses (<unknown>, line 1)"),
        ("def annotate(t, p) ...", "annotate", "lab.py is no Python: expected ':' (<unknown>, line 1)"),
    ],
)
def test_a_function_that_is_not_there_is_said_before_anything_runs(
    tmp_path: Path, text: str, function: str, problem: str | None
) -> None:
    (tmp_path / "lab.py").write_text(text)
    assert problem_of(code_in(tmp_path, annotator(f"lab:{function}"))) == problem


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["python3", "nowhere.py"], None),  # an argument may be anything
        (["./run", "google/pegasus"], None),
        (["./walk"], "no program './walk' in the registry folder"),
        (["run"], "no program 'run' on this machine"),  # a bare name is looked up on PATH alone
        (["/nowhere/run"], "no program '/nowhere/run' on this machine"),
    ],
)
def test_a_program_that_is_not_there_is_said(tmp_path: Path, words: list[str], problem: str | None) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o700)
    assert problem_of(code_in(tmp_path, command(*words))) == problem


def test_a_command_is_as_the_files_that_it_may_use_are(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("")
    root = tmp_path / "r"
    root.mkdir()
    (root / "run").write_text("")
    words = ("./run", str(tmp_path / "outside"), "x" * 5000)
    before = code_in(root, command(*words))
    assert code_in(root, command(*words)) == before
    for file in (root / "words.txt", tmp_path / "outside"):
        file.write_text("others")
        after = code_in(root, command(*words))
        assert after.sha256 != before.sha256
        with pytest.raises(CardError, match=rf"command './run .*' in {root} .*has the sha256"):
            code_in(root, command(*words).model_copy(update={"code_sha256": before.sha256}))
        before = after


def test_a_bare_program_is_looked_up_in_absolute_folders_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".::bin")
    assert program_of("run", tmp_path) is None
    monkeypatch.setenv("PATH", f".:{tmp_path}")
    assert program_of("run", tmp_path) == str(tmp_path / "run")


@pytest.mark.parametrize("words", [("../outside",), ("cat", "../outside"), ("./link",)])
def test_a_path_out_of_the_registry_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "outside").write_text("")
    root = tmp_path / "r"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(CardError, match="leaves the registry"):
        code_in(root, command(*words))


WRONG = {
    "models": {
        "engine: python, model: annotate": "model 'annotate' is no function; write module:function",
        "engine: python, model: 'os; x:f'": "is no function",
        "engine: python, model: 'link:f'": "'link.py' leaves the registry",
        "engine: python, model: 'a:f', sampling: {temperature: 1}": "sampling has no meaning for python a:f",
        "engine: python, model: 'a:f', base_url: 'http://127.0.0.1/v1'": "base_url has no meaning for python a:f",
        "engine: openai_api, model: x, code_sha256: " + "0" * 64: "code_sha256 has no meaning for openai_api x",
    },
    "rephrasers": {
        "kind: python": "function is what a rephraser of kind python calls, and no other",
        "kind: rules, function: 'a:f'": "function is what a rephraser of kind python calls, and no other",
        "kind: python, function: a": "function: String should match pattern",
        "kind: rules, code_sha256: " + "0" * 64: "code_sha256 has no meaning for a rephraser of kind rules",
        "kind: command": "command is what a rephraser of kind command runs, and no other",
        "kind: command, command: []": "command: Tuple should have at least 1 item",
        "kind: command, command: rm -r": "command: Input should be a valid tuple",
    },
}


def test_what_does_not_hold_together_is_one_line_each(tmp_path: Path) -> None:
    root = tmp_path / "r"
    for kind, cards in WRONG.items():
        (root / kind).mkdir(parents=True)
        (root / kind / "c.yml").write_text("".join(f"c{n}: {{{fields}}}\n" for n, fields in enumerate(cards)))
    (tmp_path / "outside.py").write_text(LAB)
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(SeveralErrors) as caught:
        load_registry([root])
    places = [
        (f"{kind}/c.yml line {n + 1}", words) for kind, cards in WRONG.items() for n, words in enumerate(cards.values())
    ]
    assert len(caught.value.lines) == len(places)
    for line, (place, words) in zip(caught.value.lines, places, strict=True):
        assert line.startswith(f"CardError: {place}: ")
        assert words in line


def test_cards_of_the_package_name_no_code() -> None:
    entries = load_registry().entries
    assert not any(entry.code for cards in entries.values() for entry in cards.values())


def test_a_card_without_code_stays_the_very_same() -> None:
    for card in (ModelCard(engine="embedded", model="lexical"), RephraserCard(kind="rules")):
        assert CodeFinder(Path("nowhere")).code_of(card) is None
    assert TaskCard.model_fields["reader"].default == "exact"


def test_a_command_is_shown_with_its_variables_and_the_files_beside_which_nothing_is_compared(tmp_path: Path) -> None:
    root, tool = tmp_path / "r", tmp_path / "tool.py"
    (root / "models").mkdir(parents=True)
    tool.write_text("")
    card = RephraserCard(kind="command", command=("python3", str(tool)), environment=("B_KEY", "A_KEY", "B_KEY"))
    code = code_in(root, card)
    assert code.environment == ("A_KEY", "B_KEY")
    assert str(code) == (
        f"command 'python3 {tool}' in {root}, given A_KEY and B_KEY (what lies beside {tool} is not compared)"
    )
