"""Rebuilds a drawn SVG from an allowlist of elements and attributes; the page's theme sets its colours by name."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from html import escape

from markupsafe import Markup

_PREFIX = "{http://www.w3.org/2000/svg}"
_ELEMENTS = {"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "clipPath"}
_ATTRIBUTES = {
    "d", "x", "y", "x1", "x2", "y1", "y2", "dy", "width", "height", "transform", "cx", "cy", "r", "text-anchor",
    "font-size",
    "font-weight", "opacity", "fill-opacity", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap",
    "stroke-linejoin", "stroke-miterlimit",
}  # fmt: skip
_HARMLESS = re.compile(r"[-+.,#% \w()]*")
_REFERENCE = re.compile(r"url\(#(\w+)\)")
# drawn in these, shown in the variable of that name of report.css
COLOURS = {
    "#101010": "ink",
    "#202020": "muted",
    "#303030": "line",
    "#404040": "first",
    "#505050": "second",
    "#606060": "third",
    "#707070": "fourth",
    "#808080": "fifth",
    "#909090": "sixth",
    "#a0a0a0": "seventh",
    "#b0b0b0": "eighth",
    "#c0c0c0": "ninth",
    "#d0d0d0": "tenth",
    "#e0e0e0": "eleventh",
    "#f0f0f0": "twelfth",
}


def clean(drawn: str, label: str) -> Markup:
    """An SVG as one image named `label`, unique on its page: nothing in it can run, load or link.

    Raises ValueError on a document type.
    """
    if "<!" in drawn:
        msg = "an SVG with a declaration is not one that was drawn here"
        raise ValueError(msg)
    root = ET.fromstring(drawn)  # noqa: S314 - without a document type there is no entity to expand
    # the drawing library numbers clips through all it ever drew; a label is about one chart of the page
    prefix = "c" + hashlib.sha256(label.encode()).hexdigest()[:10] + "-"
    ids = {own: f"{prefix}{place}" for place, element in enumerate(root.iter()) if (own := element.get("id"))}
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    inner = "".join(_rebuilt(child, ids) for child in root)
    return Markup(  # noqa: S704 - rebuilt above, piece by piece
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">{inner}</svg>'
    )


def _rebuilt(element: ET.Element, ids: dict[str, str]) -> str:
    tag = str(element.tag).removeprefix(_PREFIX)
    if tag not in _ELEMENTS or element.get("display") == "none":
        return ""
    attributes = _attributes(element, ids)
    inner = escape(element.text or "", quote=False) + "".join(
        _rebuilt(child, ids) + escape(child.tail or "", quote=False) for child in element
    )
    if not inner and tag in {"g", "text", "defs"}:
        return ""
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def _attributes(element: ET.Element, ids: dict[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and _HARMLESS.fullmatch(value) and (name, value) != ("opacity", "1")
    }
    names = []
    for paint in ("fill", "stroke"):
        colour = element.get(paint)
        if colour in COLOURS:
            names.append(f"{paint}-{COLOURS[colour]}")
        elif colour in {"none", "transparent"}:
            kept[paint] = "none"
    if names:
        kept["class"] = " ".join(names)
    if own := element.get("id"):
        kept["id"] = ids[own]
    if (found := _REFERENCE.fullmatch(element.get("clip-path", ""))) and found[1] in ids:
        kept["clip-path"] = f"url(#{ids[found[1]]})"
    return kept
