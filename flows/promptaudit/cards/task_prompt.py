"""Turns a user's prompt into the prompt of a task card: what is reworded, what is added, how answers are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptaudit.cards.answer_format import asks_for_json, how_to_answer, json_field
from promptaudit.cards.placeholder_names import INPUT, PlaceholderNames, names_of, unknown_names
from promptaudit.cards.read_prompt import ChatPrompt
from promptaudit.cards.reworded_part import Part, candidates, named_part, placed
from promptaudit.cards.task_of_data import DataColumns
from promptaudit.prompts.messages import Messages
from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.template_cards import OF_OPTIONS

INSTRUCTION = "Decide which label fits the text."
OF_KIND = {"open_ended": "Answer the question.", "multiple_choice": "Answer with the letter of the right option."}
SHORT_ANSWER = "Answer with the name, word or number alone."
SHORT_WORDS = 3
"""Words up to which a reference answer is a name or a number."""
OUTPUT_FORMAT = "Reply with the label alone."
FIELDS_INSTRUCTION = "Extract the {names} from the text."
FIELDS_FORMAT = "Reply with a JSON object with the fields {names}, and nothing else."
MOST_SHOWN, MOST_NAMES = 160, 5
CARD = "tasks/mine.yml"
Choose = Callable[[Sequence[str]], str]
"""Takes the texts that may be reworded, the likeliest first, and gives one of them or another text of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPrompt:
    """The prompt of a task card. If `is_complete`, nothing is added to it: no line of labels and no output format.

    `asked_fields` are the fields of an extraction, whose answers need no reader.
    """

    instruction: str
    is_complete: bool
    json_field: str | None
    messages: Messages = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    asked_fields: tuple[str, ...] = ()
    template: Mapping[str, str] | None = None
    """Of open questions and of options to choose from: the whole prompt, as a template card has it."""
    lines: tuple[str, ...] = ()
    """Remarks about the prompt for the user."""

    @property
    def fields(self) -> dict[str, Any]:
        """Lists the fields of the card that say what is sent and how answers are read; none of a template's."""
        if self.template is not None:
            return {}
        added = {"labels_line": "none"} if self.is_complete else {"output_format": OUTPUT_FORMAT}
        if self.asked_fields:
            names = listed_in_words(self.asked_fields)
            added = {} if self.is_complete else {"output_format": FIELDS_FORMAT.format(names=names)}
        reader: dict[str, Any] = {"reader": "label" if self.json_field is None else {"json_field": self.json_field}}
        messages = [{"role": role, "content": content} for role, content in self.messages]
        return {
            "instruction": self.instruction,
            **added,
            **({"messages": messages} if messages else {}),
            **({} if self.asked_fields else reader),
        }


def prompt_of_instruction(instruction: str | None, labels: Sequence[str]) -> TaskPrompt:
    """Makes the prompt of an instruction alone. If it says how to answer, it is sent as it stands."""
    text = instruction or INSTRUCTION
    how = how_to_answer(text, labels)
    return TaskPrompt(
        instruction=text,
        is_complete=how is not None,
        json_field=json_field(text, labels),
        lines=() if how is None else (f"{_said('the instruction', how)}; {_added()}",),
    )


def prompt_of_template(columns: DataColumns, instruction: str | None, chat: ChatPrompt | None = None) -> TaskPrompt:
    """Makes the template of open questions or of options to choose from, of an instruction or a chat of one turn.

    An instruction that does not say how to answer is followed by the form that the answers have. Raises UsageError for a
    chat that no template has: turns before the last, placeholders in the system message, or no options where some are.
    """
    shown = "{question}\n\n{options}" if columns.kind == "multiple_choice" else "{question}"
    if chat is None:
        form = OF_KIND[columns.kind] if columns.kind == "multiple_choice" else _form(columns)
        asks = [instruction or OF_KIND["open_ended"]] if columns.kind == "open_ended" or instruction else []
        has_form = instruction is not None and how_to_answer(instruction, columns.labels) is not None
        ask = "\n".join(filter(None, [*asks, "" if has_form else form]))
        return TaskPrompt(instruction=ask, is_complete=True, json_field=None, template={"text": f"{ask}\n\n{shown}"})
    names = names_of(chat, columns)
    turns = [(role, names.put(text).replace("{input}", "{question}")) for role, text in chat.messages]
    system = "\n\n".join(text for role, text in turns if role in ("system", "developer"))
    asked = [text for role, text in turns if role not in ("system", "developer")]
    if len(asked) != 1 or placeholders(system):
        msg = f"{chat.file}: a task of kind {columns.kind} has one user turn, and a system text without placeholders"
        raise UsageError(msg)
    text = asked[0]
    if columns.kind == "multiple_choice":
        for place, option in enumerate(columns.options):
            text = text.replace(f"{{{names.of_cards.get(option, option)}}}", f"{{{OF_OPTIONS[place]}}}")
    template = {**({"system": system} if system else {}), "text": text}
    lines = tuple(
        _lines_of(chat, names, unknown_names(chat, [text], names) if columns.kind == "open_ended" else (), columns)
    )
    return TaskPrompt(
        instruction=text, is_complete=True, json_field=None, columns=names.columns, template=template, lines=lines
    )


def _form(columns: DataColumns) -> str:
    return SHORT_ANSWER if columns.references and is_short(columns.references) else ""


