"""Removes the marks of layout from a text: emphasis, boxes, struck words, curly quotes."""

from __future__ import annotations

import re

from promptaudit.udfs.spelling import without_unseen

_PRIVATE = re.compile("[\ue000-\uf8ff]")
_MARKDOWN = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|_{2,3}|~~|`+|(?<![^\s*])_(?=\w)|(?<=\w)_(?![^\s*.,;:!?])")
_TEX = re.compile(r"\\(?:text(?:bf|it|rm)?|math(?:rm|bf|it|sf)?|operatorname)\s*\{([^{}]*)\}")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{([^{}]*)\}")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_CURLY = str.maketrans("“”„«»「」『』‘’‚", '"""""""""\'\'\'')


def tidied(text: str) -> str:
    """Removes emphasis from a text, makes its quotes straight and writes the content of a box behind `boxed:`."""
    plain = text if text.isascii() else _PRIVATE.sub(" ", without_unseen(text)).translate(_CURLY)
    plain = _STRUCK.sub(" ", plain) if "~~" in plain else plain
    if "*" in plain or "_" in plain:
        plain = re.sub(r"^[ \t]*[-•*][ \t]+(?=[*_]{1,3}[^\s*_])", "", plain, flags=re.MULTILINE)
    if "$" in plain:
        plain = re.sub(r"\$\s*([-−]?)\s*\$?\s*(\d+)\s*\$", r"\1\2", plain)
        plain = re.sub(r"\$([-−])\$(?=\d)", r"\1", plain)
    if "*" in plain:
        plain = re.sub(r"^([ \t]*)\*[ \t]+", r"\1- ", plain, flags=re.MULTILINE)
    plain = _MARKDOWN.sub("", plain) if _HAS_MARKDOWN.search(plain) else plain
    return _BOX.sub(r" boxed: \1 ", _TEX.sub(r"\1", plain)) if "\\" in plain else plain


_HAS_MARKDOWN = re.compile("[*_~`]")
