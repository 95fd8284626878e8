"""The JSON Schemas of card files take every card that loads and refuse wrong fields, types, ranges and words."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from ruamel.yaml import YAML

from promptaudit.cards.new_cards import scaffold
from promptaudit.registry.card_schemas import file_schema
from promptaudit.registry.cards import Card
from promptaudit.registry.errors import CardError
from promptaudit.registry.read_yaml import read_yaml
from promptaudit.registry.registry import KINDS, SHIPPED
from tests.support.shell import promptaudit

ROOT = Path(__file__).parents[2]
VALIDATORS = {kind: Draft202012Validator(file_schema(kind)) for kind in KINDS}
EDITOR = YAML(typ="safe", pure=True)  # YAML 1.2, as editors read it
NEEDED = re.compile(r"\b(?:tasks|model|data|kind|panel): ?\S")  # every card has one of these fields
TASK = "t: {labels: [a, b], instruction: Is it a or b?, data: {path: t.csv, gold_label: label}"
AUDIT = "a: {tasks: [t], models: [m]"
MODEL = "m: {engine: openai_api, model: gpt"


def as_json(value: Any) -> Any:
    """What an editor hands to a schema: keys are texts."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, list) else value


def faults(kind: str, text: str) -> list[str]:
    return [error.message for error in VALIDATORS[kind].iter_errors(as_json(EDITOR.load(text)))]


def kinds_of(text: str, folder: Path) -> list[str]:
    """The kinds as which all cards of a file load; none where it has no cards."""
    path = folder / "cards.yml"
    path.write_text(text, encoding="utf-8")
    try:
        document, _, faults = read_yaml(path, "cards.yml")
    except CardError:
        return []
    if faults or not document:
        return []
    return [kind for kind, card in KINDS.items() if all(map(partial(_loads, card), document.values()))]


def _loads(card: type[Card], body: Any) -> bool:
    try:
        card.model_validate(body)
    except ValidationError:
        return False
    return True


def texts_of_tests() -> Iterator[str]:
    """Every text in the tests' code and every YAML block of the documentation that may be a card file."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and re.search(r"\w: *[\w{\n]", node.value)
            ):
                yield node.value
    for path in [ROOT / "README.md", *sorted((ROOT / "infra").rglob("*.md"))]:
        yield from re.findall(r"^```yaml\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("kind", KINDS)
def test_every_shipped_card_holds_to_its_schema(kind: str) -> None:
    folders = (SHIPPED / kind, SHIPPED / "starter" / kind)
    files = [path for folder in folders for path in sorted(folder.rglob("*.yml"))]
    assert files
    assert {path.name: found for path in files if (found := faults(kind, path.read_text(encoding="utf-8")))} == {}


def test_every_card_of_the_tests_and_the_documentation_that_loads_holds_to_its_schema(tmp_path: Path) -> None:
    n_loaded = 0
    for text in set(texts_of_tests()):
        for kind in kinds_of(text, tmp_path):
            n_loaded += 1
            assert faults(kind, text) == [], text
    assert n_loaded > 60


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("audits", f"{AUDIT}, askers: 4}}"),
        ("audits", f"{AUDIT}, askers: '4'}}"),
        ("audits", f"{AUDIT}, askers: {{n: 4, work_pool: far}}}}"),
        ("audits", "a: {tasks: t, models: m, strategies: detail, gate: sensitivity <= 0.2, judges: j}"),
        ("audits", f"{AUDIT}, samples: {{limit: '1_000', seed: -1, balanced: no}}, min_effect: 2e-2}}"),
        ("audits", f"{AUDIT}, model_sets: {{small: m}}, samples: {{by_task: {{t: {{limit: 5}}}}}}}}"),
        ("tasks", f"{TASK}}}"),
        ("tasks", TASK.replace("[a, b]", "{a: the first, b: }") + "}"),
        ("tasks", TASK.replace("[a, b]", "[0, {label: 1, description: one}]") + ", level: ordinal}"),
        ("tasks", f"{TASK}, reader: {{regex: '[ab]'}}, labels_line: {{simple: none}}, scoring: label_match}}"),
        ("models", f"{MODEL}, price: free, base_url: http://127.0.0.1:1/v1, grid: {{temperature: [0, 0.7]}}}}"),
        (
            "models",
            f"{MODEL}, price: {{input_usd_per_mtok: 1, output_usd_per_mtok: 2}}, extra_body: {{a: [1, {{b: null}}]}}}}",
        ),
        ("templates", "t: {kind: open_ended, templates: ['{question}', {text: 'Say: {question}'}]}"),
        ("judges", "j: {model: m, tasks: t, reply: {grades: {true: yes, false: no}}}"),
        ("rephrasers", "r: {kind: fixed, variants: {t: [one, two]}}"),
    ],
)
def test_what_loads_in_short_is_taken(kind: str, text: str, tmp_path: Path) -> None:
    assert kind in kinds_of(text, tmp_path)
    assert faults(kind, text) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("audits", f"{AUDIT}, strategy: simple}}"),
        ("audits", f"{AUDIT}, strategies: [plain]}}"),
        ("audits", f"{AUDIT}, askers: 1001}}"),
        ("audits", f"{AUDIT}, askers: many}}"),
        ("audits", f"{AUDIT}, repetitions: 3}}"),
        ("audits", f"{AUDIT}, repetitions: {{original: 1.5}}}}"),
        ("audits", f"{AUDIT}, samples: {{balanced: maybe}}}}"),
        ("audits", f"{AUDIT}, min_effect: 1.2}}"),
        ("audits", f"{AUDIT}, min_effect: a bit}}"),
        ("audits", f"{AUDIT}, format: {{rule: warn}}}}"),
        ("audits", "a: {tasks: [t]}"),
        ("audits", "a: {tasks: [], models: [m]}"),
        ("audits", "a: [t, m]"),
        ("audits", f'{AUDIT}, model_sets: {{"a\\nb": [m]}}}}'),
        ("tasks", f"{TASK}, kind: quiz}}"),
        ("tasks", f"{TASK}, labels_line: {{detail: none}}}}"),
        ("tasks", f"{TASK}, reader: {{regexp: a}}}}"),
        ("tasks", "t: {labels: [a, b], instruction: Is it?}"),
        ("models", f"{MODEL}, engine: openai}}".replace("engine: openai_api, ", "")),
        ("models", f"{MODEL}, sampling: {{temperature: 11}}}}"),
        ("models", f"{MODEL}, sampling: {{heat: 1}}}}"),
        ("models", f"{MODEL}, price: cheap}}"),
        ("templates", "t: {kind: open_ended, templates: []}"),
        ("judges", "j: {model: m, controls: {right: -1}}"),
        ("rephrasers", "r: {kind: python, function: no_function}"),
    ],
)
def test_what_pydantic_refuses_is_refused(kind: str, text: str, tmp_path: Path) -> None:
    assert kind not in kinds_of(text, tmp_path)
    assert faults(kind, text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "audits",
            """a:
  tasks: [t]
  models: [m]
  rephrasing: {rephraser: rules, variants: 0, kind: freely}
  samples: {limit: 40, sead: 42}
  repetitions: {original: many}
  max_age: 36 parsecs