def is_short(references: Sequence[str]) -> bool:
    """Checks whether reference answers are names or numbers rather than sentences."""
    return sum(len(text.split()) for text in references) <= SHORT_WORDS * len(references)


def needs_judge(columns: DataColumns) -> bool:
    """Checks whether the questions are open and no rule scores their answers well: without references, or with long ones."""
    return columns.kind == "open_ended" and (columns.gold_label is None or not is_short(columns.references))


RECOGNISED = (
    "the fields are those of the JSON that the prompt asks for; --fields names others, --labels asks for labels"
)


def prompt_of_fields(instruction: str | None, fields: Sequence[str], *, is_recognised: bool = False) -> TaskPrompt:
    """Makes the prompt of an instruction that asks for fields. If it asks for JSON, it is sent as it stands.

    is_recognised: nobody named the fields.
    """
    text = instruction or FIELDS_INSTRUCTION.format(names=listed_in_words(fields))
    is_complete = asks_for_json(text)
    return TaskPrompt(
        instruction=text,
        is_complete=is_complete,
        json_field=None,
        asked_fields=tuple(fields),
        lines=(
            *((RECOGNISED,) if is_recognised else ()),
            *((f"the instruction asks for JSON; {_added(has_labels=False)}",) if is_complete else ()),
        ),
    )


def listed_in_words(names: Sequence[str]) -> str:
    """Joins names as a sentence lists them: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def prompt_of_chat(
    prompt: ChatPrompt,
    columns: DataColumns,
    instruction: str | None,
    choose: Choose | None = None,
    *,
    is_recognised: bool = False,
) -> TaskPrompt:
    """Makes the prompt of a chat, to which nothing is added: its messages, with {instruction} for what is reworded.

    What is reworded is `instruction`, else the choice of `choose`, else the first of the texts that may be reworded.
    Raises UsageError where it does not stand in exactly one place, or no placeholder stands for the text of a sample.
    `is_recognised` says that nobody named the fields, which are the fields of the prompt's JSON.
    """
    names = names_of(prompt, columns)
    messages = tuple((role, names.put(text)) for role, text in prompt.messages)
    unknown = unknown_names(prompt, [text for _, text in messages], names)
    part = _part(prompt, messages, columns.labels, names, instruction, choose)
    shown = placed(messages, part, prompt.file)
    if not any(f"{{{INPUT}}}" in text for _, text in shown):
        msg = f"--instruction: the text of a sample stands in it; what is reworded has no {{{columns.input}}}"
        raise UsageError(msg)
    asked = "\n".join(text for role, text in messages if role != "assistant")
    how = how_to_answer(asked, columns.labels)
    return TaskPrompt(
        instruction=part.of(messages),
        is_complete=True,
        json_field=None
        if columns.fields
        else json_field(asked, columns.labels, [text for role, text in messages if role == "assistant"]),
        asked_fields=tuple(columns.fields),
        messages=shown,
        columns=names.columns,
        lines=(
            f"reworded: {_short(part.of(messages))} of messages.{part.message}; --instruction TEXT names another part",
            *_lines_of(prompt, names, unknown, columns),
            *((RECOGNISED,) if is_recognised else ()),
            f"{_said('the prompt', how)}; {_added(has_labels=not columns.fields)}",
        ),
    )


def _part(
    prompt: ChatPrompt,
    messages: Messages,
    labels: Sequence[str],
    names: PlaceholderNames,
    instruction: str | None,
    choose: Choose | None,
) -> Part:
    if instruction is not None:
        return named_part(messages, names.put(instruction.strip()), prompt.file)
    found = candidates(messages, labels)
    if not found:
        msg = f"{prompt.file}: no sentence of the system text or last user turn can be reworded; name one: --instruction TEXT"
        raise UsageError(msg)
    texts = [part.of(messages) for part in found]
    chosen = texts[0] if choose is None else choose(texts)
    return found[texts.index(chosen)] if chosen in texts else named_part(messages, names.put(chosen), prompt.file)


def _lines_of(prompt: ChatPrompt, names: PlaceholderNames, unknown: Sequence[str], columns: DataColumns) -> list[str]:
    further = [column for column in names.of_cards if column not in (columns.input, INPUT)]
    lines = [f"put in beside the text: columns {_listed(map(repr, further))}"] if further else []
    if names.is_escaped:
        lines.append("doubled braces are sent as single ones, since every other brace of the prompt is a placeholder's")
    lines += [
        f"{{{name[:MOST_SHOWN]}}} is the name of no column and stays text{nearest(name, columns.names)}"
        for name in unknown[:MOST_NAMES]
    ]
    if prompt.left_out:
        lines.append(f"left out: {_listed(prompt.left_out)}; how a model samples stands in its card")
    return lines


def _listed(names: Iterable[str]) -> str:
    return _cut(", ".join(names))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _said(what: str, how: str | None) -> str:
    return f"{what} does not say how to answer" if how is None else f"{what} says how to answer ({how})"


def _added(*, has_labels: bool = True) -> str:
    fields = "`output_format` and `labels_line`" if has_labels else "`output_format`"
    return f"nothing is added to it ({fields} in {CARD} would)"


def _short(text: str) -> str:
    return repr(_cut(" ".join(text.split())))
