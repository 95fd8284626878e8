"""Reads from a server's words whether a completion has ended, and by what."""

from __future__ import annotations

import re

# OpenAI's four words, and the words of others for each: Anthropic and Bedrock, TGI and watsonx, Gemini, Mistral,
# Cohere, GLM, ERNIE. The words of `FAILURES`, and every word that is not known here, are no end and are asked again.
_BY_OPENAI_WORD = {
    "stop": (
        "end_turn",
        "stop_sequence",
        "stop_token",
        "eos",
        "eos_token",
        "end_of_text",
        "endoftext",
        "end",
        "complete",
        "completed",
        "finished",
        "done",
        "normal",
    ),
    "length": (
        "max_tokens",
        "max_tokens_exceeded",
        "max_output_tokens",
        "max_new_tokens",
        "max_output",
        "max_length",
        "token_limit",
        "model_length",
        "context_length",
        "model_context_window_exceeded",
        "repetition",
    ),
    "tool_calls": ("function_call", "tool_call", "tool_use"),
    "content_filter": (
        "content_filtered",
        "refusal",
        "safety",
        "image_safety",
        "sensitive",
        "guardrail_intervened",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "model_armor",
        "language",
        "error_toxic",
    ),
}
FAILURES = {
    "error",
    "abort",
    "aborted",
    "insufficient_system_resource",
    "network_error",
    "timeout",
    "cancelled",
    "canceled",
    "load",
    "malformed_function_call",
    "function_call_filter",
    "pause_turn",
}
"""Lists the known words for a completion that failed before its end; a vLLM that stops says `abort`."""
ENDS = {word: end for end, others in _BY_OPENAI_WORD.items() for word in (end, *others)}


def end_of(reason: object) -> str | None:
    """Translates a `finish_reason`, in any case, into OpenAI's word for the end; None if it names no end.

    Some gateways add a detail to the word: `content_filter: SAFETY`.
    """
    return ENDS.get(_word_of(reason))


def is_failure(reason: object) -> bool:
    """Checks whether a `finish_reason` says that the completion failed before its end."""
    return _word_of(reason) in FAILURES


def is_reason(reason: object) -> bool:
    """Checks whether a `finish_reason` says anything: some servers write "null" or "none" as a text."""
    return reason is not None and _word_of(reason) not in ("", "null", "none")


def _word_of(reason: object) -> str:
    # `max_tokens` of `FinishReason.MaxTokens` and of `FINISH_REASON_MAX_TOKENS`
    word = str(reason).partition(":")[0].strip().replace("-", "_")
    word = re.sub(r"^finish_?reason[._]", "", word, flags=re.IGNORECASE)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).casefold()
