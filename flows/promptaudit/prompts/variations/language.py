"""Language of the instruction, of those that the task's card has translations in; inputs and labels stay as they are.

lm-evaluation-harness keeps such translations of one task beside each other (its tasks `xnli`, `xcopa` and `mgsm`, the last after
Shi et al., 2023, ICLR, "Language Models are Multilingual Chain-of-Thought Reasoners").
"""

from __future__ import annotations

from dataclasses import replace

from promptaudit.prompts.messages import ClassificationPrompt
from promptaudit.prompts.variations.original import Level, Original, PromptT
from promptaudit.registry.cards import TaskCard


def misfit(task: TaskCard) -> str | None:
    """Returns why a task cannot be varied so; None where it can."""
    return None if task.translations else "its card has no translations; add them, language to instruction"


def levels(original: Original, n: int) -> list[Level]:
    """Returns up to n languages, in the card's order."""
    return list(original.task.translations)[:n]


def instruction(task: TaskCard, level: Level) -> str:
    """Returns the instruction in a language, the text of a template where the task has templates."""
    return task.translations[level].instruction


def apply(prompt: PromptT, level: Level, task: TaskCard) -> PromptT:
    """Returns the prompt that asks in a language; the instruction of a classification is put in apart."""
    translation = task.translations[level]
    if not isinstance(prompt, ClassificationPrompt):
        return prompt.model_copy(update={"text": translation.instruction})
    if translation.output_format is None or not prompt.card.output_format:
        return prompt
    return replace(prompt, card=prompt.card.model_copy(update={"output_format": translation.output_format}))
