"""Finds what prompts of one template have in common, and joins templates of files that hold different samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

GAP = "{…}"
"""Stands where prompts of one variant differ in more than the fields of their samples."""
_LEAST_KEPT = 0.5  # of a template's text, where it is joined with another


def shared(texts: Sequence[str]) -> str:
    """Keeps the beginning and the end that texts have in common, in whole words, with a gap between."""
    if len(texts) == 1:
        return texts[0]
    n_start = _whole_words(texts, _n_alike(texts))
    rest = [text[n_start:][::-1] for text in texts]
    n_end = _whole_words(rest, _n_alike(rest))
    return f"{texts[0][:n_start]}{GAP}{rest[0][:n_end][::-1]}"


def _n_alike(texts: Sequence[str]) -> int:
    # all texts begin as the least and the greatest do
    least, greatest = min(texts), max(texts)
    pairs = enumerate(zip(least, greatest, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(least), len(greatest)))


def _whole_words(texts: Sequence[str], n: int) -> int:
    # samples may begin alike: a word that goes on in some text is left out
    while n and is_of_word(texts[0][n - 1]) and any(len(text) > n and is_of_word(text[n]) for text in texts):
        n -= 1
    return n


def is_of_word(character: str) -> bool:
    """Checks for a letter, a digit or an underscore."""
    return character.isalnum() or character == "_"


@dataclass(slots=True)
class _Joined:
    # a merged template, the samples that were asked under it, and the files it is in

    text: str
    samples: set[str]
    files: set[int]


def joined(found: Mapping[str, Mapping[int, set[str]]], whole: AbstractSet[str] = frozenset()) -> dict[str, str]:
    """Maps each template to the merged template it belongs to. `found` has its samples, by its text and file.

    Two templates with a gap merge where they share neither file nor sample and, on either side of the gap, one goes on
    beyond the other, as it does where the samples of one file begin or end alike; at least half of each must be kept.
    `whole` are texts that are the whole prompt of a file's only sample. Such a text belongs to a template that it fits,
    or to another such text where half of both is kept.
    """
    if len({number for of_files in found.values() for number in of_files}) == 1:
        return {text: text for text in found}
    known: list[_Joined] = []
    place_of = {}
    for text, of_files in sorted(found.items(), key=lambda each: each[0] in whole):
        if GAP not in text and text not in whole:
            continue
        samples = set[str]().union(*of_files.values())
        merge = _of_whole if text in whole else _of_both
        merged = {
            place: of_both
            for place, other in enumerate(known)
            if other.files.isdisjoint(of_files) and other.samples.isdisjoint(samples)
            if (of_both := merge(text, other.text)) is not None
        }
        place = max(merged, key=lambda each: len(merged[each]), default=len(known))
        place_of[text] = place
        if place == len(known):
            known.append(_Joined(text, samples, set(of_files)))
        else:
            other = known[place]
            known[place] = _Joined(merged[place], samples | other.samples, {*other.files, *of_files})
    return {text: known[place_of[text]].text if text in place_of else text for text in found}


def _of_whole(prompt: str, other: str) -> str | None:
    of_both = shared((other, prompt))
    before, _, after = of_both.partition(GAP)
    if GAP in other:
        return of_both if of_both == other and (before + after).strip() else None
    is_alike = before.strip() and after.strip()
    return of_both if is_alike and len(before + after) >= _LEAST_KEPT * max(len(prompt), len(other)) else None


def _of_both(one: str, other: str) -> str | None:
    (before, _, after), (before_other, _, after_other) = one.partition(GAP), other.partition(GAP)
    start, end = min(before, before_other, key=len), min(after, after_other, key=len)
    is_beyond = before.startswith(start) and before_other.startswith(start)
    is_beyond = is_beyond and after.endswith(end) and after_other.endswith(end)
    longest = max(len(before) + len(after), len(before_other) + len(after_other))
    return f"{start}{GAP}{end}" if is_beyond and len(start) + len(end) >= _LEAST_KEPT * longest else None
