"""Makes a task of a person's data from what the person says, by options or in a conversation, and guesses the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from promptaudit.cards.fields_of_data import columns_of_fields, fields_asked_for
from promptaudit.cards.label_words import numbers_line, stands_for_line, truth_of, unlike_line, words_asked_for
from promptaudit.cards.placeholder_names import names_in_braces
from promptaudit.cards.read_prompt import read_prompt
from promptaudit.cards.task_of_data import NONE, DataColumns, NamedColumns, columns_of, split_labels
from promptaudit.cards.task_prompt import (
    CARD,
    INSTRUCTION,
    OF_KIND,
    Choose,
    TaskPrompt,
    needs_judge,
    prompt_of_chat,
    prompt_of_fields,
    prompt_of_instruction,
    prompt_of_template,
)
from promptaudit.registry.errors import DataError, PromptauditError, UsageError

Ask = Callable[[str, str], str]
"""Takes a question and what Enter answers, and gives the answer."""
_SCALE = re.compile(r"(?<![\w.])(-?\d+)\s*(?:-|–|to|bis|à|a|hasta|and|und)\s*(-?\d+)\b")
FEWEST_OF_SCALE, MOST_DIGITS = 3, 9
MOST_ATTEMPTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """What a person says of the task, each None if it is to be guessed."""

    data: Path
    input: str | None = None
    gold: str | None = None
    id: str | None = None
    kind: str | None = None
    labels: str | None = None
    fields: str | None = None
    instruction: str | None = None
    messages: Path | None = None
    name: str | None = None
    url: str | None = None
    model: str | None = None
    judge: str | None = None


def task_of(request: TaskRequest, file: str, choose: Choose | None = None) -> tuple[DataColumns, TaskPrompt]:
    """Finds the columns of the data and makes the prompt; `file` is the task's card, for messages.

    Labels such as TRUE and FALSE stand for the yes and no that the prompt asks for. Raises as `columns_of`,
    `columns_of_fields` and `prompt_of_chat` do.
    """
    chat = None if request.messages is None else read_prompt(request.messages)
    put_in = frozenset[str]() if chat is None else names_in_braces(chat)
    turns = (("user", request.instruction or ""),) if chat is None else chat.messages
    named = NamedColumns(input=request.input, gold=request.gold, id=request.id, kind=request.kind)
    fields = split_labels(request.fields, "--fields")
    has_gold = request.gold not in (None, NONE)
    if not fields and not request.labels and not has_gold and request.kind in (None, "extraction"):
        fields = fields_asked_for(request.data, turns, put_in)
    if fields and has_gold:
        msg = "--gold and --fields: the column of a field holds its gold value, so give one of the two"
        raise UsageError(msg)
    _refuse_misfits(request.kind, fields, has_labels=bool(request.labels))
    is_recognised = bool(fields) and not request.fields
    columns = (
        columns_of_fields(request.data, fields, put_in, named)
        if fields
        else columns_of(request.data, split_labels(request.labels), put_in, named)
    )
    if request.judge is not None and (request.url is None or not needs_judge(columns)):
        why = (
            "names a model at --url"
            if request.url is None
            else "only open questions have one, with long references or none"
        )
        msg = f"--judge: {why}"
        raise UsageError(msg)
    columns = _with_words("\n".join(text for role, text in turns if role != "assistant"), columns, file)
    if columns.kind in OF_KIND:
        prompt = prompt_of_template(columns, request.instruction, chat)
    elif chat is not None:
        prompt = prompt_of_chat(chat, columns, request.instruction, choose, is_recognised=is_recognised)
    elif columns.fields:
        prompt = prompt_of_fields(request.instruction, tuple(columns.fields), is_recognised=is_recognised)
    else:
        prompt = prompt_of_instruction(request.instruction, columns.labels)
    scale = () if request.labels else scale_of(prompt.instruction, columns.labels)
    if lacking := [label for label in scale if label not in columns.labels]:
        note = f"the prompt's scale has {', '.join(lacking)} too, which the data lacks: labels of the task"
        columns = replace(columns, labels=scale, notes=(*columns.notes, note))
    return columns, replace(prompt, lines=tuple(line.replace(CARD, file) for line in prompt.lines))


def _refuse_misfits(kind: str | None, fields: Sequence[str], *, has_labels: bool) -> None:
    if (kind == "extraction") != bool(fields) and kind is not None:
        what = "--fields a,b,c names the fields of its answers" if not fields else "it has no --fields"
        msg = f"--kind {kind[:80]}: {what}"
        raise UsageError(msg)
    if has_labels and kind not in (None, "classification"):
        msg = f"--kind {kind}: it has no --labels"
        raise UsageError(msg)


def _with_words(text: str, columns: DataColumns, file: str) -> DataColumns:
    if columns.kind == "classification" and columns.gold_labels:  # of labels that were given
        line = stands_for_line("the labels are", columns.labels, columns.gold_labels, file)
        columns = replace(columns, notes=(*columns.notes, line))
    words = words_asked_for(text, columns.labels)
    if columns.kind != "classification":
        return columns
    if not words:
        is_clear = not text.strip() or is_scale(text, columns.labels)
        unsaid = None if is_clear else numbers_line(text, columns.labels, file)
        return columns if unsaid is None else replace(columns, notes=(*columns.notes, unsaid))
    truth = truth_of(words, columns.labels)
    if not truth:
        return replace(columns, notes=(*columns.notes, unlike_line(words, columns.labels, file)))
    labels = tuple(truth[label] for label in columns.labels)
    return replace(
        columns,
        labels=labels,
        gold_labels=truth,
        notes=(*columns.notes, stands_for_line("the prompt asks for", words, truth, file)),
    )


def is_scale(instruction: str, labels: tuple[str, ...]) -> bool:
    """Checks whether a prompt names the range of labels that are whole numbers, as in "from 1 to 5"."""
    return bool(scale_of(instruction, labels))


def scale_of(instruction: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Lists the whole numbers of the range that a prompt names for labels, as in "from 1 to 5"; none if it names none.

    An end of the range is a label, and the range is at most twice as long as the labels; four times, if both ends are.
    """
    if len(labels) < FEWEST_OF_SCALE or not all(re.fullmatch(r"0|-?[1-9]\d{0,8}", label) for label in labels):
        return ()
    numbers = set(map(int, labels))
    for ends in _SCALE.findall(instruction):
        low, high = sorted(int(end[:MOST_DIGITS]) for end in ends)
        most = 2 * len(numbers & {low, high}) * len(numbers)
        if low <= min(numbers) and max(numbers) <= high and high - low < most:
            return tuple(map(str, range(low, high + 1)))
    return ()


