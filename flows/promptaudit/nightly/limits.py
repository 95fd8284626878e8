"""Holds the named limits of Prefect for a night: the warehouse, each provider, each GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from urllib.parse import urlsplit

from prefect.concurrency.sync import concurrency

from promptaudit.engines.openai_api.addresses import base_urls
from promptaudit.nightly.artifacts import Bar, key_of
from promptaudit.registry.registry import Registry

LEASE_S = 60  # how long a killed night's places stay taken: the least Prefect allows; its own default is 300


@contextlib.contextmanager
def hold_limits(limits: list[str], bar: Bar) -> Iterator[None]:
    """Holds the named limits for the block, as far as the server has them. While it is away a night goes on without."""
    places = concurrency(limits, lease_duration=LEASE_S, strict=False)
    with contextlib.ExitStack() as stack:
        bar.show(lambda: stack.enter_context(places))
        try:
            yield
        finally:
            bar.is_away = False  # it may be back
            bar.show(stack.close)


def limits_of(registry: Registry, audit_id: str) -> list[str]:
    """Names the limits of a night: the warehouse, each provider, each GPU. Raises CardError."""
    names = {"warehouse"}
    cards = [registry.model(model_id) for model_id in registry.models_of(audit_id)]
    for card in cards:
        if card.is_by_vllm or card.starts_server:
            names.add("gpu-0")
        elif card.engine in ("openai_api", "batch", "llama_cpp"):
            names |= {f"provider-{key_of(_provider(urlsplit(url).hostname or ''))}" for url in base_urls(card)}
    return sorted(names)


def _provider(host: str) -> str:
    # `openai` for api.openai.com; an address or a plain host as it is
    labels = host.split(".")
    is_address = host.replace(".", "").isdigit()
    return "-".join(labels) if is_address or len(labels) < 2 else labels[-2]  # noqa: PLR2004 - a host and its domain
