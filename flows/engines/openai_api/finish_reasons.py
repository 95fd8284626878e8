"""Which words of a server say that a completion has ended, and by what."""

from __future__ import annotations

_BY_OPENAI_WORD = {
    "stop": (
        "end_turn", "stop_sequence", "eos", "eos_token", "end_of_text", "complete", "completed", "normal",
    ),
    "length": (
        "max_tokens", "max_output_tokens", "max_output", "token_limit", "model_length", "context_length",
        "model_context_window_exceeded",
    ),
    "tool_calls": ("function_call", "tool_call", "tool_use"),
    "content_filter": (
        "content_filtered", "refusal", "safety", "sensitive", "guardrail_intervened", "recitation", "blocklist",
        "prohibited_content", "spii",
    ),
}  # fmt: skip
"""OpenAI's four words, and what others say for each: Anthropic and Bedrock, TGI and watsonx, Gemini, Mistral, Cohere, GLM, ERNIE.

No end, and so asked again: `error`, `abort` (a vLLM that stops), `insufficient_system_resource`, `network_error`, `timeout`,
`cancelled`, `load`, `pause_turn`, `malformed_function_call`, and every word that is not known here.
"""
ENDS = {word: end for end, others in _BY_OPENAI_WORD.items() for word in (end, *others)}


def end_of(reason: object) -> str | None:
    """Returns OpenAI's word for the end that a `finish_reason` names, in any case; None where it names no end.

    Some gateways add a detail to the word: `content_filter: SAFETY`.
    """
    if not isinstance(reason, str):
        return None
    return ENDS.get(reason.partition(":")[0].strip().casefold().replace("-", "_"))
