"""Separates what answers of several files would otherwise share, and finds what is one under several names.

Separated are samples of one id, settings of one model, and splits of one task. Copies that a retry made of answers
count once, and options in another order are put back into one order.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from promptaudit.exchange.recorded_runs.formats.answers import Answer, RecordedAnswers, letters_of
from promptaudit.system.keys import as_json, content_id

Read = tuple[Path, RecordedAnswers]
_TEST = "test"
_SHOWN = 80  # characters of a setting in a model's name


def separate(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    """Separates samples, models, tasks and options that several files would share, and notes each change."""
    read, notes = list(files), list[str]()
    for step in (_by_split, _by_settings, _by_sample, _by_options):
        read, more = step(read)
        notes += more
    return read, notes


def _by_split(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    # each split of the data becomes a task; `test` keeps the task's own name
    n_answers: dict[tuple[str, str], int] = defaultdict(int)

    def named(answer: Answer) -> Answer:
        if answer.split is None or answer.task is None:
            return answer
        task = answer.task if answer.split == _TEST else f"{answer.task} (split {answer.split})"
        n_answers[(answer.split, task)] += 1
        return replace(answer, task=task)

    parted = [(path, replace(read, answers=[named(each) for each in read.answers])) for path, read in files]
    notes = [
        f"{n} answers are to samples of the split '{split}', which is measured by itself: task '{task}'"
        for (split, task), n in n_answers.items()
        if len(n_answers) > 1 or split != _TEST
    ]
    return parted, notes


def _by_settings(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    settings: dict[str, dict[str, None]] = defaultdict(dict)
    for _, read in files:
        for answer in read.answers:
            settings[answer.model].setdefault(answer.settings or "")
    several = {model for model, of_model in settings.items() if len(of_model) > 1}

    def named(answer: Answer) -> Answer:
        if answer.model not in several or not answer.settings:
            return answer
        return replace(answer, model=f"{answer.model} ({answer.settings[:_SHOWN]})")

    notes = [
        f"model '{model}' answered at {len(settings[model])} settings, which stand in its name and are models of their own"
        for model in sorted(several)
    ]
    return [(path, replace(read, answers=[named(each) for each in read.answers])) for path, read in files], notes


def _by_sample(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    # samples with equal contents keep the first id; an id that is taken gets a suffix
    ids: dict[tuple[str | None, str], str] = {}
    owners: dict[tuple[str | None, str], tuple[str, Path]] = {}
    renamed: dict[tuple[Path, Path], dict[str, str]] = defaultdict(dict)

    def identified(path: Path, answer: Answer) -> Answer:
        if answer.sample_key is None:
            return answer
        key = (answer.task, answer.sample_key)
        owner, first = owners.setdefault((answer.task, answer.sample_id), (answer.sample_key, path))
        if key not in ids:
            is_taken = owner != answer.sample_key
            ids[key] = f"{answer.sample_id}~{content_id(answer.sample_key)[:8]}" if is_taken else answer.sample_id
            if is_taken:
                renamed[(path, first)][answer.sample_id] = ids[key]
        return answer if ids[key] == answer.sample_id else replace(answer, sample_id=ids[key])

    parted = [(path, replace(read, answers=[identified(path, each) for each in read.answers])) for path, read in files]
    notes = []
    for (path, first), of_file in renamed.items():
        theirs, ours = next(iter(of_file.items()))
        notes.append(
            f"{path}: {len(of_file)} samples have ids that other samples of {first} have, and are told apart: "
            f"'{theirs[:60]}' became '{ours[:80]}'"
        )
    return parted, notes


def _by_options(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    # The order of a sample's first answer holds for all, so that a letter means one option. An answer whose options are
    # not the same ones, each once, gets a task of its own.
    first: dict[tuple[str | None, str], tuple[str, ...]] = {}
    apart: dict[tuple[Path, str], int] = defaultdict(int)

    def ordered(path: Path, answer: Answer) -> Answer:
        options = tuple(answer.choices)
        wanted = first.setdefault((answer.task, answer.sample_id), options) if options else options
        if wanted == options:
            return answer
        if sorted(wanted) == sorted(options) and len(set(options)) == len(options):
            return _mapped_back(answer, wanted)
        order = (answer.dimensions or {}).get("choices_order", as_json("others"))
        task = f"{answer.task} (options: {json.loads(order)})"
        apart[(path, task)] += 1
        return replace(answer, task=task)

    parted = [(path, replace(read, answers=[ordered(path, each) for each in read.answers])) for path, read in files]
    notes = [
        f"{path}: {n} rows have other options than the first of their sample, where a letter is another option: task '{task}'"
        for (path, task), n in apart.items()
    ]
    return parted, notes


def _mapped_back(answer: Answer, options: Sequence[str]) -> Answer:
    place_of = {text: place for place, text in enumerate(options)}
    order = [place_of[text] for text in answer.choices]
    letters = letters_of(len(options))  # options beyond Z have none
    place_of_gold = dict(zip(letters, order, strict=False)).get(answer.gold_label or "", len(options))
    gold = letters[place_of_gold] if place_of_gold < len(letters) else None
    nats = [nats for _, nats in sorted(zip(order, answer.loglikelihoods, strict=False))]
    return replace(answer, choices=options, option_order=order, gold_label=gold, loglikelihoods=nats)


def asked_once(files: Sequence[Read]) -> tuple[list[list[bool]], list[str]]:
    """Marks for each answer of each file whether it counts, and notes the others: copies, and asks that failed.

    A copy has the uuid or all of the content of an earlier answer to the same ask of the same model. Where a copy was
    scored again, as `inspect score` does, the last one counts. An ask failed where its sample ended in an error and the
    same sample was asked again; of an ask that always failed, one try counts.
    """
    best: dict[tuple[str | None, ...], int] = {}
    for _, read in files:
        for answer in read.answers:
            if answer.ask is not None:
                best[_ask_of(answer)] = max(_grade(answer), best.get(_ask_of(answer), 0))
    kept: dict[tuple[str | None, ...], tuple[int, int]] = {}
    counting, notes = [], []
    for number, (path, read) in enumerate(files):
        copied, rescored, n_failed, of_file = defaultdict[Path, int](int), defaultdict[Path, int](int), 0, list[bool]()
        counting.append(of_file)
        for place, answer in enumerate(read.answers):
            if answer.ask is not None and _grade(answer) < best[_ask_of(answer)]:
                n_failed += 1
                of_file.append(False)
                continue
            key = _key_of(answer)
            earlier = None if key is None else kept.get(key)
            counts = earlier is None
            if earlier is not None:
                first, read_first = files[earlier[0]]
                counts = answer.score not in (None, read_first.answers[earlier[1]].score)
                (rescored if counts else copied)[first] += 1
                counting[earlier[0]][earlier[1]] = not counts
            of_file.append(counts)
            if key is not None and counts:
                kept[key] = (number, place)
        notes += [f"{path}: {n} answers are copies of those in {other}, and count once" for other, n in copied.items()]
        notes += [
            f"{path}: {n} answers are copies of those in {other} with other scores, and only these count"
            for other, n in rescored.items()
        ]
        if n_failed:
            notes.append(
                f"{path}: {n_failed} asks ended in an error and were asked again, and only the answers to those count"
            )
    return counting, notes


def _grade(answer: Answer) -> int:
    return 0 if answer.completion is None else 1 if answer.is_failed else 2


def _ask_of(answer: Answer) -> tuple[str | None, ...]:
    # other models may have a sample of the same task and id
    return answer.model, answer.settings, answer.ask


def _key_of(answer: Answer) -> tuple[str | None, ...] | None:
    # None where nothing separates a copy from a second ask
    at = (answer.model, answer.settings)
    if answer.uuid is not None and _grade(answer) > 1:
        return (*at, answer.uuid)
    if answer.ask is None:
        return None
    return (*at, answer.ask, answer.prompt, answer.completion) if _grade(answer) > 1 else (*at, answer.ask, None, None)
