"""A run of four rows is followed through few files: whoever reads the code to understand one has as many to open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.executed_files import executed_files
from tests.support.files import write_files
from tests.support.shell import promptaudit

MOST = 263  # in a process that has read nothing before; 120 is the aim, and sections of the page are a file each
CARDS = {
    "tasks/moods.yml": (
        "moods: {kind: classification, labels: [calm, angry], instruction: Say how the mail sounds., "
        "data: {path: moods.csv, id: id, input: text, gold_label: mood}}\n"
    ),
    "moods.csv": "id,text,mood\n1,All is well.,calm\n2,Where is my parcel?,angry\n",
    "audits/tiny.yml": (
        "tiny: {tasks: [moods], models: [lexical], strategies: [simple], rephrasing: {rephraser: rules, variants: 2}, "
        "repetitions: {original: 1, variants: 1}}\n"
    ),
}


@pytest.mark.slow
def test_a_run_of_four_rows_passes_through_few_files(tmp_path: Path) -> None:
    write_files(tmp_path / "cards", CARDS)
    with executed_files() as found:
        ended = promptaudit(tmp_path, "run", "tiny", "--registry", "cards", "--json")
    assert ended.code == 0, ended.err
    assert ended.json()["n_asked"] == 4
    assert "flows/promptaudit/ask/infer.py" in found
    assert len(found) <= MOST, "\n".join(sorted(found))
