"""Code that a card names is trusted once by its user, as it is: changed code is asked for again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptaudit.cards.trust.command import forget_folder, list_trusted, trust_folder
from promptaudit.cards.trust.readers import trusted_readers
from promptaudit.cards.trust.refuse import refuse_untrusted
from promptaudit.cards.trust.store import Pair, load, record
from promptaudit.registry.errors import ChangedCode, UntrustedCard
from promptaudit.registry.own_code import Code
from promptaudit.registry.registry import Entry, Registry, load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse.rows import reader_json
from tests.cards.trust.test_trust import Person
from tests.support.own_code import LAB, PARSER, write_registry


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PROMPTAUDIT_TRUST_FILE", str(tmp_path / "t.json"))
    return Settings()


def used(registry: Registry, audit_id: str = "by_function") -> dict[str, dict[str, Entry]]:
    return registry.used_by(audit_id)


def test_the_refusal_names_card_code_and_command(tmp_path: Path, settings: Settings) -> None:
    root = write_registry(tmp_path)
    with pytest.raises(UntrustedCard) as caught:
        refuse_untrusted(settings, used(load_registry([root])), Progress())
    assert caught.value.exit_code == 2
    assert str(caught.value) == (
        f"UntrustedCard: models/m.yml line 1: model 'own' names code 'lab:annotate' of {root}/lab.py, which is not trusted; "
        f"look at it, then: promptaudit trust {root}"
    )


def test_what_is_trusted_is_listed_and_taken_back(tmp_path: Path, settings: Settings) -> None:
    root = write_registry(tmp_path)
    done = trust_folder(settings, root)
    lines = done.lines()
    assert lines[0].split() == [
        "new",
        "code",
        "'lab:annotate'",
        "of",
        f"{root}/lab.py",
        "sha256",
        done.code[0].sha256[:12],
        "model",
        "'own'",
    ]
    assert [(row.use, row.name, row.cards) for row in done.code] == [
        ("model", "lab:annotate", ("model 'own'",)),
        ("reader", "parser:read", ("task 'tone'",)),
        ("rephraser", "lab:paraphrase", ("rephraser 'function'",)),
        ("command", "python3 reword.py --fast", ("rephraser 'command'",)),
    ]
    assert lines[-1] == f"4 pieces of code recorded in {tmp_path / 't.json'}"
    for audit_id in ("by_function", "by_command"):
        refuse_untrusted(settings, used(load_registry([root]), audit_id), Progress())
    assert trust_folder(settings, root).lines()[-1] == f"all trusted already, in {tmp_path / 't.json'}"
    assert len(list_trusted(settings).lines()) == 5
    assert forget_folder(settings, root).lines()[-1] == f"4 pieces of code taken out of {tmp_path / 't.json'}"
    with pytest.raises(UntrustedCard):
        refuse_untrusted(settings, used(load_registry([root])), Progress())


def test_changed_code_is_asked_for_again_and_said_to_have_changed(tmp_path: Path, settings: Settings) -> None:
    trust_folder(settings, write_registry(tmp_path))
    root = write_registry(tmp_path, parser_py=PARSER + "\n# better\n")
    registry = load_registry([root])
    with pytest.raises(
        UntrustedCard, match=r"task 'tone' names code 'parser:read' of .*, which changed since it was trusted; "
    ):
        refuse_untrusted(settings, used(registry), Progress())
    person = Person(True, True)
    refuse_untrusted(settings, used(registry), person)
    of_two = "(model 'own' and 1 more, models/m.yml line 1)"
    assert person.asked == [
        f"Trust code 'parser:read' of {root}/parser.py, which changed since it was trusted (task 'tone', tasks/t.yml line 5)?",
        f"Trust code 'lab:annotate' of {root}/lab.py, beside which files changed since it was trusted {of_two}?",
    ]
    refuse_untrusted(settings, used(registry), Progress())


def test_a_file_beside_trusted_code_is_asked_for_too(tmp_path: Path, settings: Settings) -> None:
    root = write_registry(tmp_path)
    trust_folder(settings, root)
    (root / "datasets/d.csv").write_text("id,text,gold\n1,other,positive\n")  # data of a card
    refuse_untrusted(settings, used(load_registry([root])), Progress())
    (root / "helper.py").write_text("")
    with pytest.raises(
        UntrustedCard,
        match=r"model 'own' names code 'lab:annotate' of .*/lab\.py, beside which files changed since it was trusted; look at it",
    ):
        refuse_untrusted(settings, used(load_registry([root])), Progress())


def test_another_use_function_or_place_is_not_what_was_trusted(tmp_path: Path, settings: Settings) -> None:
    trust_folder(settings, write_registry(tmp_path))
    for changed in (
        {"models__m_yml": "own: {engine: python, model: 'lab:paraphrase', price: free}\n"},
        {"tasks__t_yml": (tmp_path / "registry/tasks/t.yml").read_text().replace("parser:read", "lab:annotate")},
    ):
        with pytest.raises(UntrustedCard):
            refuse_untrusted(settings, used(load_registry([write_registry(tmp_path, **changed)])), Progress())
    elsewhere = write_registry(tmp_path / "copy")
    with pytest.raises(UntrustedCard, match="which is not trusted"):
        refuse_untrusted(settings, used(load_registry([elsewhere])), Progress())
    rephrasers = {"rephrasers__r_yml": (elsewhere / "rephrasers/r.yml").read_text().replace("--fast", "--slow")}
    registry = load_registry([write_registry(tmp_path, **rephrasers)])
    with pytest.raises(UntrustedCard, match=r"names command 'python3 reword\.py --slow' in"):
        refuse_untrusted(settings, {"rephrasers": {"c": registry.entries["rephrasers"]["command"]}}, Progress())


def test_an_installed_module_is_trusted_by_its_name(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "installed_lab.py").write_text(LAB)
    cards = {"models__m_yml": "own: {engine: python, model: 'installed_lab:annotate', price: free}\n"}
    root = write_registry(tmp_path, **cards)
    trust_folder(settings, root)
    (tmp_path / "site" / "installed_lab.py").write_text(LAB + "\n# the next release\n")
    refuse_untrusted(settings, used(load_registry([root])), Progress())
    # a file of the registry that takes the name is something else
    (root / "installed_lab.py").write_text(LAB)
    with pytest.raises(UntrustedCard, match=r"of .*registry/installed_lab\.py, which is not trusted"):
        refuse_untrusted(settings, used(load_registry([root])), Progress())


def test_a_file_of_before_there_was_code_is_read_and_kept(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "t.json"
    record(path, [Pair("https://a.example:443", "A_KEY")], tmp_path)
    old = json.loads(path.read_text())
    path.write_text(json.dumps({"trusted": old["trusted"]}))
    trust_folder(settings, write_registry(tmp_path))
    assert [type(each) for each in load(path)] == [Pair, Code, Code, Code, Code]
    assert json.loads(path.read_text())["trusted"] == old["trusted"]


# ---------------------------------------------------------------- readers of a warehouse
def test_a_reader_of_a_warehouse_is_called_where_it_is_trusted_as_it_is(tmp_path: Path, settings: Settings) -> None:
    root = write_registry(tmp_path)
    reader = reader_json(load_registry([root]).task("tone"))
    who = "task 'tone' of run 1"
    with pytest.raises(
        UntrustedCard,
        match=r"^UntrustedCard: task 'tone' of run 1 is read by code 'parser:read', which is not trusted; ",
    ):
        trusted_readers({reader: who})
    trust_folder(settings, root)
    (found,) = trusted_readers({reader: who, '"exact"': who, '{"json_field": "python"}': who})
    assert (Path(found["file"] or "").name, Path(found["file"] or "").read_text()) == ("parser.py", PARSER)
    assert not Path(found["file"] or "").is_relative_to(root)  # a private copy
    assert (found["folder"], found["sha256"]) == (str(root), json.loads(reader)["python"]["sha256"])
    (root / "helper.py").write_text("")
    with pytest.raises(
        ChangedCode, match="which changed since, or a file beside it did: its answers cannot be read again"
    ):
        trusted_readers({reader: who})
    (root / "helper.py").unlink()
    changed = write_registry(tmp_path, parser_py=PARSER + "\n# better\n")
    with pytest.raises(
        ChangedCode, match=r"task 'tone' of run 1 is read by code 'parser:read' of .*, which changed since"
    ):
        trusted_readers({reader: who})
    with pytest.raises(UntrustedCard, match="which is not trusted as it is there"):
        trusted_readers({reader_json(load_registry([changed]).task("tone")): who})


@pytest.mark.parametrize(
    "reader",
    [
        '{"python": "os:system"}',
        '{"python": {"function": "os:system"}}',
        '{"python": {"function": "os:system", "sha256": null, "file": "/tmp/x.py"}}',
        '{"python": {"function": "lab:annotate", "sha256": "{sha256}"}}',  # trusted, but not as a reader
        '{"python": [1, {"a": "\\u001b[2J"}]}',
    ],
)
def test_a_warehouse_of_others_runs_nothing(tmp_path: Path, settings: Settings, reader: str) -> None:
    done = trust_folder(settings, write_registry(tmp_path))
    with pytest.raises(UntrustedCard) as caught:
        trusted_readers({reader.replace("{sha256}", done.code[0].sha256 or ""): "task 't' of run \x1b[2J"})
    assert str(caught.value).isprintable()


def test_a_command_that_is_given_another_variable_is_asked_for_again(tmp_path: Path, settings: Settings) -> None:
    root = write_registry(tmp_path)
    trust_folder(settings, root)
    card = (root / "rephrasers/r.yml").read_text()
    rephrasers = {"rephrasers__r_yml": card.replace("kind: command", "kind: command, environment: [A_KEY]")}
    registry = load_registry([write_registry(tmp_path, **rephrasers)])
    changed = r"names command 'python3 reword\.py --fast' in .*, given A_KEY, which changed since it was trusted"
    with pytest.raises(UntrustedCard, match=changed):
        refuse_untrusted(settings, used(registry, "by_command"), Progress())
    trust_folder(settings, root)
    refuse_untrusted(settings, used(registry, "by_command"), Progress())
