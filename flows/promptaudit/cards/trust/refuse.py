"""Refuses cards of others that send a key to a host, or name code, until the user has trusted it.

A card names a host and a variable, so a card from elsewhere could send any variable anywhere. What a card of the
package names, this machine itself, and a card that leaves host and key to the user's environment need no trust. Nothing
here reads the value of a key. Code that a card names is refused in the same way: it could do anything that its user
can.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptaudit.cards.trust.store import Known, Pair, key_of, load, record, trust_file
from promptaudit.engines.openai_api.addresses import base_urls, is_loopback, key_env
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import CardError, UntrustedCard, UsageError
from promptaudit.registry.own_code import Code
from promptaudit.registry.registry import SHIPPED, Entry
from promptaudit.system.display.progress import Progress, visible
from promptaudit.system.settings import Settings

PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")

CODE_FIELDS = {"models": "model", "tasks": "reader", "rephrasers": "function"}
"""The kinds of cards that may name code, and the field that does."""


@dataclass(frozen=True, slots=True)
class Use:
    """A model card that sends the key of a pair, and the file and line that say so."""

    model_id: str
    where: str
    root: Path


@dataclass(frozen=True, slots=True)
class CodeUse:
    """A card that names code, and the file and line that say so."""

    card: str  # with its kind
    where: str
    root: Path


def pairs_of(model_id: str, entry: Entry) -> dict[Pair, Use]:
    """Lists what a model card needs trust for: each address that it is asked at, with its key's variable.

    Addresses of this machine are left out. Raises CardError for an address that programs could read differently,
    UsageError if that is OPENAI_BASE_URL's.
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
    if card.is_in_process or card.starts_server:
        return False
    return bool(card.base_url) or card.api_key_env is not None


def read_address(url: str) -> tuple[str, str, int]:
    """Reads scheme, host and port of an address as the client asks them.

    The host is in lower case and ASCII (IDNA) without a dot at the end, and the port is written out. Raises ValueError
    for credentials and for a host with anything but letters, digits, `-`, `_`: a per cent sign or a backslash is
    another host to another parser, and a key must not depend on which.
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
    """Collects every pair that model cards need trust for, with the cards that use it."""
    wanted: dict[Pair, list[Use]] = {}
    for model_id, entry in models.items():
        for pair, use in pairs_of(model_id, entry).items():
            wanted.setdefault(pair, []).append(use)
    return wanted


def code_in(used: Mapping[str, Mapping[str, Entry]]) -> dict[Code, list[CodeUse]]:
    """Collects the code that cards name, with the cards that name it. `used` has the cards by kind and id."""
    named: dict[Code, list[CodeUse]] = {}
    for kind, field in CODE_FIELDS.items():
        for name, entry in used.get(kind, {}).items():
            code = entry.code
            if code is not None:
                where = entry.where(name, "command" if code.use == "command" else field)
                named.setdefault(code, []).append(CodeUse(f"{kind[:-1]} '{name}'", where, entry.root))
    return named


def refuse_untrusted(settings: Settings, used: Mapping[str, Mapping[str, Entry]], progress: Progress) -> None:
    """Asks for trust of every pair and all code that is new in cards, by kind and id.

    Raises UntrustedCard on a no, or with nobody to ask.
    """
    pairs, named = wanted_by(used.get("models", {})), code_in(used)
    if not pairs and not named:
        return
    path = trust_file(settings)
    known = load(path)
    for pair, uses in pairs.items():
        if pair not in known:
            use = uses[0]
            more = f" and {len(uses) - 1} more" if len(uses) > 1 else ""
            _ask(
                progress,
                f"Trust {pair} with the key in {pair.api_key_env} (model '{use.model_id}'{more}, {use.where})?",
                f"{use.where}: model '{use.model_id}' sends the key in {pair.api_key_env} to {pair}, which is not trusted; "
                f"look at the card, then: promptaudit trust {_argument(use.root)}",
            )
            record(path, [pair], use.root)
    _refuse_untrusted_code(path, named, known, progress)


def _refuse_untrusted_code(path: Path, named: Mapping[Code, list[CodeUse]], known: Known, progress: Progress) -> None:
    # asks for each code that is new or changed, then once a folder for code that is as it was beside files that changed
    beside: dict[Path | None, list[Code]] = {}
    for code, (by, *others) in named.items():
        if key_of(code) in known:
            continue
        if _is_known_but_for(("folder_sha256",), code, known):
            beside.setdefault(code.folder, []).append(code)
            continue
        is_changed = _is_known_but_for(("sha256", "folder_sha256", "environment"), code, known)
        _ask_for_code(progress, code, by, len(others), " which changed since it was trusted" if is_changed else "")
        record(path, [key_of(code)], by.root)
    for codes in beside.values():
        uses = [use for code in codes for use in named[code]]
        _ask_for_code(progress, codes[0], uses[0], len(uses) - 1, " beside which files changed since it was trusted")
        record(path, codes, uses[0].root)


def _ask_for_code(progress: Progress, code: Code, by: CodeUse, n_others: int, changed: str) -> None:
    more = f" and {n_others} more" if n_others else ""
    _ask(
        progress,
        f"Trust {code}{f',{changed}' if changed else ''} ({by.card}{more}, {by.where})?",
        f"{by.where}: {by.card} names {code},{changed or ' which is not trusted'}; "
        f"look at it, then: promptaudit trust {_argument(by.root)}",
    )


def _ask(progress: Progress, question: str, refusal: str) -> None:
    if not (progress.can_ask and progress.confirm(visible(question))):
        raise UntrustedCard(visible(refusal))


def _is_known_but_for(fields: Sequence[str], code: Code, known: Known) -> bool:
    otherwise = {name: getattr(code, name) for name in fields}
    return any(isinstance(each, Code) and replace(each, **otherwise) == code for each in known)


def _argument(folder: Path) -> str:
    text = str(folder)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
