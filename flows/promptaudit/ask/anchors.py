"""Makes anchors: answers with a known verdict, in the words of models, on which judges rule on every night.

Controls show a judge nothing but references, another's references and tricks; a judge that turns harsh on prose passes
them all. An anchor says what is right, or likely and wrong, in a sentence, or is an answer that people ruled on. The
judge of tonight rules on each of them anew; its rulings of other nights are never used again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from promptaudit.engines.embedded.number_words import whole_in_words
from promptaudit.plan.design import Design
from promptaudit.plan.judge_requests import Control, content_of, rank, wanted
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.placeholders import substitute
from promptaudit.registry.samples import Sample
from promptaudit.system.keys import content_id
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.sql import sql

WORDED, RULED = ("right_in_words", "wrong_in_words"), "ruled"
ANCHORS = (*WORDED, RULED)
SENTENCES = (
    "It is {answer}.",
    "The answer is {answer}, of course.",
    "As far as I know, it is {answer}.",
    "{answer}. I am fairly sure of it.",
    "That would be {answer}, if I remember rightly.",
    "Good question! The answer you are looking for is {answer}.",
    "Let me think about it for a moment. All in all, the answer to this question has to be {answer}.",
    "Sure, I can help with that: {answer} is the answer.",
)
FRAMES = (
    "{answer}",
    "My answer: {answer}",
    "I would put it like this. {answer}",
    "{answer} That is what I would say to this question.",
)
"""Frames references that are sentences themselves, or long."""
SHORT = 6  # words
ROUNDS = 4  # times that a sample may be used if there are few


def anchors_of(warehouse: Warehouse, audit_run_id: str, design: Design) -> list[Control]:
    """Makes the anchors of a run: for every task and kind as many as the judge that wants most, in the order of use.

    Anchors that people ruled on are answers of earlier nights of the audit, ruled on before this run began, to
    questions that are asked in the same words today. A question with options has none, because people saw the options
    in an order.
    """
    ruled = _ruled_anchors(warehouse, audit_run_id, design)
    return [
        anchor
        for task_id in design.tasks
        for kind in ANCHORS
        for anchor in (
            ruled.get(task_id, [])[: wanted(design, task_id, kind)]
            if kind == RULED
            else _worded_anchors(design, task_id, kind, wanted(design, task_id, kind))
        )
    ]


def right_in_words(task: TaskCard, sample: Sample, place: int) -> str:
    """Says what is right for a sample as a model may say it, in another sentence at each place."""
    ways = list(sample.references) or [_said_of_choice(task, sample, task.label_names.index(sample.gold_label or ""))]
    return _worded(ways[_draw("reference", sample, place) % len(ways)], sample, place)


def wrong_in_words(task: TaskCard, sample: Sample, others: Sequence[Sample], place: int) -> str | None:
    """Says what is likely and wrong, in the same ways: another option or label, or another sample's reference.

    That reference is of the same sort if there is one (a number, a name of as many words), and shares no word with what
    is right. None if there is none.
    """
    if sample.gold_label is not None:
        count = len(sample.options) or len(task.label_names)
        gold = task.label_names.index(sample.gold_label)
        other = (gold + 1 + _draw("wrong", sample, place) % (count - 1)) % count
        return _worded(_said_of_choice(task, sample, other), sample, place)
    wrong = [(_sort(other, text), text) for other in others for text in other.references if _is_wrong(text, sample)]
    is_number, n_words = _sort(sample, sample.references[0])
    alike = [text for sort, text in wrong if sort == (is_number, n_words)]
    found = alike or [text for sort, text in wrong if sort[0] == is_number] or [text for _, text in wrong]
    return _worded(found[place % len(found)], sample, place) if found else None


def number_in_words(text: str) -> str | None:
    """Writes a whole number from 0 to 99 in English words; None for anything else.

    >>> number_in_words("52")
    'fifty-two'
    """
    return whole_in_words(int(text)) if re.fullmatch(r"[0-9]{1,2}", text) else None


def _worded_anchors(design: Design, task_id: str, kind: str, count: int) -> Iterator[Control]:
    task = design.tasks[task_id]
    keyed = sorted(
        (sample for sample in design.samples[task_id].samples if sample.has_key),
        key=lambda sample: rank("anchor", kind, task_id, sample.sample_id),
    )
    seen: set[str] = set()
    for turn in range(ROUNDS):
        for number, sample in enumerate(keyed):
            if len(seen) == count:
                return
            if kind == "right_in_words":
                said: str | None = right_in_words(task, sample, turn)
            else:
                said = wrong_in_words(task, sample, keyed[number + 1 :] + keyed[:number], turn)
            if said is None:
                continue
            control_id = content_id("control", task_id, sample.sample_id, kind, said)
            if control_id in seen:
                continue
            yield Control(
                control_id=control_id,
                task_id=task_id,
                sample_id=sample.sample_id,
                kind=kind,
                place=len(seen),
                completion=said,
                is_match=kind == "right_in_words",
            )
            seen.add(control_id)


class _Ruled(NamedTuple):
    task_id: str
    sample_id: str
    completion: str
    is_match: bool


def _ruled_anchors(warehouse: Warehouse, audit_run_id: str, design: Design) -> dict[str, list[Control]]:
    # by task, in an order that new rulings do not change
    samples = {
        (task_id, sample.sample_id): sample for task_id, chosen in design.samples.items() for sample in chosen.samples
    }
    found: dict[str, list[Control]] = {}
    rows = warehouse.read(sql("ask", "ruled_answers"), run=audit_run_id, tasks=list(design.tasks))
    for row in sorted(rows_as(_Ruled, rows), key=lambda row: rank(RULED, *row[:3])):
        sample = samples.get((row.task_id, row.sample_id))
        if sample is None or sample.options or not sample.has_key:
            continue
        own = found.setdefault(row.task_id, [])
        control_id = content_id("control", row.task_id, row.sample_id, RULED, row.completion)
        own.append(Control(**row._asdict(), control_id=control_id, kind=RULED, place=len(own)))
    return found


def _worded(answer: str, sample: Sample, place: int) -> str:
    # a short answer may be written otherwise: a number in words, a name without its article
    answer = answer.strip()
    if len(answer.split()) > SHORT or answer.endswith((".", "!", "?")):
        return substitute(FRAMES[(_draw("frame", sample, 0) + place) % len(FRAMES)], {"answer": answer})
    sentence = SENTENCES[(_draw("sentence", sample, 0) + place) % len(SENTENCES)]
    if (_draw("written", sample, place)) % 2:
        answer = next((said for way in _WAYS if (said := way(answer)) is not None), answer)
    return substitute(sentence, {"answer": answer})


def _without_article(text: str) -> str | None:
    article, _, rest = text.partition(" ")
    return rest if article.casefold() in ("the", "a", "an") and rest else None


def _in_capitals(text: str) -> str | None:
    # None for words with capitals or digits inside, whose case may mean something
    is_plain = all(word[1:] == word[1:].lower() and word.isalpha() and len(word) > 2 for word in text.split())  # noqa: PLR2004 - a symbol is shorter
    return text.upper() if is_plain else None


_WAYS: tuple[Callable[[str], str | None], ...] = (number_in_words, _without_article, _in_capitals)


def _said_of_choice(task: TaskCard, sample: Sample, index: int) -> str:
    # a label, or an option as it is said in a sentence
    sign = task.label_names[index]
    if not sample.options:
        return sign
    option = sample.options[index].strip().rstrip(".")
    return (option, f"{sign}, {option}", f"({sign}) {option}")[_draw("option", sample, index) % 3]


def _is_wrong(text: str, sample: Sample) -> bool:
    right = {content for reference in sample.references for content in content_of(reference)}
    words = {word for reference in sample.references for word in _words(reference)}
    return right.isdisjoint(content_of(text)) and words.isdisjoint(_words(text))


def _words(text: str) -> set[str]:
    # a number up to 99 also in words
    words = set(re.findall(r"\w+", text.casefold()))
    return words | {said for word in words if (said := number_in_words(word)) is not None}


def _sort(sample: Sample, text: str) -> tuple[bool, int]:
    # whether the sample is answered by a number, and how many words the text has
    is_number = any(character.isdigit() for reference in sample.references for character in reference)
    return is_number, len(text.split())


def _draw(what: str, sample: Sample, place: int) -> int:
    return int.from_bytes(rank(what, sample.sample_id, str(place))[:4], "big")
