"""Removes keys from text before it lands, is logged or raised."""

from __future__ import annotations

import base64
import functools
import html
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "[hidden]"
MAX_RAW_CHARS = 100_000  # a longer error text is not read at all: cutting it first could leave a part of a key

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    # https://user:pass@host
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s/?#\"'<>]*@"), rf"\1{HIDDEN}@"),
    # authorization: Bearer …, "x-api-key": "…", and the same words alone
    (re.compile(r"(?i)((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)[^\"'\r\n,}]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b((?:bearer|basic)\s+)[\w.~+/=*-]{6,}"), rf"\1{HIDDEN}"),
    # api_key=…, key: …, "access_token": "…"
    (
        re.compile(
            r"(?i)((?<![a-z])(?:x-|[a-z]{1,20}[_-])?(?:api[_-]?key|access[_-]?token|auth[_-]?token|password|passwd|secret)"
            r"[\"']?\s*[=:]\s*[\"']?)[^\s&\"'<>,;}]+"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(?i)([?&](?:key|token|sig|signature|code|auth)=)[^\s&\"'<>#]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)((?<![\w-])(?:key|token)=)[^\s&\"'<>,;}]+"), rf"\1{HIDDEN}"),
    # sk-…, and keys a provider masked in the middle: their ends are still of the key
    (re.compile(r"(?<![A-Za-z0-9])(?:sk|pk|rk)-[\w*.-]{6,}"), HIDDEN),
    (re.compile(r"(?<![^\s\"'<>])[^\s\"'<>]*\*{3,}[^\s\"'<>]*"), HIDDEN),
)

# postgresql://user:password@host, …?password=…, user:password
_PASSWORD = re.compile(r"://[^\s/?#:]*:([^\s/?#]*)@|[?&]password=([^&\s]+)|\A[^\s:/]+:(?!//)(.+)\Z")
FEW_CHARACTERS = 6  # of a password: a shorter one may be an ordinary word of a text


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Replaces every secret in a text, in any form it may travel in, by `[hidden]`.

    Replaced are each value of `secrets` (of any length; empty ones are skipped) and, in a value that is an address or
    `user:password`, the password of 6 characters or more; their URL-quoted, HTML- and JSON-escaped and base64 forms; a
    word that begins with the first 8 characters of a secret of 16 or more; credentials in URLs, `Authorization`
    headers, parameters named like keys, and tokens shaped like `sk-…`. Everything else is kept.
    """
    text = _values(tuple(secrets)).sub(HIDDEN, text)
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    return text


def one_line(text: str, secrets: Iterable[str] = (), limit: int = 500) -> str:
    """Scrubs a text and makes it printable, one line, and at most `limit` characters long.

    A text of over 100,000 characters is replaced by its length.
    """
    if len(text) > MAX_RAW_CHARS:
        return f"a text of {len(text)} characters"
    line = scrub(text, secrets)
    if not line.isprintable():
        # again, since a secret that an unprintable character split is whole only now
        line = scrub("".join(char if char.isprintable() else " " for char in line), secrets)
    line = " ".join(line.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def without_values(text: str, secrets: Iterable[str]) -> str:
    """Replaces the exact values of `secrets` in a completion, which must never reach a row.

    Everything else stays verbatim.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _passwords(secrets: Iterable[str]) -> Iterator[str]:
    for secret in secrets:
        for found in _PASSWORD.findall(secret):
            yield from {password for password in (*found, *map(unquote, found)) if len(password) >= FEW_CHARACTERS}


@functools.lru_cache(maxsize=64)
def _values(secrets: tuple[str, ...]) -> re.Pattern[str]:
    secrets = (*secrets, *_passwords(secrets))
    forms: set[str] = set()
    for secret in filter(None, secrets):
        raw = secret.encode("utf-8", "surrogatepass")
        quoted = (quote(raw, safe=""), quote(raw), quote_plus(raw))
        forms |= {secret, html.escape(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1], *quoted}
        forms |= {re.sub(r"%..", lambda match: match[0].lower(), form) for form in quoted}
        # Basic credentials carry the key alone, as a password without a user, or as the user
        forms |= {base64.b64encode(part).decode() for part in (raw, b":" + raw, raw + b":")}
    patterns = [re.escape(form) for form in sorted(forms, key=len, reverse=True)]
    # half of a key still shows nobody; an address begins as others do, and its password is a secret of its own
    keys = [secret for secret in secrets if len(secret) >= 16 and "://" not in secret]  # noqa: PLR2004
    patterns += [re.escape(secret[:8]) + r"[^\s\"'<>]*" for secret in keys]
    return re.compile("|".join(patterns) or r"(?!)")
