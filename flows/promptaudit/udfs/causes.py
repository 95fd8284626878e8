"""The causes of a change between two runs, in the words that marts, messages and pages use."""

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
"""How each cause is said; of several the first here is the cause."""
_PLACES = {cause: place for place, cause in enumerate(PHRASES, 1)}


@sql_function()
def cause_phrase(cause: str | None) -> str | None:
    """Returns a cause in words; None for one that is not known.

    Example:
        >>> cause_phrase("provider_changed_the_model")
        'the provider changed the model'
    """
    return PHRASES.get(cause or "")


@sql_function()
def cause_precedence(cause: str | None) -> int | None:
    """Returns the place of a cause among all, from 1; None for one that is not known."""
    return _PLACES.get(cause or "")
