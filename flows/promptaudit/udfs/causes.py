"""Names the causes of a change between two runs, in the words that marts, messages and pages use."""

from __future__ import annotations

from promptaudit.udfs.sql_function import sql_function

PHRASES = {
    "we_changed_the_prompt": "we changed the prompt",
    "we_changed_the_model": "we changed the model",
    "provider_changed_the_model": "the provider changed the model",
    "we_changed_the_scoring": "we changed the scoring",
    "provider_changed_the_judge": "the judge's provider changed the judge",
    "promptaudit_changed": "promptaudit changed",
    "we_changed_the_data": "we changed the data",
    "nothing_changed": "nothing on record changed: drift or noise",
}
"""The wording of each cause; of several causes, the first one here counts."""
_PLACES = {cause: place for place, cause in enumerate(PHRASES, 1)}


@sql_function()
def cause_phrase(cause: str | None) -> str | None:
    """Writes a cause in words; None for an unknown one.

    Example:
        >>> cause_phrase("provider_changed_the_model")
        'the provider changed the model'
    """
    return PHRASES.get(cause or "")


@sql_function()
def cause_precedence(cause: str | None) -> int | None:
    """Gives the place of a cause among all, from 1; None for an unknown one."""
    return _PLACES.get(cause or "")