def converse(request: TaskRequest, ask: Ask, say: Callable[[str], None], file: str) -> TaskRequest:
    """Says what was found in the data, and asks for what was not given and cannot be known; Enter takes the guess.

    An answer that does not fit is asked for again, with the reason.
    """
    request, columns = _agreed(request, ask, say, file)
    if request.instruction is None and request.messages is None:
        usual = OF_KIND.get(columns.kind, INSTRUCTION)
        answer = ask("your instruction, as you send it", "" if columns.fields else usual)
        request = replace(request, instruction=None if answer in ("", usual) else answer)
    if request.url is None:
        url = _address(ask, say)
        if url != NONE:
            request = replace(request, url=url, model=ask("the name of the model there", "llama3.2"))
    if request.model is not None and request.judge is None and needs_judge(columns):
        answer = ask("the name of the model there that judges its answers", request.model)
        request = replace(request, judge=None if answer == request.model else answer)
    return request


def _address(ask: Ask, say: Callable[[str], None]) -> str:
    for attempt in range(MOST_ATTEMPTS):
        url = ask("the address of your model, such as http://127.0.0.1:11434/v1; - for offline models", NONE)
        try:
            if url != NONE:
                host_of(url)
        except UsageError as error:
            if attempt + 1 == MOST_ATTEMPTS:
                raise
            say(str(error))
        else:
            return url
    return NONE


def host_of(url: str) -> str:
    """Takes the host out of a model's address. Raises UsageError for what is no address."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts.hostname
    except ValueError:  # an impossible address or port
        pass
    msg = f"--url {url[:200]!r}: not an http or https address such as http://127.0.0.1:8000/v1"
    raise UsageError(msg)


def _agrees(ask: Ask, say: Callable[[str], None]) -> bool:
    for _ in range(MOST_ATTEMPTS):
        answer = ask("is that right, yes or no", "yes")
        if answer.casefold() in ("y", "yes", "n", "no"):
            return answer.casefold() in ("y", "yes")
        say(f"{answer[:80]!r} is neither yes nor no; no asks for each column")
    return False


def _agreed(request: TaskRequest, ask: Ask, say: Callable[[str], None], file: str) -> tuple[TaskRequest, DataColumns]:
    # asks for each column until the person agrees
    guess = request
    for attempt in range(MOST_ATTEMPTS):
        try:
            columns, _ = task_of(request, file)
            say(f"{request.data.name}: {columns.sentence}")
            for note in columns.notes:
                say(note)
            if _agrees(ask, say):
                return replace(
                    request, kind=request.kind or (columns.kind if columns.kind in OF_KIND else None)
                ), columns
            guess = TaskRequest(
                data=request.data,
                input=columns.input,
                gold=columns.gold_label or NONE,
                id=columns.id or NONE,
                kind=columns.kind,
                fields=",".join(columns.fields) or None,
                labels=request.labels,
            )
        except DataError:  # no answer mends a file that cannot be read
            raise
        except PromptauditError as error:  # what does not fit is not offered again
            if attempt + 1 == MOST_ATTEMPTS:  # nobody answers
                raise
            say(str(error))
        request = _corrected(request, guess, ask)
    return request, task_of(request, file)[0]


def _corrected(request: TaskRequest, guess: TaskRequest, ask: Ask) -> TaskRequest:
    kind = ask("the kind: classification, multiple_choice, open_ended or extraction", guess.kind or "classification")
    given, text = request.labels, ask("the column of the text", guess.input or "input")
    request = replace(request, kind=kind, input=text, labels=None, fields=None)
    if kind == "extraction":
        request = replace(request, fields=ask("the columns of the fields, as a,b,c", guess.fields or ""), gold=None)
    else:
        what = "reference answers" if kind == "open_ended" else "gold label"
        request = replace(request, gold=ask(f"the column of the {what}, - for none", guess.gold or NONE))
    if kind == "classification" and (given or request.gold == NONE):
        labels = ask("the labels, as a,b,c; - for what the column holds", guess.labels or "")
        request = replace(request, labels=None if labels == NONE else labels)
    return replace(request, id=ask("the column of the id, - for none", guess.id or NONE))
