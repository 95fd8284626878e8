"""What makes the charts of a page alive: Vega inlined once, closed in by the page's policy, each chart's spec as data.

The drawings stand without it. The script runs under a policy that names it by its hash: nothing else on the page can run,
nothing is evaluated (expressions are interpreted), nothing is loaded.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import zlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from markupsafe import Markup

from flows.system import user_cache

# in JSON only strings hold these: written so, no data can end a script element or open a comment in it
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


@dataclass(frozen=True, slots=True)
class Script:
    """A script to stand inline, and its source as a policy names it."""

    text: Markup
    source: str


@functools.cache
def script() -> Script:
    """Returns Vega, Vega-Lite and Vega-Embed with `script.js`, about 0.9 MB."""
    return inline(_bundled())


def inline(text: str) -> Script:
    """Returns a script of ours as it stands in a page; raises ValueError where it would end early inside one."""
    if any(end in text.lower() for end in ("</script", "<!--")) or {"\r", "\0"} & set(text):
        msg = "the script would end early inside a page"
        raise ValueError(msg)
    text = f"{text.strip()}\n"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"sha256-{digest}")  # noqa: S704 - our own and the library's code


def _bundled() -> str:
    """Made in about two seconds, and kept."""
    own = Path(__file__).with_name("script.js").read_text(encoding="utf-8")
    made_of = hashlib.sha256(f"{version('vl-convert-python')} {own}".encode()).hexdigest()[:16]
    name = f"live-{made_of}.js"
    kept = user_cache.read(name)
    if kept is None:
        import vl_convert

        kept = vl_convert.javascript_bundle(own).encode()
        user_cache.keep(name, kept, instead_of="live-*.js")
    return kept.decode()


class Alive:
    """What a page's charts are drawn from again, packed: a hundred charts say much the same."""

    def __init__(self, common: object) -> None:
        self._common = common
        self._charts: list[object] = []

    def add(self, chart: object) -> int:
        """Takes a chart in; the number that it is known by."""
        self._charts.append(chart)
        return len(self._charts) - 1

    def packed(self) -> Markup:
        """Returns everything as JSON whose one string is JSON too, deflated, in base64."""
        charts = json.dumps({"common": self._common, "charts": self._charts}, allow_nan=False, separators=(",", ":"))
        return as_json({"deflated": base64.b64encode(zlib.compress(charts.encode(), 9)).decode()})


def as_json(data: object) -> Markup:
    """Returns data as the text of a script element of JSON; raises ValueError on what JSON has no word for."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "backslashreplace").decode()
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - escaped above
