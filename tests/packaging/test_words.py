"""Docstrings and comments of the package keep to plain words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "flows" / "promptaudit"
AVOIDED = re.compile(r"\b(told|these of|those of|be it|likewise|whoever|thereof)\b", re.IGNORECASE)
MOST_RETURNS = 0.02
"""The share of docstrings that may begin with "Returns", which says what a type says already."""


def docstrings(text: str) -> Iterator[str]:
    """Yields the docstrings of a module, those after a constant among them."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(words))):
                yield words


def comments(text: str) -> Iterator[str]:
    """Yields the comments of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def test_words_are_plain() -> None:
    found, begin = [], []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        described = list(docstrings(text))
        begin += [words.startswith("Returns") for words in described]
        if AVOIDED.search(text):  # perhaps in code alone
            said = re.sub(r"`[^`]*`", "", "\n".join((*described, *comments(text))))
            found += [f"{path.relative_to(PACKAGE)}: {word}" for word in AVOIDED.findall(said)]
    assert not found
    assert sum(begin) <= MOST_RETURNS * len(begin)
