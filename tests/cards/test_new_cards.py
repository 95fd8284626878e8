"""Cards for a user's own data and endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.cards.check_cards import check_cards
from promptaudit.cards.new_cards import Endpoint, scaffold_for
from promptaudit.cards.task_of_data import columns_of
from promptaudit.cards.task_prompt import TaskPrompt
from promptaudit.registry.errors import CardError, UsageError
from promptaudit.registry.registry import load_registry
from promptaudit.registry.task_cards import JsonFieldReader

ROWS = "id,text,label\n" + "".join(f"{n:03},a text: {{x}} #{n},{'no' if n % 2 else 'on'}\n" for n in range(12))


PROMPT = TaskPrompt(instruction='Say "on": or no, #1', is_complete=False, json_field=None)


def test_a_file_and_an_endpoint_become_cards_that_are_sound(tmp_path: Path) -> None:
    data, folder = tmp_path / "mine.csv", tmp_path / "registry"
    data.write_text(ROWS, encoding="utf-8")
    endpoint = Endpoint(url="http://127.0.0.1:8123/v1", model="house-1")
    written, _ = scaffold_for(folder, data, columns_of(data), PROMPT, endpoint)
    assert all(path.is_file() for path in written)
    registry = load_registry([folder])
    task, model = registry.task("my_task"), registry.model("my_model")
    # YAML reads a bare `on` and `no` as booleans, a bare 003 as a number: labels and ids stay text
    assert task.label_names == ("on", "no")
    assert (task.instruction, task.output_format) == ('Say "on": or no, #1', "Reply with the label alone.")
    assert (model.model, model.base_url, model.api_key_env) == ("house-1", ("http://127.0.0.1:8123/v1",), None)
    assert registry.audit("mine").models == ("my_model",)
    assert check_cards(registry, "mine")["summary"] == "audit 'mine' is sound"
    assert (folder / "datasets/mine.csv").read_text(encoding="utf-8") == ROWS


def test_an_endpoint_elsewhere_names_the_variable_of_its_key() -> None:
    card = Endpoint(url="https://api.example.org/v1", model="m").card()
    assert card["api_key_env"] == "OPENAI_API_KEY"
    assert "price" not in card


def test_without_an_endpoint_the_offline_models_are_audited(tmp_path: Path) -> None:
    data, folder = tmp_path / "mine.jsonl", tmp_path / "registry"
    data.write_text("".join(f'{{"text": "t{n}", "gold": "{"ab"[n % 2]}"}}\n' for n in range(6)), encoding="utf-8")
    scaffold_for(folder, data, columns_of(data), PROMPT, None)
    registry = load_registry([folder])
    assert registry.audit("mine").models == ("lexical", "random")
    assert registry.audit("mine").strategies == ("simple", "detail")
    assert registry.task("my_task").data.path == "datasets/mine.jsonl"
    assert [path.name for path in (folder / "datasets").iterdir()] == ["mine.jsonl"]  # the starter's data has gone
    assert check_cards(registry, "mine")["summary"] == "audit 'mine' is sound"


def test_what_is_no_address_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    data = tmp_path / "mine.csv"
    data.write_text(ROWS, encoding="utf-8")
    with pytest.raises(UsageError, match="--url 'file:///etc': not an http or https address"):
        scaffold_for(tmp_path / "registry", data, columns_of(data), PROMPT, Endpoint(url="file:///etc", model="m"))
    assert not (tmp_path / "registry").exists()


@pytest.mark.parametrize("url", ["http://[bad", "http://h:99999/v1", "http:///v1"])
def test_what_cannot_be_an_address_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="not an http or https address"):
        Endpoint(url=url, model="m").card()


def test_a_card_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    data = tmp_path / "mine.csv"
    data.write_text(ROWS, encoding="utf-8")
    with pytest.raises(CardError):
        scaffold_for(tmp_path / "registry", data, columns_of(data), PROMPT, Endpoint(url="http://h/v1", model=""))
    assert not (tmp_path / "registry").exists()


AWKWARD = (
    ("system", '{instruction}\n\n  indented: {"a": "x"} \n\ttab, "quotes" and \'others\' # no comment\n'),
    ("assistant", "null"),
    ("user", "- é 😀 \u0085\u2028 {input}\n\n"),
)


def test_messages_stand_in_the_card_as_they_were(tmp_path: Path) -> None:
    data, folder = tmp_path / "mine.csv", tmp_path / "registry"
    data.write_text(ROWS, encoding="utf-8")
    instruction = "Say on\n\n or no: {column_a}. "
    prompt = TaskPrompt(
        instruction=instruction, is_complete=True, json_field="a", messages=AWKWARD, columns={"column_a": "text"}
    )
    scaffold_for(folder, data, columns_of(data), prompt, None)
    registry = load_registry([folder])
    task = registry.task("my_task")
    assert tuple((each.role, each.content) for each in task.messages) == AWKWARD
    assert (task.instruction, task.output_format, task.labels_line) == (instruction, "", "none")
    assert task.reader == JsonFieldReader(json_field="a")
    assert registry.audit("mine").strategies == ("simple",)
    assert check_cards(registry, "mine")["summary"] == "audit 'mine' is sound"
