"""How a prompt of a user's becomes that of a card: in Python, and from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from promptaudit.cards.placeholder_names import names_in_braces
from promptaudit.cards.read_prompt import ChatPrompt
from promptaudit.cards.task_of_data import columns_of
from promptaudit.cards.task_prompt import TaskPrompt, prompt_of_chat, prompt_of_instruction
from promptaudit.prompts.messages import prompt_of, render
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.errors import UsageError
from promptaudit.registry.samples import load_samples
from tests.support.shell import promptaudit

ROWS = """id,review,Store name,labels,verdict
r1,{it} broke,Hill,two,no
r2,Great,Sea,one,yes
r3,Fine,Hill,one,yes
r4,Bad,Sea,two,no
"""
JUDGE = ("system", "Judge the review.")


def made(
    folder: Path,
    *messages: tuple[str, str],
    named: str | None = None,
    choose: Callable[[Sequence[str]], str] | None = None,
) -> TaskPrompt:
    """The prompt of a chat over the rows, checked by the card that it becomes."""
    (folder / "d.csv").write_text(ROWS, encoding="utf-8")
    chat = ChatPrompt(file="prompt.json", messages=messages)
    return prompt_of_chat(chat, columns_of(folder / "d.csv", (), names_in_braces(chat)), named, choose)


def card_of(prompt: TaskPrompt) -> TaskCard:
    data = {"path": "d.csv", "id": "id", "input": "review", "gold_label": "verdict", "columns": prompt.columns}
    return TaskCard.model_validate({"labels": ["no", "yes"], **prompt.fields, "data": data})


def sent(folder: Path, prompt: TaskPrompt) -> list[str]:
    """The texts that are sent for the first row under the original wording."""
    card = card_of(prompt)
    first = load_samples("t", card, folder)[0]
    return [text for _, text in render(prompt_of(card, "simple", {}), card.instruction, first)]


SHOWN = ("user", 'Like {"a": {"b": 1}}: x'), ("assistant", '{"kind": "yes"}')


@pytest.mark.parametrize("form", ["{review}", "{{review}}", "{{ review }}"])
def test_what_is_sent_is_the_prompt_with_its_columns_put_in(tmp_path: Path, form: str) -> None:
    asked = ("user", f"{form} of {{{{Store name}}}}, {{labels}}. {{x}}\n")
    prompt = made(tmp_path, JUDGE, *SHOWN, asked)
    assert prompt.instruction == "Judge the review."
    assert sent(tmp_path, prompt) == [
        "Judge the review.",
        'Like {"a": {"b": 1}}: x',
        '{"kind": "yes"}',
        "{it} broke of Hill, two. {x}\n",
    ]
    assert prompt.columns == {"column_Store_name": "Store name", "column_labels": "labels"}
    assert "put in beside the text: columns 'Store name', 'labels'" in prompt.lines
    assert "{x} is the name of no column and stays text; known: Store name, id, labels, review, verdict" in prompt.lines


def test_doubled_braces_are_pythons_where_every_other_brace_is_a_columns(tmp_path: Path) -> None:
    note = "doubled braces are sent as single ones, since every other brace of the prompt is a placeholder's"
    escaped = made(tmp_path, ("system", 'Judge it. Reply with {{"a": {{"b": 1}}}}'), ("user", "{review}"))
    assert sent(tmp_path, escaped) == ['Judge it. Reply with {"a": {"b": 1}}', "{it} broke"]
    assert note in escaped.lines
    for text in ('Judge it. Like {{"a": 1}} or {"a": 1}', "Judge it. Like {{review}} and {review}"):
        plain = made(tmp_path, ("system", text), ("user", "{review}"))
        assert sent(tmp_path, plain)[0] == text.replace("{{review}}", "{it} broke").replace("{review}", "{it} broke")
        assert note not in plain.lines


def test_what_is_said_of_a_long_prompt_stays_short(tmp_path: Path) -> None:
    names = " ".join(f"{{name_{n}}}" for n in range(1000))
    prompt = made(tmp_path, ("system", f"Judge {'it ' * 1000}. Like {names}"), ("user", "{review}"))
    assert len(prompt.lines) < 10
    assert all(len(line) < 400 for line in prompt.lines)


def test_input_is_the_text_where_no_column_is_called_so(tmp_path: Path) -> None:
    assert sent(tmp_path, made(tmp_path, JUDGE, ("user", "{input}, {Store name}, {review}"))) == [
        "Judge the review.",
        "{it} broke, Hill, {it} broke",
    ]


def test_a_column_that_is_put_in_is_no_gold_label(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(
        "question,answer,right\nq1,yes,no\nq2,yes,yes\nq3,no,no\nq4,no,yes\n", encoding="utf-8"
    )
    found = columns_of(tmp_path / "d.csv", (), {"question", "answer"})
    assert (found.input, found.gold_label) == ("question", "right")
    assert columns_of(tmp_path / "d.csv").gold_label == "answer"
    found = columns_of(tmp_path / "d.csv", (), {"question", "answer", "right"})
    assert "since no column but those that the prompt puts in holds a few labels" in found.notes[-1]


def test_a_named_part_is_reworded_and_may_hold_placeholders(tmp_path: Path) -> None:
    messages = (("system", "You judge. Be kind to {{Store name}}."), ("user", "{{review}}"))
    prompt = made(tmp_path, *messages, named=" Be kind to {{Store name}}. ")
    assert prompt.instruction == "Be kind to {column_Store_name}."
    assert prompt.messages[0] == ("system", "You judge. {instruction}")
    assert sent(tmp_path, prompt)[0] == "You judge. Be kind to Hill."
    reworded = "reworded: 'Be kind to {column_Store_name}.' of messages.0; --instruction TEXT names another part"
    assert prompt.lines[0] == reworded


def test_a_person_chooses_a_part_or_names_one(tmp_path: Path) -> None:
    messages = (("system", "Judge the review. Reply with yes or no. Be kind."), ("user", "{review}"))
    offered: list[Sequence[str]] = []

    def second(texts: Sequence[str]) -> str:
        offered.append(texts)
        return texts[1]

    assert made(tmp_path, *messages, choose=second).instruction == "Be kind."
    assert offered == [["Judge the review.", "Be kind."]]
    assert made(tmp_path, *messages, choose=lambda _: "Reply with yes or no.").instruction == "Reply with yes or no."


@pytest.mark.parametrize(
    ("messages", "named", "message"),
    [
        (
            [JUDGE, ("user", "{reviews}")],
            None,
            "prompt.json: no placeholder in it is the column of the text; found {reviews}; nearest: review",
        ),
        (
            [JUDGE, ("user", "a text")],
            None,
            "prompt.json: no placeholder in it is the column of the text; known: Store name, id",
        ),
        ([JUDGE, ("user", "{review} {instruction}")], None, "prompt.json: {instruction} is filled in by cards"),
        ([("user", "{review}")], None, "prompt.json: no sentence of the system text or last user turn can be reworded"),
        (
            [("user", "Is {review} kind?")],
            "Is {review} kind?",
            "the text of a sample stands in it; what is reworded has no",
        ),
    ],
)
def test_what_cannot_be_a_cards_prompt_is_told_in_a_line(
    tmp_path: Path, messages: list[tuple[str, str]], named: str | None, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        made(tmp_path, *messages, named=named)
    assert message in str(caught.value)


def test_an_instruction_that_says_how_to_answer_gets_nothing_added() -> None:
    prompt = prompt_of_instruction('Judge it. Respond in JSON: {"mood": "yes"}', ("no", "yes"))
    assert prompt.fields["labels_line"] == "none"
    assert "output_format" not in prompt.fields
    assert prompt.fields["reader"] == {"json_field": "mood"}
    assert prompt.lines[0].startswith('the instruction says how to answer ("Respond in JSON')
    assert "nothing is added to it (`output_format` and `labels_line` in tasks/mine.yml would)" in prompt.lines[0]
    plain = prompt_of_instruction("Judge the review.", ("no", "yes"))
    assert plain.fields == {
        "instruction": "Judge the review.",
        "output_format": "Reply with the label alone.",
        "reader": "label",
    }
    assert plain.lines == ()


def test_init_writes_the_cards_of_a_chat_and_says_what_is_reworded(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(ROWS, encoding="utf-8")
    body = [{"role": role, "content": text} for role, text in (JUDGE, *SHOWN, ("user", "{review}"))]
    (tmp_path / "prompt.json").write_text(json.dumps(body), encoding="utf-8")
    ended = promptaudit(tmp_path, "init", "--data", "d.csv", "--messages", "prompt.json")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert "reworded: 'Judge the review.' of messages.0; --instruction TEXT names another part" in lines
    assert lines[-2].startswith("the prompt does not say how to answer; nothing is added to it")
    assert promptaudit(tmp_path, "validate", "mine").code == 0
    options = ("--data", "d.csv", "--messages", "prompt.json", "--instruction", "Judge the revue.")
    refused = promptaudit(tmp_path, "init", "other", *options)
    assert refused.code == 2
    assert refused.one_line().endswith(
        "does not stand in a system or user turn of prompt.json; nearest: 'Judge the review.'"
    )
    assert not (tmp_path / "other").exists()
    alone = promptaudit(tmp_path, "init", "other", "--messages", "prompt.json")
    assert (alone.code, "go with --data" in alone.one_line()) == (2, True)
