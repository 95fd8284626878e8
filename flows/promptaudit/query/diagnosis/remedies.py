"""Suggests remedies for a confusion: a text to add to the prompt, and a command that tries it on the samples."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from promptaudit.query.diagnosis.confusions import Confusion
from promptaudit.query.diagnosis.material import Material, Unit
from promptaudit.system.display.compared import OfUnit, names_of
from promptaudit.system.display.figures import shown

MOST = 3
MOST_SAMPLES = 20
MOST_CHARACTERS = 200  # of a description or an example
ARMS = 3  # a trial asks each prompt as it was, with a filler, and changed
DESCRIBED = "detail"
"""The strategy whose prompts have the labels' descriptions already."""


READERS_OF_LABELS = ("label", "label_in_text", "first_integer", "exact")
"""Readers that accept an answer of a label alone."""
STRUCTURED = "structured"
"""The strategy whose answers are JSON."""
Key = tuple[str, str, str]
"""A model, task and strategy."""


class TrialOfUnit(NamedTuple):
    """The reader of a unit's answers, as JSON, and how often a trial asks each sample."""

    model_id: str
    task_id: str
    strategy: str
    reader: str
    n_asks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy(OfUnit):
    """A text that may mend a confusion. `command` tries it and asks at most `n_requests`."""

    gold_label: str
    said: str | None
    added: str
    command: str
    n_requests: int


def find_remedies(
    run: str,
    material: Material,
    confusions: Sequence[Confusion],
    descriptions: Mapping[tuple[str, str], str],
    trials: Mapping[Key, TrialOfUnit],
) -> list[Remedy]:
    """Suggests what to try against the confusions that stand out: at most MOST, one for each model, task and strategy.

    Args:
        run: the run, as `try` takes it.
        material: the units and tasks of the diagnosis.
        confusions: the most frequent first.
        descriptions: by task and label, from cards that describe their labels.
        trials: by model, task and strategy.
    """
    units = {unit.group: unit for unit in material.units}
    found: dict[Key, Remedy] = {}
    for each in confusions:
        if each.stands_out and each.group not in found and len(found) < MOST:
            inputs = {} if material.is_hidden(each.task_id) else material.inputs[each.task_id]
            remedy = _remedy(run, units[each.group], trials[each.group], each, descriptions, inputs)
            found |= {} if remedy is None else {each.group: remedy}
    return list(found.values())


def _remedy(
    run: str,
    unit: Unit,
    trial: TrialOfUnit,
    confusion: Confusion,
    descriptions: Mapping[tuple[str, str], str],
    inputs: Mapping[str, str | None],
) -> Remedy | None:
    gold, said = (unit.labels.index(label) for label in (confusion.gold_label, confusion.said))
    own = np.flatnonzero((unit.gold == gold) & (unit.p_tau[:, said] > 0))
    ranked = own[np.argsort(-unit.p_tau[own, said], kind="stable")]
    added = _labels_alone(unit, trial) if confusion.said is None else _described(unit, confusion, descriptions)
    shown_sample = None
    if added is None and confusion.said is not None:
        shown_sample, added = _example(unit, gold, inputs)
    names = (unit.sample_ids[place] for place in ranked)
    samples = [name for name in names if _can_be_listed(name) and name != shown_sample][:MOST_SAMPLES]
    if added is None or not _can_be_added(added) or not samples:
        return None
    words = ["promptaudit", "try", run, "--task", unit.task_id, "--model", unit.model_id, "--strategy", unit.strategy]
    return Remedy(
        **names_of(unit),
        gold_label=confusion.gold_label,
        said=confusion.said,
        added=added,
        command=shlex.join([*words, "--on", ",".join(samples), "--add", added]),
        n_requests=ARMS * trial.n_asks * len(samples),
    )


def _can_be_listed(sample_id: str) -> bool:
    return "," not in sample_id and sample_id == sample_id.strip() and not sample_id.startswith("group:")


def _can_be_added(text: str) -> bool:
    # a placeholder or a control character would not stand in a prompt and in a terminal as it is
    return "{" not in text and shown(text) == text


def _labels_alone(unit: Unit, trial: TrialOfUnit) -> str | None:
    if unit.strategy == STRUCTURED or json.loads(trial.reader) not in READERS_OF_LABELS:
        return None
    return (
        f"Reply with one of these and nothing else: {', '.join(label for label in unit.labels if label is not None)}."
    )


def _described(unit: Unit, confusion: Confusion, descriptions: Mapping[tuple[str, str], str]) -> str | None:
    pair = [(label, descriptions.get((unit.task_id, label))) for label in (confusion.gold_label, str(confusion.said))]
    if unit.strategy == DESCRIBED or any(not _is_short(text) for _, text in pair):
        return None
    return " ".join(f"{label} is for: {' '.join(str(text).split()).rstrip('.')}." for label, text in pair)


def _example(unit: Unit, gold: int, inputs: Mapping[str, str | None]) -> tuple[str | None, str | None]:
    # from the class that loses, the sample that is right most often
    of_class = np.flatnonzero(unit.gold == gold)
    for place in of_class[np.argsort(-unit.p_tau[of_class, gold], kind="stable")]:
        name = unit.sample_ids[place]
        text = " ".join((inputs.get(name) or "").split())
        if unit.p_tau[place, gold] > 0 and _is_short(text) and _can_be_added(text):
            return name, f'For example, "{text}" is {unit.labels[gold]}.'
    return None, None


def _is_short(text: str | None) -> bool:
    return bool(text) and len(str(text)) <= MOST_CHARACTERS
