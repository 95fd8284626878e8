"""Shows a JSON schema in a prompt, where a server need not show the model what its answer is held to."""

from __future__ import annotations

from collections.abc import Sequence

IN_PROMPT = "schema_in_prompt"
"""The field of a prediction's `sampling` that says whether its prompt was sent so."""

Messages = tuple[tuple[str, str], ...]


def with_schema(messages: Sequence[tuple[str, str]], schema: str) -> Messages:
    """Returns the messages, as (role, content), with the schema at the beginning of the last one of the user.

    It stands before the sample's text, so that all prompts of a wording begin alike, for caches; and after examples, which
    are answered without it.
    """
    place = max((at for at, (role, _) in enumerate(messages) if role == "user"), default=len(messages) - 1)
    role, content = messages[place]
    shown = f"Reply with a JSON object that follows this JSON schema, and nothing else:\n{schema}\n\n{content}"
    return (*messages[:place], (role, shown), *messages[place + 1 :])
