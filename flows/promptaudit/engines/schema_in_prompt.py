"""Shows a JSON schema in a prompt, because a server need not show it to the model."""

from __future__ import annotations

from collections.abc import Sequence

IN_PROMPT = "schema_in_prompt"
"""Names the field of a prediction's `sampling` that says whether the prompt showed the schema."""

Messages = tuple[tuple[str, str], ...]


def with_schema(messages: Sequence[tuple[str, str]], schema: str) -> Messages:
    """Puts the schema at the beginning of the last user message; messages are (role, content).

    It stands before the sample's text, so that all prompts of a wording begin alike, for caches; and after examples,
    which are answered without it.
    """
    place = max((at for at, (role, _) in enumerate(messages) if role == "user"), default=len(messages) - 1)
    role, content = messages[place]
    shown = f"Reply with a JSON object that follows this JSON schema, and nothing else:\n{schema}\n\n{content}"
    return (*messages[:place], (role, shown), *messages[place + 1 :])
