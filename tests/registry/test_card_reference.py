"""The reference has every field of every kind of card, in tables that Markdown can show."""

from __future__ import annotations

import re

from promptaudit.registry.card_reference import reference
from promptaudit.registry.card_schemas import file_schema
from promptaudit.registry.registry import KINDS

TEXT = reference()
PARTS = {
    part.partition("\n")[0]: part.splitlines() for part in re.split(r"^#+ ", TEXT, flags=re.MULTILINE) if part
}  # heading to lines


def row(part: str, field: str) -> list[str]:
    (line,) = (line for line in PARTS[part] if line.startswith(f"| `{field}` |"))
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[2:-1]]


def test_every_field_of_every_kind_and_part_has_a_row() -> None:
    for kind in KINDS:
        schema = file_schema(kind)
        cards = {kind: schema["additionalProperties"], **schema["$defs"]}
        for name, card in cards.items():
            rows = [line for line in PARTS[name] if line.startswith("| `")]
            assert [line.split("`")[1] for line in rows] == list(card["properties"])


def test_every_row_has_four_cells_and_every_link_a_heading() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in rows)
    headings = {name.lower() for name in PARTS}
    assert len(headings) == len(PARTS)
    assert set(re.findall(r"\]\(#(\w+)\)", TEXT)) <= headings


def test_types_ranges_and_defaults_are_said_in_words() -> None:
    assert row("audits", "tasks")[:2] == ["text; one or a list", "needed"]
    assert row("audits", "judges")[0] == "text; one or a list"
    assert row("audits", "strategies")[:2] == [
        "`simple`, `detail`, `one_shot`, `structured`; one or a list",
        '`["simple"]`',
    ]
    assert row("audits", "askers")[0] == "whole number from 1 to 1000 or [Askers](#askers)"
    assert row("Repetitions", "twice")[0] == "number above 0 below 1"
    assert row("tasks", "labels")[0] == "list of text or [TaskLabel](#tasklabel) or mapping of text to text"
    assert row("models", "extra_body")[0] == "mapping of text to anything"