""",
        ),
        (
            "models",
            f"{MODEL}, price: cheap, limits: {{max_connections: -1, rpm: 3}}, sampling: {{top_p: 2, temperature: hot}}}}",
        ),
        ("tasks", f"{TASK}, level: nominl, reader: {{regexp: a}}, scoring: [nope], sensitive: perhaps, kinds: a}}"),
    ],
)
def test_a_card_with_five_faults_shows_five(kind: str, text: str) -> None:
    """Two faults of one optional part are two, and none stands under a heading that the value is of none of some forms."""
    assert len(found := faults(kind, text)) == 5, found
    assert sum("any of the given schemas" in fault for fault in found) <= ("reader" in text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_one_and_describes_every_field(kind: str) -> None:
    made = file_schema(kind)
    Draft202012Validator.check_schema(made)
    for card in (made["additionalProperties"], *made["$defs"].values()):
        assert card["additionalProperties"] is False
        assert all(field["description"] for field in card["properties"].values())


def test_scaffolded_cards_name_the_schemas_beside_them(tmp_path: Path) -> None:
    scaffold(tmp_path / "registry")
    for kind in KINDS:
        assert json.loads((tmp_path / "registry/schemas" / f"{kind}.json").read_text()) == file_schema(kind)
    cards = sorted((tmp_path / "registry").rglob("*.yml"))
    assert len(cards) == 4
    for path in cards:
        named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text())
        assert named
        assert (path.parent / named[1]).resolve() == tmp_path / "registry/schemas" / f"{path.parent.name}.json"


def test_init_in_a_folder_with_cards_renews_its_schemas_and_touches_no_card(tmp_path: Path) -> None:
    promptaudit(tmp_path, "init")
    card, schema = tmp_path / "registry/tasks/mine.yml", tmp_path / "registry/schemas/tasks.json"
    card.write_text("# mine\n")
    schema.unlink()
    schema.symlink_to(tmp_path / "elsewhere.json")
    renewed = promptaudit(tmp_path, "init")
    assert "the cards in registry stay as they are" in renewed.out
    assert card.read_text() == "# mine\n"
    assert json.loads(schema.read_text()) == file_schema("tasks")
    assert not (tmp_path / "elsewhere.json").exists()
    schema.write_text("{}")
    refused = promptaudit(tmp_path, "init")
    assert (refused.code, "registry/schemas/tasks.json is no JSON Schema" in refused.err) == (2, True)
    assert schema.read_text() == "{}"
    (tmp_path / "registry/schemas").rename(tmp_path / "elsewhere")
    (tmp_path / "registry/schemas").symlink_to(tmp_path / "elsewhere")
    refused = promptaudit(tmp_path, "init")
    assert (refused.code, "registry/schemas is a link" in refused.err) == (2, True)
