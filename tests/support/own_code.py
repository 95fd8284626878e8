"""A registry of a researcher's own: an annotator, a parser of answers and two paraphrasers, each named by a card."""

from __future__ import annotations

from pathlib import Path

from promptaudit.registry.cards import Card
from promptaudit.registry.own_code import CodeFinder, with_sha256
from promptaudit.registry.registry import Entry
from tests.support.files import write_files

LAB = """\
import pandas  # as many modules of researchers do

def annotate(text, prompt):
    assert prompt.endswith(text), prompt
    return "I would say: " + ("positive" if "good" in text else "negative")

def paraphrase(text, n, temperature):
    return [f" {text} Version {number} at {temperature}. " for number in range(n)]
"""
PARSER = """\
def read(completion, labels):
    assert labels == ["positive", "negative"]
    label = completion.rpartition(": ")[2]
    return label if label in labels else None
"""
REWORDER = """\
import json, sys
asked = json.load(sys.stdin)
print("thinking", file=sys.stderr)
print(json.dumps([f"{asked['instruction']} {sys.argv[1]} {asked['temperature']} {n}" for n in range(asked["n"])]))
"""
CARDS = {
    "lab.py": LAB,
    "parser.py": PARSER,
    "reword.py": REWORDER,
    "models/m.yml": "own: {engine: python, model: lab:annotate, price: free}\n",
    "tasks/t.yml": "tone:\n  labels: [positive, negative]\n  instruction: Say whether the text is good or bad.\n"
    "  output_format: Reply with the label alone.\n  reader: {python: parser:read}\n"
    "  data: {path: datasets/d.csv, id: id, input: text, gold_label: gold}\n",
    "datasets/d.csv": "id,text,gold\n1,a good day,positive\n2,a bad day,negative\n3,good food,positive\n4,awful,positive\n",
    "rephrasers/r.yml": "function: {kind: python, function: lab:paraphrase}\n"
    "command: {kind: command, command: [python3, reword.py, --fast]}\n",
    "audits/a.yml": "by_function: {tasks: [tone], models: [own], repetitions: {original: 2, variants: 1}, "
    "rephrasing: {rephraser: function, temperatures: [0.5, 2], variants_per_temperature: 2}}\n"
    "by_command: {tasks: [tone], models: [lexical], repetitions: {original: 1, variants: 1}, "
    "rephrasing: {rephraser: command, variants: 3}, format: {policy: warn, max_invalid_rate_at_first: 1}}\n",
}


def write_registry(folder: Path, **changed: str) -> Path:
    """Writes the cards and the code into `folder/registry`; `changed` replaces a file, `__` in its name for `/`, `_` for `.`."""
    files = {name: changed.get(name.replace("/", "__").replace(".", "_"), text) for name, text in CARDS.items()}
    write_files(folder / "registry", files)
    return folder / "registry"


def entry_of(card: Card, root: Path, file: str = "models/m.yml") -> Entry:
    """Returns the entry of a card that names code, as loading the folder would make it."""
    code = CodeFinder(root).code_of(card)
    assert code is not None
    return Entry(with_sha256(card, code), root, file, {}, code)
