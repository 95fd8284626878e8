"""Reads the label that a field or a group of a pattern holds, by the spelling of a whole answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from promptaudit.udfs.readers.answer_end import answer_end
from promptaudit.udfs.readers.json_object import values_of
from promptaudit.udfs.readers.labels import Labels, label, label_in_text
from promptaudit.udfs.readers.phrases import FINALLY, REVISES, words

_SHOWN = re.compile(
    words(
        "example|format|schema|template|instructions?|asked for|beispiel|vorlage|exemple|modèle|ejemplo|plantilla|formato|"
        "exemplo|modelo|esempio|modello|voorbeeld|przykład|wzór|örnek|biçim|пример|формат|шаблон|"
        "格式|示例|例子|形式|例|フォーマット|형식|예시|مثال|صيغة|उदाहरण|प्रारूप"
    ),
    re.IGNORECASE,
)
_AGAIN = re.compile(f"{words(REVISES)}|{words(FINALLY)}", re.IGNORECASE)


def held_by_field(text: str, path: str, labels: Labels) -> str | None:
    """Reads the label that a field of the JSON in a text holds. A list of one item counts as the item, true as `true`.

    An object that shows the format or an example does not count. Of several that hold different labels the last one
    counts where something is corrected or concluded before it.
    """
    held = [(_text(each.value), each.start, each.end) for each in values_of(text[: answer_end(text)] or text, path)]
    if not held:
        held = [(_text(each.value), each.start, each.end) for each in values_of(text, path)]
    return _last(text, held, labels)


def held_by_pattern(text: str, pattern: Any, labels: Labels) -> str | None:  # noqa: ANN401 - re2 has no stubs
    """Reads the label that the first group of a pattern matches, or the whole match of a pattern without groups.

    The first match that is a label counts, unless a later one stands behind a correction or a conclusion.
    """
    end = answer_end(text)
    matches = list(islice(pattern.finditer(text[:end]), MOST_MATCHES)) or list(
        islice(pattern.finditer(text), MOST_MATCHES)
    )
    held = [(match[1] if match.re.groups else match[0], match.start(), match.end()) for match in matches]
    return _last(text, held, labels, is_first_enough=True)


MOST_MATCHES = 200


def _last(
    text: str, held: Iterable[tuple[str | None, int, int]], labels: Labels, *, is_first_enough: bool = False
) -> str | None:
    found: str | None = None
    before, known = 0, dict[str, str | None]()
    for said, start, end in held:
        between, before = text[before:start], end
        if said is not None and said not in known:
            known[said] = label(said, labels) or label_in_text(said, labels)
        read = None if said is None else known[said]
        if read is None or (found is None and _SHOWN.search(between[-60:]) and _is_followed(text, end)):
            continue
        if found not in (None, read) and _AGAIN.search(between) is None:
            if is_first_enough:  # who writes a pattern has chosen what it matches
                continue
            return None
        found = read
    return found


def _is_followed(text: str, end: int) -> bool:
    return text.find("{", end) >= 0


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return _text(value[0]) if len(value) == 1 else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None
