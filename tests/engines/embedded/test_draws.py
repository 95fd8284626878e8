"""Draws are the same on every machine and in every release."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from promptaudit.engines.embedded.draws import uniform, uniform_after

PARTS = st.lists(st.text(st.characters(), max_size=8) | st.integers(), max_size=5)


@given(PARTS, st.integers(0), st.integers(0))
def test_a_draw_is_of_the_json_of_its_parts(parts: list[str | int], one: int, other: int) -> None:
    whole = [*parts, one, other]
    digest = hashlib.blake2b(json.dumps(whole).encode(), digest_size=8).digest()
    assert uniform(*whole) == (int.from_bytes(digest, "big") >> 11) / 2**53
    if parts:
        assert uniform_after(*parts)(one, other) == uniform(*whole)
