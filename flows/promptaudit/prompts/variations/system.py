"""Varies the system message: without one, or with another one.

Mizrahi et al. (2024, TACL, "State of What Art? A Call for Multi-Prompt LLM Evaluation") and Polo et al. (2024,
"Efficient multi-prompt evaluation of LLMs") evaluate over whole prompts, of which the system message is a part.
"""

from __future__ import annotations

from dataclasses import replace

from promptaudit.prompts.messages import ClassificationPrompt
from promptaudit.prompts.variations.original import Level, Original, Prompt, PromptT
from promptaudit.registry.cards import Message, TaskCard

SHIPPED = (
    "You are a helpful assistant.",
    "You are an expert in the matter that is asked about. Answer carefully.",
    "Follow the instructions exactly as they are written.",
    "You are taking part in a study and answer each question independently of all others.",
    "Be brief and precise.",
)
ROLES = ("system", "developer")


def misfit(task: TaskCard) -> str | None:  # noqa: ARG001 - as of every kind
    """Finds no obstacle: a system message goes before any prompt."""
    return None


def levels(original: Original, n: int) -> list[Level]:
    """Lists up to n system messages in place of the original's; first None, for no message, if the original has one."""
    own = _own(original.prompt)
    texts = [text for text in original.systems or SHIPPED if text != own]
    return ([None, *texts] if own is not None else texts)[:n]


def apply(prompt: PromptT, level: Level) -> PromptT:
    """Rewrites the prompt with this system message alone, or without one."""
    if not isinstance(prompt, ClassificationPrompt):
        return prompt.model_copy(update={"system": level})
    messages: tuple[Message, ...] = tuple(message for message in prompt.card.messages if message.role not in ROLES)
    role = next((message.role for message in prompt.card.messages if message.role in ROLES), "system")
    first: tuple[Message, ...] = () if level is None else (Message(role=role, content=level),)
    return replace(prompt, card=prompt.card.model_copy(update={"messages": (*first, *messages)}))


def _own(prompt: Prompt) -> str | None:
    if not isinstance(prompt, ClassificationPrompt):
        return prompt.system
    own = [message.content for message in prompt.card.messages if message.role in ROLES]
    return "\n\n".join(own) if own else None
