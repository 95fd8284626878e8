"""Varies a prompt's form: the casing and separators of its descriptors, its spacing, how options or labels are written.

As in FormatSpread (Sclar et al., 2024, ICLR, "Quantifying Language Models' Sensitivity to Spurious Features in Prompt
Design"): a descriptor ("Question") in some casing, a separator (": ") behind it, a space between fields, and for
options an enumerator in some wrapper and what stands between them. The words of the output format stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptaudit.engines.embedded.draws import choice
from promptaudit.prompts.messages import ClassificationPrompt, LabelForm
from promptaudit.prompts.variations.original import Level, Original, PromptT
from promptaudit.prompts.variations.system import ROLES
from promptaudit.registry.cards import TaskCard, Template
from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.template_cards import SIGNS

CASINGS: Mapping[str, Callable[[str], str]] = {
    "as written": str,
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
}
FIELDS: Mapping[str, Sequence[str]] = {
    "casing": tuple(CASINGS),
    "separator": (": ", " : ", ":: ", " ::: ", ":", " - ", " -> ", ":\n", "\n\t", "\t", " "),
    "spacing": ("\n\n", "\n", "\n\n\n", " \n", "\n-- ", "\n|| ", "\n\t"),
}
OF_LABELS: Mapping[str, Sequence[str]] = {
    "between": (", ", " | ", "; ", " / ", " , ", "\n"),
    "bullet": ("- ", "* ", "• ", "", "\t"),
    "arrow": ("\n-> ", " -> ", "\n", " => ", "\nLabel: ", " || "),
}
OF_FIELDS: Mapping[str, Sequence[str]] = {
    **OF_LABELS,
    "arrow": ("\n-> ", " -> ", "\n", " => ", "\nJSON: ", " || "),
}
OF_OPTIONS: Mapping[str, Sequence[str]] = {
    "option": tuple(
        form.replace("A", "{enumerator}") + "{option}"
        for form in ("A. ", "A) ", "(A) ", "[A] ", "A: ", "<A> ", "A.) ", "A - ")
    ),
    "between": ("\n", "\n\n", "; ", " | ", " || ", ", "),
    "enumerators": ("upper", "lower", "numbers", "roman"),
}
# the head of a field: a line that begins with a descriptor and a placeholder, or with one of the two alone
_FIELD = re.compile(
    r"(?P<gap>\A|\s*\n\s*)(?:(?P<descriptor>[^\W\d_][\w '/-]{0,29}):(?P<behind>\s*))?(?=(?P<what>\{[A-Za-z_]\w*\}|\Z))"
)
# descriptors for placeholders that begin a line without one
_NAMES = {"input": "Input", "question": "Question"}
_NUMBERS_NAMED = re.compile(r"(?i)\b(?:numbers?|numbered|numerals?)\b|(?-i:\b[B-H]\b)")
_LETTERS_NAMED = re.compile(r"(?i)\bletters?\b")
MOST_TRIES = 50  # a level


def misfit(task: TaskCard) -> str | None:  # noqa: ARG001 - as of every kind
    """Finds no obstacle: every prompt has a form."""
    return None


def levels(original: Original, n: int) -> list[Level]:
    """Draws up to n forms, field by field; no two make the same prompt, and a smaller n gives the first of them."""
    fields = _fields(original)
    if isinstance(original.prompt, ClassificationPrompt):
        return _drawn(original.prompt, fields, n)
    return _drawn(original.prompt, fields, n)


def _drawn(original: PromptT, fields: Mapping[str, Sequence[str]], n: int) -> list[Level]:
    seen, chosen = {_key(original)}, list[Level]()
    for draw in range(MOST_TRIES * n):
        level = {name: choice(values, "format", name, draw) for name, values in fields.items()}
        key = _key(apply(original, level))
        if key not in seen:
            seen.add(key)
            chosen.append(level)
        if len(chosen) == n:
            break
    return chosen


def _key(prompt: ClassificationPrompt | Template) -> str:
    # equal for two forms that make the same prompt
    if isinstance(prompt, ClassificationPrompt):
        return repr((prompt.block, [message.content for message in prompt.card.messages]))
    return prompt.canonical_json()


def _fields(original: Original) -> dict[str, Sequence[str]]:
    prompt = original.prompt
    if isinstance(prompt, ClassificationPrompt):
        return {**FIELDS, **(OF_FIELDS if original.task.fields else OF_LABELS)}
    if not prompt.has_options:
        return dict(FIELDS)
    of_options = dict(OF_OPTIONS)
    most = max((len(sample.options) for sample in original.chosen.samples), default=len(original.task.labels))
    texts = (prompt.text, prompt.system or "", prompt.answer)
    if prompt.examples or not isinstance(prompt.enumerators, str) or any(_NUMBERS_NAMED.search(text) for text in texts):
        del of_options["enumerators"]  # the prompt speaks of its own
    else:
        signs = ("upper", "lower") if any(_LETTERS_NAMED.search(text) for text in texts) else of_options["enumerators"]
        of_options["enumerators"] = tuple(name for name in signs if len(SIGNS[name]) >= most)
    return {**FIELDS, **of_options}


def apply(prompt: PromptT, level: Level) -> PromptT:
    """Rewrites the prompt in another form."""
    return _classification(prompt, level) if isinstance(prompt, ClassificationPrompt) else _template(prompt, level)


def _classification(prompt: ClassificationPrompt, level: Level) -> ClassificationPrompt:
    messages = tuple(
        message if message.role in ROLES else message.model_copy(update={"content": _restyled(message.content, level)})
        for message in prompt.card.messages
    )
    form = LabelForm(between=level["between"], bullet=level["bullet"], colon=level["separator"], arrow=level["arrow"])
    return replace(prompt, card=prompt.card.model_copy(update={"messages": messages}), form=form)


def _template(template: Template, level: Level) -> Template:
    changes: dict[str, Any] = {name: level[name] for name in ("option", "between", "enumerators") if name in level}
    changes["text"] = _restyled(template.text, level)
    if template.examples:
        changes["example"] = _restyled(template.example, {**level, "spacing": "\n"})
    return template.model_copy(update=changes)


def _restyled(text: str, level: Level) -> str:
    # descriptors with another casing, separator and gap before them; lines that are no field stay

    def head(match: re.Match[str]) -> str:
        descriptor, what = match["descriptor"], match["what"]
        name = placeholders(what)[0] if what else ""
        if descriptor is None and name not in _NAMES:
            return match[0]
        separator = level["separator"] if what else level["separator"].rstrip()
        gap = level["spacing"] if match["gap"] and match.start() else match["gap"]
        return f"{gap}{CASINGS[level['casing']](descriptor or _NAMES[name])}{separator}"

    return _FIELD.sub(head, text)
