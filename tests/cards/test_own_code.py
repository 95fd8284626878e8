"""What an audit makes of code that its cards name, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.ask.first_answers import label_reader, own_readers_of
from promptaudit.audit.manifest import manifest_of
from promptaudit.cards.check_cards import check_audit, check_cards
from promptaudit.cards.prices import price_of
from promptaudit.cards.trust.command import trust_folder
from promptaudit.engines import Answer
from promptaudit.plan.design import Design, design_audit
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import CardError, EngineError, UntrustedCard
from promptaudit.registry.registry import load_registry
from promptaudit.system.settings import Settings
from promptaudit.warehouse.rows import reader_json
from tests.support.engine_requests import request_of
from tests.support.own_code import LAB, PARSER, REWORDER, write_registry


def design(folder: Path, audit_id: str = "by_function", **changed: str) -> Design:
    return design_audit(load_registry([write_registry(folder, **changed)]), audit_id)


def test_changed_code_asks_anew_where_it_decides_what_is_asked(tmp_path: Path) -> None:
    by_function, by_command = design(tmp_path), design(tmp_path, "by_command")
    assert design(tmp_path).plan_fingerprint == by_function.plan_fingerprint
    assert design(tmp_path, lab_py=LAB + "# other\n").plan_fingerprint != by_function.plan_fingerprint
    assert (
        design(tmp_path, "by_command", reword_py=REWORDER + "# other\n").plan_fingerprint != by_command.plan_fingerprint
    )
    # a reader asks nothing: the task's card is another one, and its answers are read anew
    reread = design(tmp_path, parser_py=PARSER + "# other\n")
    assert reread.plan_fingerprint == by_function.plan_fingerprint
    assert reread.tasks["tone"].fingerprint() != by_function.tasks["tone"].fingerprint()
    assert reread.fingerprint != by_function.fingerprint


def test_the_manifest_has_the_sha256_of_the_code(tmp_path: Path) -> None:
    made = design(tmp_path)
    own = manifest_of(made)["own_code"]
    assert own.keys() == {"lab:annotate", "parser:read", "lab:paraphrase"}
    assert own["lab:annotate"] == own["lab:paraphrase"] == made.models["own"].code_sha256
    assert "own_code" not in manifest_of(design_audit(made.registry, "quickstart"))


def test_validate_says_which_cards_name_which_code(tmp_path: Path) -> None:
    root = write_registry(tmp_path)
    registry = load_registry([root])
    assert check_cards(registry, "by_command")["notes"] == [
        f"tasks/t.yml line 5: task 'tone' names code 'parser:read' of {root}/parser.py",
        f"rephrasers/r.yml line 2: rephraser 'command' names command 'python3 reword.py --fast' in {root}",
    ]
    assert (
        f"models/m.yml line 1: model 'own' names code 'lab:annotate' of {root}/lab.py"
        in check_cards(registry, None)["notes"]
    )
    assert check_audit(registry, "by_function").run_refuses == []


def test_code_that_is_not_there_is_an_error_of_its_card(tmp_path: Path) -> None:
    cards = {"models__m_yml": "own: {engine: python, model: 'lab:annotates', price: free}\n"}
    with pytest.raises(CardError) as caught:
        check_cards(load_registry([write_registry(tmp_path, **cards)]), "by_function")
    assert str(caught.value) == (
        f"CardError: models/m.yml line 1: model 'own' names code 'lab:annotates' of {tmp_path}/registry/lab.py: "
        "lab.py has no 'annotates'; nearest: annotate"
    )


def test_a_command_is_given_no_key(tmp_path: Path) -> None:
    named = "command: {kind: command, command: [python3, reword.py], environment: [HF_HOME, OPENAI_API_KEY]}\n"
    with pytest.raises(CardError) as caught:
        check_cards(load_registry([write_registry(tmp_path, rephrasers__r_yml=named)]), "by_command")
    assert str(caught.value) == (
        "CardError: rephrasers/r.yml line 1: OPENAI_API_KEY is not given to a command: "
        "it may hold a key, or say what Python imports"
    )


def test_the_price_of_a_function_is_the_cards_own(tmp_path: Path) -> None:
    del tmp_path
    assert price_of(ModelCard(engine="python", model="gpt_4o:annotate")) is None
    assert price_of(ModelCard.model_validate({"engine": "python", "model": "a:f", "price": "free"})) is not None


def test_the_first_answers_are_read_by_a_reader_that_is_trusted(tmp_path: Path) -> None:
    root = write_registry(tmp_path)
    readers = {reader_json(load_registry([root]).task("tone")): "task 'tone'"}
    with pytest.raises(UntrustedCard, match="task 'tone' is read by code 'parser:read', which is not trusted"):
        own_readers_of(readers)
    trust_folder(Settings(), root)
    read = label_reader(dict.fromkeys(["v0"], next(iter(readers))), own_readers_of(readers))
    request = request_of(labels=("positive", "negative"))
    assert read(request, Answer(completion="I would say: negative")) == ("negative", True)
    assert read(request, Answer(completion="negative.")) == (None, False)
    write_registry(tmp_path, parser_py="raise OSError('no licence')\n")
    registry = load_registry([root])
    trust_folder(Settings(), root)
    with pytest.raises(
        EngineError, match=r"^EngineError: task 'tone': 'parser:read' cannot be loaded: OSError: no licence"
    ):
        own_readers_of({reader_json(registry.task("tone")): "task 'tone'"})
