"""Writes our scripts and their data into pages.

The page's policy names each script by hash, so that no other can run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

# in JSON only strings hold these; escaped, no data can end a script element or open a comment in it
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


@dataclass(frozen=True, slots=True)
class Script:
    """A script to stand inline, and its source as a policy names it."""

    text: Markup
    source: str


@functools.cache
def inline(path: Path) -> Script:
    """Reads a script of ours for use inside a page. Raises ValueError if it would end early there."""
    text = path.read_text(encoding="utf-8")
    if any(end in text.lower() for end in ("</script", "<!--")) or {"\r", "\0"} & set(text):
        msg = "the script would end early inside a page"
        raise ValueError(msg)
    text = f"{text.strip()}\n"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"sha256-{digest}")  # noqa: S704 - our own code


def as_json(data: object) -> Markup:
    """Writes data as JSON for a script element. Raises ValueError for NaN and infinities, which JSON cannot express."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "backslashreplace").decode()
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - escaped above
