"""Holds what is varied: the original prompt of a task under a strategy, and the audit's settings for its variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from promptaudit.prompts.messages import ClassificationPrompt, prompt_of
from promptaudit.registry.cards import Rephrasing, TaskCard, Template, TemplateCard
from promptaudit.registry.samples import ChosenSamples

Level = Any
"""Holds what stands in a variant's setting for one kind of variation, as JSON has it."""

Prompt = ClassificationPrompt | Template
"""Names what a sample is filled into: the prompt of an instruction, or a template."""
PromptT = TypeVar("PromptT", ClassificationPrompt, Template)


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """Holds the original prompt of a task under one strategy."""

    task: TaskCard
    strategy: str
    prompt: Prompt
    chosen: ChosenSamples
    noise_rate: float
    systems: tuple[str, ...]

    @property
    def has_gold(self) -> bool:
        """Checks whether some sample has a gold label."""
        return any(sample.gold_label is not None for sample in self.chosen.samples)


def original_of(
    task: TaskCard, strategy: str, templates: TemplateCard | None, chosen: ChosenSamples, rephrasing: Rephrasing | None
) -> Original:
    """Builds the original prompt of a task under a strategy: its first template if it has some."""
    return Original(
        task=task,
        strategy=strategy,
        prompt=prompt_of(task, strategy, chosen.examples) if templates is None else templates.templates[0],
        chosen=chosen,
        noise_rate=0.0 if rephrasing is None else rephrasing.noise_rate,
        systems=() if rephrasing is None else rephrasing.systems,
    )
