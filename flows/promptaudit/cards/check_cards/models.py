"""Checks whether models can be asked: prices that a budget needs, recorded answers, keys, addresses, servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from promptaudit.cards.check_cards.cards import AuditCards, Errors
from promptaudit.cards.prices import price_of
from promptaudit.engines.openai_api.addresses import key_of, refuse_addresses
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import PromptauditError, UsageError
from promptaudit.registry.registry import Entry, Registry


def check_prices(cards: AuditCards) -> Errors:
    """Checks that with a budget in dollars every price is known, also of models of rephrasers and judges."""
    yield from unknown_prices(cards.registry, cards.used["models"], cards.max_usd)


def unknown_prices(registry: Registry, models: Iterable[str], max_usd: float | None) -> Errors:
    """Yields an error for each model without a price, where there is a budget in dollars."""
    for name in () if max_usd is None else models:
        if price_of(registry.model(name)) is None:
            yield UsageError(
                f"a budget of {max_usd:g} USD, but no price of model '{name}' is known; put `price` in its card "
                f"({registry.entry('models', name).where(name)}), `price: free` for a machine of one's own"
            )


def check_recorded(cards: AuditCards) -> Errors:
    """Checks that the file of a recorded model can be read and has answers of the model."""
    for name, card in cards.models.items():
        if card.engine == "recorded":
            from promptaudit.engines.recorded import RecordedEngine

            entry = cards.used["models"][name]
            try:
                RecordedEngine(card, entry)
            except PromptauditError as error:
                yield error.at(f"{entry.where(name, 'path')}: model '{name}'")


def lacking_engines(models: Mapping[str, Entry]) -> Errors:
    """Yields why models cannot be asked from here: no key, a bad address, no vLLM, no llama.cpp or its file."""
    for name, entry in models.items():
        card = entry.card
        if not isinstance(card, ModelCard) or card.is_in_process:
            continue
        try:
            if card.engine == "llama_cpp" and card.starts_server:
                from promptaudit.engines.llama_cpp.command_line import launch_of

                launch_of(card, entry.root)
            elif card.is_by_vllm and not card.base_url:
                from promptaudit.engines.vllm.command_line import interpreter

                interpreter()
            else:
                refuse_addresses(card, key_of(card))
        except PromptauditError as error:
            yield error.at(entry.where(name))
