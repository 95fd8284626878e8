"""Fills samples into the prompt of a variant, shown as its setting says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptaudit.prompts.messages import ClassificationPrompt, Messages, left_open, prompt_of, render
from promptaudit.prompts.templates import ask
from promptaudit.prompts.variations import input_noise, label_order, option_order, varied
from promptaudit.registry.cards import TaskCard, Template
from promptaudit.registry.samples import ChosenSamples, Sample

LABELS = "{labels}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSample:
    """Holds a sample as a prompt shows it.

    `option_order` has for each place the option's place in the data, and is empty if the order is the data's. `labels`
    replaces {labels} in the messages that are left open, and is None if it is the same for every sample.
    """

    sample: Sample
    messages: Messages
    option_order: tuple[int, ...] = ()
    labels: str | None = None


def json_of(messages: Messages) -> str:
    """Writes messages as JSON, a list of objects with role and content."""
    return json.dumps([{"role": role, "content": content} for role, content in messages], ensure_ascii=False)


class Prompter:
    """Fills samples into the messages of one prompt variant."""

    def __init__(
        self,
        task: TaskCard,
        chosen: ChosenSamples,
        *,
        strategy: str,
        instruction: str,
        template: Template | None,
        setting: str | None,
    ) -> None:
        self._task = task
        self._instruction, self._template = instruction, template
        self._setting: Mapping[str, Any] = {} if setting is None else json.loads(setting)
        # a template has been varied when its variant was made
        self._prompt = prompt_of(self._task, strategy, chosen.examples)
        if template is None:
            self._prompt = varied(self._prompt, self._setting, self._task, chosen)
        self._by_gold: dict[str | None, ClassificationPrompt] = {}

    def put(self, sample: Sample) -> ShownSample:
        """Writes a sample as it is shown, in its messages."""
        order: tuple[int, ...] = ()
        shown = sample
        if "input_noise" in self._setting:
            shown = input_noise.shown(shown, self._setting["input_noise"], self._task)
        if "option_order" in self._setting:
            shown, order = option_order.shown(shown, self._setting["option_order"], self._task)
        messages = (
            render(self._prompt_for(sample.gold_label), self._instruction, shown)
            if self._template is None
            else ask(self._template, shown)
        )
        is_of_data = order == tuple(range(len(order)))
        return ShownSample(
            sample=shown,
            messages=messages,
            option_order=() if is_of_data else order,
            labels=self._prompt_for(sample.gold_label).block if self._orders_by_gold else None,
        )

    @property
    def output_format(self) -> str:
        """Reads the sentence that says how to answer a classification."""
        return str(self._prompt.card.output_format)

    @property
    def left_open(self) -> str:
        """Writes the messages of a classification as JSON, the data's placeholders left open.

        {labels} replaces the labels if each sample has them in another order.
        """
        block = LABELS if self._orders_by_gold else None
        return json_of(left_open(self._prompt_for(None), self._instruction, block))

    @property
    def _orders_by_gold(self) -> bool:
        return label_order.is_of_gold(self._setting.get("label_order"))

    def _prompt_for(self, gold_label: str | None) -> ClassificationPrompt:
        if not self._orders_by_gold:
            return self._prompt
        if gold_label not in self._by_gold:
            self._by_gold[gold_label] = label_order.apply(self._prompt, self._setting["label_order"], gold_label)
        return self._by_gold[gold_label]
