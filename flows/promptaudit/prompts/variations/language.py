"""Varies the language of the instruction, by the translations in the task's card; inputs and labels stay.

lm-evaluation-harness keeps such translations of one task beside each other (its tasks `xnli`, `xcopa` and `mgsm`, the
last after Shi et al., 2023, ICLR, "Language Models are Multilingual Chain-of-Thought Reasoners").
"""

from __future__ import annotations

from dataclasses import replace

from promptaudit.prompts.messages import ClassificationPrompt
from promptaudit.prompts.variations.original import Level, Original, PromptT
from promptaudit.registry.cards import TaskCard


def misfit(task: TaskCard) -> str | None:
    """Says why a task cannot be varied so; None if it can."""
    return None if task.translations else "its card has no translations; add them, language to instruction"


def levels(original: Original, n: int) -> list[Level]:
    """Lists up to n languages, in the card's order."""
    return list(original.task.translations)[:n]


def instruction(task: TaskCard, level: Level) -> str:
    """Looks up the instruction in a language; a template's text if the task has templates."""
    return task.translations[level].instruction


def apply(prompt: PromptT, level: Level, task: TaskCard) -> PromptT:
    """Rewrites the prompt in a language, except a classification's instruction, which is filled in separately."""
    translation = task.translations[level]
    if not isinstance(prompt, ClassificationPrompt):
        return prompt.model_copy(update={"text": translation.instruction})
    if translation.output_format is None or not prompt.card.output_format:
        return prompt
    return replace(prompt, card=prompt.card.model_copy(update={"output_format": translation.output_format}))
