"""Refuses cards of others that send a key to a host until the user has trusted the two together.

A card names a host and a variable, so a card from elsewhere could send any variable anywhere. What a card of the package
names, this machine itself, and a card that leaves host and key to the user's environment need no trust. Nothing here reads
the value of a key.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flows.display.progress import Progress, visible
from flows.engines.openai_api.addresses import base_urls, is_loopback, key_env
from flows.settings import Settings
from flows.trust.store import Pair, load, record, trust_file
from models_registry.cards import ModelCard
from models_registry.errors import CardError, UntrustedCard, UsageError
from models_registry.registry import SHIPPED, Entry

PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
ASKS_NOBODY = ("embedded", "recorded")


@dataclass(frozen=True, slots=True)
class Use:
    """A model card that sends the key of a pair, and the file and line that say so."""

    model_id: str
    where: str
    root: Path


def pairs_of(model_id: str, entry: Entry) -> dict[Pair, Use]:
    """Returns what a model card needs trust for: each address it is asked at with its key's variable, this machine left out.

    Raises CardError for an address that programs could read differently, UsageError if that is OPENAI_BASE_URL's.
    """
    card = entry.card
    if entry.root == SHIPPED or not isinstance(card, ModelCard) or not _sends_what_it_names(card):
        return {}
    pairs: dict[Pair, Use] = {}
    for index, url in enumerate(base_urls(card)):
        where = entry.where(model_id, *(("base_url", index) if card.base_url else ("api_key_env",)))
        try:
            scheme, host, port = read_address(url)
        except ValueError:
            if not card.base_url:
                msg = "OPENAI_BASE_URL is no plain http or https address of a host"
                raise UsageError(msg) from None
            msg = f"{where}: base_url of '{model_id}' is an address that programs read differently; write the host plainly"
            raise CardError(msg) from None
        if not is_loopback(host):
            shown = f"[{host}]" if ":" in host else host
            pair = Pair(f"{scheme}://{shown}:{port}", key_env(card))
            pairs.setdefault(pair, Use(model_id, where, entry.root))
    return pairs


def _sends_what_it_names(card: ModelCard) -> bool:
    """Whether the card names a host or a variable that a request of its would use."""
    if card.engine in ASKS_NOBODY or (card.batch is not None and card.batch.runner == "vllm"):
        return False
    if card.engine == "vllm_server":  # without an address it starts a server of its own, here
        return bool(card.base_url)
    return bool(card.base_url) or card.api_key_env is not None


def read_address(url: str) -> tuple[str, str, int]:
    """Returns scheme, host and port as the client asks them: lower case, ASCII (IDNA), no dot at the end, the port written out.

    Raises ValueError for credentials and for a host with anything but letters, digits, `-`, `_`: a per cent sign or a
    backslash is another host to another parser, and a key must not depend on which.
    """
    import httpx2

    try:
        parsed = httpx2.URL(url)
        host = parsed.raw_host.decode("ascii").lower().removesuffix(".")
        port = PORTS[parsed.scheme] if parsed.port is None else parsed.port
    except (httpx2.InvalidURL, UnicodeError, KeyError) as error:
        raise ValueError(type(error).__name__) from None
    if parsed.userinfo:
        msg = "credentials"
        raise ValueError(msg)
    if ":" in host and "%" not in host:
        host = ipaddress.IPv6Address(host).compressed
    elif not HOST.fullmatch(host):
        msg = "not a plain host"
        raise ValueError(msg)
    return parsed.scheme, host, port


def wanted_by(models: Mapping[str, Entry]) -> dict[Pair, list[Use]]:
    """Returns every pair that model cards need trust for, with the cards that use it."""
    wanted: dict[Pair, list[Use]] = {}
    for model_id, entry in models.items():
        for pair, use in pairs_of(model_id, entry).items():
            wanted.setdefault(pair, []).append(use)
    return wanted


def refuse_untrusted(settings: Settings, models: Mapping[str, Entry], progress: Progress) -> None:
    """Asks for trust of every pair that is new in `models`, by id; raises UntrustedCard on a no, or with nobody to ask."""
    wanted = wanted_by(models)
    if not wanted:
        return
    path = trust_file(settings)
    known = load(path)
    new = {pair: uses for pair, uses in wanted.items() if pair not in known}
    for pair, uses in new.items():
        use = uses[0]
        others = f" and {len(uses) - 1} more" if len(uses) > 1 else ""
        question = f"Trust {pair} with the key in {pair.api_key_env} (model '{use.model_id}'{others}, {use.where})?"
        if not (progress.can_ask and progress.confirm(question)):
            msg = (
                f"{use.where}: model '{use.model_id}' sends the key in {pair.api_key_env} to {pair}, which is not trusted; "
                f"look at the card, then: promptaudit trust {_argument(use.root)}"
            )
            raise UntrustedCard(visible(msg))
        record(path, [pair], use.root)


def _argument(folder: Path) -> str:
    text = str(folder)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
