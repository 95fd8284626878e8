"""Finds the prompt variants among recorded prompts: the instruction is what stays when the parts of the sample are taken out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from flows.recorded_runs.formats.answers import Answer, RecordedAnswers

GAP = "{…}"
"""Stands where prompts of one variant differ in more than the fields of their samples."""
UNKNOWN = "(recorded)"


def variants_of_answers(files: Sequence[RecordedAnswers]) -> list[list[tuple[int, str]]]:
    """Returns the number and the instruction of every answer's prompt variant, a list a file.

    Within a task equal instructions are one variant, whichever file they are of, and numbers follow the order in which they first
    appear. Prompts of one file are one variant as long as no sample has two; else they are told apart by their templates, or,
    where each sample's is another, by their order.
    """
    numbers: dict[tuple[str | None, str], int] = {}
    counts: dict[str | None, int] = defaultdict(int)
    numbered = []
    for file in files:
        instructions = _instructions(file.answers)
        of_file = []
        for answer, instruction in zip(file.answers, instructions, strict=True):
            key = (answer.task, instruction)
            if key not in numbers:
                numbers[key] = counts[answer.task]
                counts[answer.task] += 1
            of_file.append((numbers[key], instruction))
        numbered.append(of_file)
    return numbered


def _instructions(answers: Sequence[Answer]) -> list[str]:
    groups: dict[tuple[str | None, str | None, str | None], list[int]] = defaultdict(list)
    for place, answer in enumerate(answers):
        groups[(answer.task, answer.variant, answer.instruction)].append(place)
    found = [UNKNOWN] * len(answers)
    for (_, variant, instruction), places in groups.items():
        texts = [instruction] * len(places) if instruction is not None else _templates([answers[n] for n in places])
        for place, text in zip(places, texts, strict=True):
            found[place] = text if variant is None else f"{text}\n({variant})"
    return found


def _templates(answers: Sequence[Answer]) -> list[str]:
    """Returns the template of each answer's prompt."""
    templates = [template_of(each.prompt or UNKNOWN, each.fields) for each in answers]
    if len(set(templates)) > 1:
        by_input = [template_of(each.prompt or UNKNOWN, {"input": each.input or ""}) for each in answers]
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
    shared = {rank: _shared(sorted(texts)) for rank, texts in by_rank.items()}
    return [shared[rank] for rank in ranks]


def template_of(prompt: str, fields: Mapping[str, str]) -> str:
    """Returns the prompt with each field's text, as whole words, replaced by its name in braces; the longest text first.

    A field that is the whole prompt says nothing of it.
    """
    names = {text: name for name, text in reversed(list(fields.items())) if text.strip() and text != prompt}
    if not names:
        return prompt
    spans: list[tuple[int, int, str]] = []
    taken = bytearray(len(prompt))
    for text in sorted(names, key=len, reverse=True):
        start = prompt.find(text)
        while start >= 0:
            end = start + len(text)
            if _is_whole(prompt, start, end) and taken.find(1, start, end) < 0:
                spans.append((start, end, names[text]))
                taken[start:end] = b"\x01" * len(text)
                start = prompt.find(text, end)
            else:
                start = prompt.find(text, start + 1)
    parts, place = [], 0
    for start, end, name in sorted(spans):
        parts += [prompt[place:start], f"{{{name}}}"]
        place = end
    return "".join([*parts, prompt[place:]])


def _is_whole(prompt: str, start: int, end: int) -> bool:
    """Returns whether a part of a prompt is not the end of a longer word, nor the beginning of one."""
    goes_back = start > 0 and prompt[start].isalnum() and _is_of_word(prompt[start - 1])
    goes_on = end < len(prompt) and prompt[end - 1].isalnum() and _is_of_word(prompt[end])
    return not (goes_back or goes_on)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _shared(texts: Sequence[str]) -> str:
    """Returns the beginning and the end that texts have in common, a gap between."""
    if len(texts) == 1:
        return texts[0]
    start = _common(texts)
    end = _common([text[len(start) :][::-1] for text in texts])[::-1]
    return f"{start}{GAP}{end}"


def _common(texts: Sequence[str]) -> str:
    """Returns the beginning that all texts have; the least and the greatest of them have it too."""
    least, greatest = min(texts), max(texts)
    n = next(
        (n for n, (a, b) in enumerate(zip(least, greatest, strict=False)) if a != b), min(len(least), len(greatest))
    )
    return least[:n]
