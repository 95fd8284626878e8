"""Faulty cards in a registry: left out, told, and refused only where they are used."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from promptaudit.cards.check_cards import check_audit, check_cards
from promptaudit.cards.trust.command import trust_folder
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.comparison.compare_named import card_of
from promptaudit.registry.errors import CardError, PromptauditError, UnknownCard
from promptaudit.registry.read_yaml import read_yaml
from promptaudit.registry.registry import Registry, load_registry, read_registry
from promptaudit.system.settings import settings_of
from promptaudit.warehouse import Warehouse
from tests.support.files import write_files

TASK = "t: {labels: [a, b], instruction: Say a or b., data: {path: d.csv, id: id, input: text, gold_label: gold}}\n"
UNKNOWN_FIELD = "bad: {engine: embedded, model: random, sed: 1}\n"


def registry_of(folder: Path, models: str = "lexical", **files: str) -> Path:
    """A sound audit `a` of a sound task and these models, beside files of model cards."""
    texts = {"tasks/t.yml": TASK, "audits/a.yml": f"a: {{tasks: [t], models: [{models}]}}\n"}
    texts |= {f"models/{name}.yml": text for name, text in files.items()} | {"d.csv": "id,text,gold\n1,one,a\n"}
    write_files(folder, texts)
    return folder


def lines_of(registry: Registry) -> list[str]:
    return [str(error) for error in registry.errors]


def refused(registry: Registry, name: str, kind: str = "models") -> list[str]:
    with pytest.raises(PromptauditError) as caught:
        registry.entry(kind, name)
    assert caught.value.exit_code == 2
    return [line.partition(": ")[2] for line in caught.value.lines]


FAULTS = {
    "an unknown field": (UNKNOWN_FIELD, "models/m.yml line 1: unknown field 'sed' of 'bad'; nearest: seed"),
    "no YAML": ("bad: [\n", "models/m.yml line 2: not YAML: "),
    "no YAML, a later card": ("good:\n  engine: x\n\n'bad' :\n  model: {\n", "models/m.yml line 6: not YAML: "),
    "a key twice": ("bad: {engine: embedded, engine: embedded}\n", "models/m.yml line 1: key 'engine' stands twice"),
    "an id twice": ("bad: {engine: embedded, model: random}\n" * 2, "models/m.yml line 2: key 'bad' stands twice"),
    "an alias": ("x: &x {engine: embedded}\nbad: *x\n", "models/m.yml line 2: aliases are refused"),
    "no mapping": ("bad: 7\n", "models/m.yml line 1: card 'bad' must be a mapping of fields, found '7'"),
    "no UTF-8": ("bad: {model: ÿ}\n", "models/m.yml: not UTF-8 text at byte 13"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_card_is_told_and_refused_where_it_is_used(tmp_path: Path, text: str, message: str) -> None:
    registry_of(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models/m.yml").write_text(text, encoding="latin-1")
    registry = read_registry([tmp_path])
    (line,) = lines_of(registry)
    assert line.startswith(f"CardError: {message}")
    assert check_cards(registry, "a")["notes"] == [f"{line}; audit 'a' does without it"]
    assert refused(registry, "bad") == [line.partition(": ")[2]]
    assert refused(registry, "lexcal") == ["model 'lexcal'; nearest: lexical"]
    (tmp_path / "audits/b.yml").write_text("b: {tasks: [t], models: [lexical, bad]}\n")
    registry = read_registry([tmp_path])
    checked = check_audit(registry, "b")
    assert ([str(error) for error in checked.errors], checked.passed_over) == ([line], [])
    for check in (lambda: load_registry([tmp_path]), lambda: check_cards(registry, None)):
        with pytest.raises(CardError) as caught:
            check()
        assert str(caught.value) == line


def test_good_cards_of_one_file_serve_beside_bad_ones(tmp_path: Path) -> None:
    good = "{engine: embedded, model: random}\n"
    text = f"one: {good}{UNKNOWN_FIELD}twice: {{seed: 1, seed: 2}}\ntwo: {good}'3': {good}"
    registry = read_registry([registry_of(tmp_path, "one, two, '3'", m=text)])
    assert {"one", "two", "3"} <= registry.entries["models"].keys()
    assert len(registry.errors) == 2
    assert refused(registry, "twice") == ["models/m.yml line 3: key 'seed' stands twice"]
    assert not check_audit(registry, "a").errors


def test_a_file_whose_cards_nobody_knows_is_told_for_a_name_that_nobody_knows(tmp_path: Path) -> None:
    registry_of(tmp_path / "r")
    for number, kind in enumerate(("a folder", "a pipe", "a link to nothing", "a link out of the registry")):
        (tmp_path / "r/models").mkdir(exist_ok=True)
        path = tmp_path / f"r/models/m{number}.yml"
        (tmp_path / "out.yml").write_text("bad: {engine: embedded, model: random}\n")
        if kind == "a folder":
            path.mkdir()
        elif kind == "a pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(tmp_path / "out.yml" if kind.endswith("registry") else tmp_path / "r/models/nothing.yml")
    registry = read_registry([tmp_path / "r"])
    messages = [
        "models/m0.yml: cannot be read: it is no regular file",
        "models/m1.yml: cannot be read: it is no regular file",
        "models/m2.yml: cannot be read: No such file or directory",
        f"models/m3.yml leaves the registry {tmp_path / 'r'}",
    ]
    assert lines_of(registry) == [f"CardError: {line}" for line in messages]
    assert refused(registry, "bad") == [f"{line}; model 'bad' may stand there" for line in messages]
    with pytest.raises(UnknownCard):
        registry.entry("judges", "bad")
    assert not check_audit(registry, "a").errors


def test_a_card_file_of_gigabytes_is_refused_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "m.yml"
    path.touch()
    os.truncate(path, 3 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(CardError, match=r"^CardError: m\.yml: too large: a card file holds at most 1000000 bytes"):
            read_yaml(path, "m.yml")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_each_of_many_cards_of_a_file_costs_as_much(tmp_path: Path) -> None:
    path = tmp_path / "m.yml"
    path.write_text("".join(f"k{n}: 1\n" for n in range(24_000)))
    began = time.process_time()
    cards, _, faults = read_yaml(path, "m.yml")
    assert time.process_time() - began < 3  # 0.3 s; a set of all names for each card takes 8 s
    assert (len(cards), faults) == (24_000, {})


@pytest.mark.parametrize("text", ["lexical: {engine: embedded}\n", "lexical:\n  engine: [\n", "lexical: &x 1\ny: *x\n"])
def test_a_faulty_card_does_not_give_way_to_a_sound_one_of_an_earlier_folder(tmp_path: Path, text: str) -> None:
    registry = read_registry([registry_of(tmp_path, m=text)])
    assert "lexical" not in registry.entries["models"]
    assert refused(registry, "lexical") == [line.partition(": ")[2] for line in lines_of(registry)]
    sound = registry_of(tmp_path / "later", m="lexical: {engine: embedded, model: random}\n")
    assert read_registry([tmp_path, sound]).model("lexical").model == "random"


def test_an_id_of_two_files_is_nobodys(tmp_path: Path) -> None:
    card = "m: {engine: embedded, model: random}\n"
    registry = read_registry([registry_of(tmp_path, one=card, two=card)])
    assert refused(registry, "m") == ["model 'm' in models/two.yml line 1 stands already in models/one.yml line 1"]


def test_a_point_of_a_faulty_grid_is_refused_with_the_grids_fault(tmp_path: Path) -> None:
    grid = "m: {engine: openai_api, model: x, grid: {temperature: [0, 1]}}\n"
    sound = registry_of(tmp_path / "sound", m=grid)
    faulty = registry_of(tmp_path / "faulty", m=grid.replace("[0, 1]", "[0, 0]"))
    (message,) = [line.partition(": ")[2] for line in lines_of(read_registry([faulty]))]
    for folders in ([faulty], [sound, faulty]):
        assert refused(read_registry(folders), "m temperature=0") == [message]
    assert read_registry([faulty, sound]).find("models", "m temperature=0") is not None


def test_a_faulty_audit_is_no_unknown_audit(tmp_path: Path) -> None:
    registry_of(tmp_path)
    (tmp_path / "audits/a.yml").write_text("a: {tasks: [t], models: [lexical], sed: 1}\n")
    registry = read_registry([tmp_path])
    with pytest.raises(CardError, match="unknown field 'sed' of 'a'"):
        check_audit(registry, "a")
    with pytest.raises(CardError, match="unknown field 'sed' of 'a'"):
        check_cards(registry, None)


def test_a_faulty_card_is_no_absent_one_for_commands_that_can_do_without(tmp_path: Path) -> None:
    folder = registry_of(tmp_path / "registry")
    (folder / "tasks/t.yml").write_text("t: {labls: [a, b]}\n")
    (folder / "audits/a.yml").write_text("a: {tasks: [t], modls: [lexical]}\n")
    registry = read_registry([folder])
    with pytest.raises(PromptauditError, match="unknown field 'modls' of 'a'; nearest: models"):
        card_of(registry, "a")
    answers = tmp_path / "answers.csv"
    answers.write_text("model,sample_id,completion\nm,1,a\n")
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    with pytest.raises(PromptauditError, match="unknown field 'labls' of 't'; nearest: labels"):
        import_predictions(warehouse, [answers], registry, ImportOptions(task="t"))
    trusted = trust_folder(settings_of(tmp_path / "audit.duckdb"), folder)
    assert trusted.lines()[:-1] == lines_of(registry)


def test_a_judge_may_name_a_task_whose_card_is_faulty(tmp_path: Path) -> None:
    registry_of(tmp_path)
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges/j.yml").write_text("j: {model: matching, tasks: [t, u]}\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/matching.yml").write_text("matching: {engine: embedded, model: matcher}\n")
    (tmp_path / "tasks/u.yml").write_text("u: {labels: [a, b]}\n")
    (tmp_path / "audits/a.yml").write_text("a: {tasks: [t], models: [lexical], judges: [j]}\n")
    assert not check_audit(read_registry([tmp_path]), "a").errors
