"""Finds the prompt variants among recorded prompts. A prompt without the parts of its sample is the instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from promptaudit.exchange.recorded_runs.formats.answers import Answer, PromptVariant, RecordedAnswers
from promptaudit.exchange.recorded_runs.prompt_dimensions import (
    Dimensions,
    key_of,
    reference_of,
    settings_of,
    with_demonstrations,
)
from promptaudit.exchange.recorded_runs.prompt_variations import is_setting, is_variation
from promptaudit.exchange.recorded_runs.shared_text import is_of_word, joined, shared
from promptaudit.prompts.variations import variation_of
from promptaudit.registry.errors import DataError
from promptaudit.system.keys import as_json

UNKNOWN = "(recorded)"
MAX_COMPARED = 3_000_000  # steps in which texts are looked for in the prompts of a file, beyond those by their length
_CHARACTERS_A_STEP = 500  # passed over, count as one step more
_CHARACTERS_FOR_A_STEP = 32  # of the prompts give one step more: a dozen texts are looked for in each
# task and strategy
_Group = tuple[str | None, str | None]
# what separates the variants of a task: instruction, dimensions, and what else a file says
_Key = tuple[str, str | None, str | None]


def variants_of_answers(files: Sequence[RecordedAnswers]) -> list[list[PromptVariant]]:
    """Finds the prompt variant of every answer and gives one list for each file.

    Within a task equal instructions are one variant in all files, and numbers follow the order of their first
    appearance. Prompts of one file are one variant as long as no sample has two. Otherwise their templates separate
    them or, where each sample's template is another, their order does. Where files say in what their prompts vary, this
    separates variants too, and variant 0 is the one that the others differ least from.
    """
    answers = [answer for file in files for answer in file.answers]
    dimensions = with_demonstrations(answers)
    instructions = _instructions_of(files, dimensions)
    found: dict[_Group, dict[_Key, tuple[Answer, Dimensions | None]]] = defaultdict(dict)
    keys = []
    for answer, instruction, varied in zip(answers, instructions, dimensions, strict=True):
        key = (instruction, key_of(varied), answer.variant)
        keys.append(((answer.task, answer.strategy), key))
        found[keys[-1][0]].setdefault(key, (answer, varied))
    variants = {group: _numbered(of_group) for group, of_group in found.items()}
    listed = iter([variants[group][key] for group, key in keys])
    return [[next(listed) for _ in file.answers] for file in files]


def _numbered(found: Mapping[_Key, tuple[Answer, Dimensions | None]]) -> dict[_Key, PromptVariant]:
    # a variant gets a kind only where files say it for each one, or say in what each one varies
    answers = [answer for answer, _ in found.values()]
    varied = [dimensions for _, dimensions in found.values() if dimensions is not None]
    if len(varied) < len(found):
        return {key: PromptVariant(index=index, instruction=key[0]) for index, key in enumerate(found)}
    kinds = [answer.variation for answer in answers]
    have_kinds = all(map(_has_kind, answers))
    if have_kinds and kinds.count("original") != 1:  # kinds need one original, and here is none or several
        return {key: PromptVariant(index=index, instruction=key[0]) for index, key in enumerate(found)}
    if have_kinds:
        first = kinds.index("original")
        pairs = [(answer.variation, answer.setting) for answer in answers]
    else:
        first = reference_of(varied)
        settings = settings_of(varied, [key[0] for key in found], first)
        pairs = [(variation_of(setting), as_json(setting)) for setting in settings]
    index_of = {place: index for index, place in enumerate(sorted(range(len(found)), key=lambda place: place != first))}
    return {
        key: PromptVariant(index=index_of[place], instruction=key[0], variation=variation, setting=setting)
        for place, (key, (variation, setting)) in enumerate(zip(found, pairs, strict=True))
    }


def _has_kind(answer: Answer) -> bool:
    return is_variation(answer.variation or "") and (answer.setting is None or is_setting(answer.setting))


def _instructions_of(files: Sequence[RecordedAnswers], dimensions: Sequence[Dimensions | None]) -> list[str]:
    # templates that differ only in texts that a file's samples share have one instruction
    begun, answers, texts, numbers = 0, list[Answer](), list[str](), list[int]()
    for number, file in enumerate(files):
        answers += file.answers
        varied = dimensions[begun : begun + len(file.answers)]
        texts += _instructions(file.answers, varied, Compared(file.answers))
        numbers += [number] * len(file.answers)
        begun += len(file.answers)
    texts = _as_of_most_samples(answers, texts)
    asked: dict[str | None, dict[str, dict[int, set[str]]]] = defaultdict(dict)
    whole: dict[str | None, set[str]] = defaultdict(set)
    for answer, number, text in zip(answers, numbers, texts, strict=True):
        asked[answer.task].setdefault(text, defaultdict(set))[number].add(answer.sample_id)
        if text == answer.prompt and answer.instruction is None:
            whole[answer.task].add(text)
    samples: dict[tuple[str | None, int], set[str]] = defaultdict(set)
    for answer, number in zip(answers, numbers, strict=True):
        samples[answer.task, number].add(answer.sample_id)
    one = {}
    for task, found in asked.items():
        alone = {text for text in whole[task] if all(len(samples[task, number]) == 1 for number in found[text])}
        one[task] = joined(found, alone)
    return [one[answer.task][text] for answer, text in zip(answers, texts, strict=True)]


def _as_of_most_samples(answers: Sequence[Answer], texts: Sequence[str]) -> list[str]:
    # Replaces a template by another that has more samples and fits every prompt of it: a trial of one sample, or a log
    # that was stopped, shows less of its template than the whole log does.
    samples: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for answer, text in zip(answers, texts, strict=True):
        samples[answer.task, text].add(answer.sample_id)
    of_prompt: dict[tuple[str | None, str | None], str] = {}
    for answer, text in zip(answers, texts, strict=True):
        key = (answer.task, answer.prompt)
        if key not in of_prompt or len(samples[answer.task, text]) > len(samples[answer.task, of_prompt[key]]):
            of_prompt[key] = text
    better: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for answer, text in zip(answers, texts, strict=True):
        is_named = answer.instruction is not None or answer.variant is not None or answer.prompt is None
        better[answer.task, text].add(text if is_named else of_prompt[answer.task, answer.prompt])
    return [
        next(iter(found)) if len(found := better[answer.task, text]) == 1 else text
        for answer, text in zip(answers, texts, strict=True)
    ]


class Compared:
    """Counts the steps of searching texts in the prompts of a file. Every text may be searched in every prompt."""

    def __init__(self, answers: Sequence[Answer] = ()) -> None:
        self.left = MAX_COMPARED + sum(len(each.prompt or "") for each in answers) // _CHARACTERS_FOR_A_STEP

    def step(self, n_characters: int) -> None:
        """Counts a step over so many characters. Raises DataError for one too many."""
        self.left -= 1 + n_characters // _CHARACTERS_A_STEP
        if self.left < 0:
            msg = "the texts of its samples stand so often in its prompts, or are so many, that they are not looked for; split it"
            raise DataError(msg)


def _instructions(answers: Sequence[Answer], dimensions: Sequence[Dimensions | None], compared: Compared) -> list[str]:
    groups: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for place, (answer, varied) in enumerate(zip(answers, dimensions, strict=True)):
        groups[(answer.task, answer.variant, answer.instruction, key_of(varied))].append(place)
    found = [UNKNOWN] * len(answers)
    for (_, variant, instruction, _), places in groups.items():
        of_group = [answers[n] for n in places]
        texts = [instruction] * len(places) if instruction is not None else _templates(of_group, compared)
        for place, text in zip(places, texts, strict=True):
            is_enough = variant is None or answers[place].dimensions is not None
            found[place] = text if is_enough else f"{text}\n({variant})"
    return found


def _templates(answers: Sequence[Answer], compared: Compared) -> list[str]:
    template_by: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}  # answers to one prompt share it

    def template(answer: Answer, fields: Mapping[str, str]) -> str:
        key = (answer.prompt or UNKNOWN, tuple(fields.items()))
        if key not in template_by:
            try:
                template_by[key] = template_of(key[0], fields, compared)
            except DataError as error:
                msg = f"{answer.place}: {error.args[0]}"
                raise DataError(msg) from None
        return template_by[key]

    templates = [template(each, each.fields) for each in answers]
    if len(set(templates)) > 1:
        by_input = [template(each, {"input": each.input or ""}) for each in answers]
        templates = min(templates, by_input, key=lambda texts: len(set(texts)))
    of_sample: dict[str, dict[str, int]] = defaultdict(dict)
    ranks = []
    for answer, text in zip(answers, templates, strict=True):
        known = of_sample[answer.sample_id]
        ranks.append(known.setdefault(text, len(known)))
    n_variants = max(ranks) + 1
    if len(set(templates)) <= n_variants:
        return templates
    by_rank: dict[int, set[str]] = defaultdict(set)
    for rank, text in zip(ranks, templates, strict=True):
        by_rank[rank].add(text)
    found = {rank: shared(sorted(texts)) for rank, texts in by_rank.items()}
    return [found[rank] for rank in ranks]


def template_of(prompt: str, fields: Mapping[str, str], compared: Compared | None = None) -> str:
    """Replaces each field's text in the prompt, as whole words, by its name in braces, the longest text first.

    A field that is the whole prompt is left alone. Raises DataError where it takes more steps than `compared` has left.
    """
    compared = compared or Compared()
    longest = len(prompt)
    names = {
        text: name
        for name, text in reversed(list(fields.items()))
        if len(text) <= longest and text != prompt and text.strip()
    }
    if not names:
        return prompt
    spans: list[tuple[int, int, str]] = []
    taken = bytearray(len(prompt))
    for text in sorted(names, key=len, reverse=True):
        place, begins_word, ends_word = 0, text[0].isalnum(), text[-1].isalnum()
        while (start := prompt.find(text, place)) >= 0:
            end = start + len(text)
            compared.step(end - place)
            goes_back = begins_word and start and is_of_word(prompt[start - 1])
            goes_on = not goes_back and ends_word and end < longest and is_of_word(prompt[end])
            if not (goes_back or goes_on) and taken.find(1, start, end) < 0:
                spans.append((start, end, names[text]))
                taken[start:end] = b"\x01" * len(text)
                place = end
            else:
                place = start + 1
        compared.step(longest - place)
    parts, place = [], 0
    for start, end, name in sorted(spans):
        parts += [prompt[place:start], f"{{{name}}}"]
        place = end
    return "".join([*parts, prompt[place:]])
