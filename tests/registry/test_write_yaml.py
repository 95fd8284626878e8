"""Cards that the product writes are read as they were."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptaudit.registry.read_yaml import read_yaml
from promptaudit.registry.write_yaml import write_cards

# what makes lines, spaces or structure in YAML, and any other character that a UTF-8 file can hold
TEXTS = st.text(
    st.one_of(
        st.sampled_from(" \t\n\r\x85\xa0\u2028\u2029\ufeff:#-?&*!|>'\"%@`{}[],\x00\x07"), st.characters(codec="utf-8")
    )
)


@settings(max_examples=200)
@given(TEXTS)
@example("one\x85two")
@example("one\n\x85two\nthree")
def test_every_text_is_read_as_it_was_written(text: str) -> None:
    card = {"instruction": text, "labels": [text, "no"]}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cards.yml"
        write_cards(path, {"card": card}, "# a line above")
        cards, _, faults = read_yaml(path, path.name)
    assert (cards, faults) == ({"card": card}, {})
