"""Finds the solved examples that landed prompts show: the only place with the texts of rows that no run asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from promptaudit.prompts.messages import ONE_SHOT, Messages, dressing
from promptaudit.prompts.put_samples import Prompter
from promptaudit.prompts.variations import examples
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.samples import ChosenSamples, Sample

_MARK = "\ue000{place}\ue001"  # stands for a text, of characters that no text has
_MARKED = re.compile("\ue000(\\d+)\ue001")


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedVariant:
    """Holds what prompts are rebuilt from: the needed columns of a row of raw.prompt_variants."""

    prompt_variant_id: str
    task_id: str
    strategy: str
    instruction: str | None
    prompt: str | None
    answer_schema: str | None
    template: str | None
    setting: str | None


def shown_examples(task: TaskCard, variants: Iterable[LandedVariant]) -> ChosenSamples:
    """Collects the examples that the prompts of a task show, by label, and the rows that are shown in place of them.

    Leaves out an example that no prompt of `variants` shows, or whose ends in the prompt are ambiguous.
    """
    of_labels: dict[str, str] = dict(task.examples or {})
    rows: dict[str, Sample] = {}
    for variant in variants:
        shown = examples_in(task, variant)
        of_labels = {**shown.examples, **of_labels}
        rows = {**{row.sample_id: row for row in shown.spare}, **rows}
    return ChosenSamples((), of_labels, tuple(rows.values()))


def examples_in(task: TaskCard, variant: LandedVariant) -> ChosenSamples:
    """Finds the examples in one landed prompt: by label, or the rows that its setting names.

    Finds none if their ends in the prompt are ambiguous.
    """
    if dressing(variant.strategy) != ONE_SHOT or variant.template is not None:
        return ChosenSamples((), {})
    wanted = _marked(task, variant)
    landed = _messages(variant.prompt)
    own = _messages(_left_open(task, variant, wanted))
    if [role for role, _ in landed] != [role for role, _ in own]:
        return ChosenSamples((), {})
    texts: dict[str, str] = {}  # by mark
    for (_, marked), (_, text) in zip(own, landed, strict=True):
        parts = _parts_by_mark(marked, text)
        if parts is None or any(texts.setdefault(mark, part) != part for mark, part in parts):
            return ChosenSamples((), {})
    return ChosenSamples(
        (),
        # of extraction the answer is read from the prompt too
        {texts.get(label, label): texts[mark] for label, mark in wanted.examples.items() if mark in texts},
        tuple(replace(row, text=texts[row.text]) for row in wanted.spare if row.text in texts),
    )


def with_texts(task: TaskCard, variant: LandedVariant, texts: Mapping[str, str]) -> str | None:
    """Writes a landed prompt with other texts for some of the rows that it shows as examples, by their ids.

    None if it shows none of them. Raises ValueError if it shows some and their ends in the prompt are ambiguous.
    """
    level = _level(variant)
    is_named = bool(level and level.get("rows")) and not texts.keys().isdisjoint(level["rows"])
    if not is_named or not _MARKED.search(_left_open(task, variant, _marked(task, variant))):
        return None  # shows none of them, or its labels and examples stand in another order for each sample
    rows = examples_in(task, variant).spare
    if not rows:
        msg = f"the examples of prompt variant {variant.prompt_variant_id} are not told apart"
        raise ValueError(msg)
    others = tuple(replace(row, text=texts.get(row.sample_id, row.text)) for row in rows)
    return _left_open(task, variant, ChosenSamples((), {}, others))


def _marked(task: TaskCard, variant: LandedVariant) -> ChosenSamples:
    # a mark stands for each example's text, and for its answer if that is no label
    if task.fields:
        return ChosenSamples((), {_MARK.format(place=1): _MARK.format(place=0)})
    level, names = _level(variant), task.label_names
    if not level or level["rows"] is None:
        return ChosenSamples((), {name: _MARK.format(place=place) for place, name in enumerate(names)})
    labels = examples.labels_of(level, names)
    rows = [
        Sample(row, _MARK.format(place=place), label, {})
        for place, (row, label) in enumerate(zip(level["rows"], labels, strict=True))
    ]
    return ChosenSamples((), {}, tuple(rows))


def _left_open(task: TaskCard, variant: LandedVariant, chosen: ChosenSamples) -> str:
    prompter = Prompter(
        task,
        chosen,
        strategy=variant.strategy,
        instruction=variant.instruction or "",
        template=None,
        setting=variant.setting,
    )
    return prompter.left_open


def _level(variant: LandedVariant) -> Any:  # noqa: ANN401 - as JSON has it
    return json.loads(variant.setting or "{}").get("examples")


def _messages(prompt: str | None) -> Messages:
    return tuple((each["role"], each["content"]) for each in json.loads(prompt or "[]"))


def _parts_by_mark(marked: str, text: str) -> list[tuple[str, str]] | None:
    # None if it is another text, or ambiguous: if a text holds what follows its mark, it may end there or go on
    first, *rest = _MARKED.split(marked)
    if not text.startswith(first):
        return None
    if any(not behind or _n_times(behind, marked) != _n_times(behind, text) for behind in rest[1:-1:2]):
        return None
    parts, at = [], len(first)
    for place in range(0, len(rest), 2):
        behind = rest[place + 1]
        is_last = place + 2 >= len(rest)
        end = text.rfind(behind) if is_last else text.find(behind, at)
        if end < at or (is_last and not text.endswith(behind)):
            return None
        parts.append((_MARK.format(place=rest[place]), text[at:end]))
        at = end + len(behind)
    return parts if at == len(text) else None


def _n_times(part: str, text: str) -> int:
    # places that overlap included
    return len(re.findall(f"(?={re.escape(part)})", text))
