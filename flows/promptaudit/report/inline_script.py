"""Writes our scripts and their data into pages, whose policy names each script by its hash: nothing else on a page can run."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

# in JSON only strings hold these: written so, no data can end a script element or open a comment in it
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


@dataclass(frozen=True, slots=True)
class Script:
    """A script to stand inline, and its source as a policy names it."""

    text: Markup
    source: str


@functools.cache
def inline(path: Path) -> Script:
    """Returns a script of ours as it stands in a page; raises ValueError where it would end early inside one."""
    text = path.read_text(encoding="utf-8")
    if any(end in text.lower() for end in ("</script", "<!--")) or {"\r", "\0"} & set(text):
        msg = "the script would end early inside a page"
        raise ValueError(msg)
    text = f"{text.strip()}\n"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"sha256-{digest}")  # noqa: S704 - our own code


def as_json(data: object) -> Markup:
    """Returns data as the text of a script element of JSON; raises ValueError on what JSON has no word for."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "backslashreplace").decode()
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - escaped above
