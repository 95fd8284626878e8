"""Two tasks over real HTTP whose prompts vary in every kind, one kind at a time or crossed, and what the server got for them."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from promptaudit.registry.registry import load_registry
from promptaudit.system.keys import request_sha256, sent_by
from tests.support.knowing_server import KnowingServer
from tests.support.loopback import ROOT

MOODS = ("pleased", "annoyed", "neutral")
SORTED_KINDS = ("wording", "format", "label_order", "examples", "input_noise", "system", "language")
CHOSEN_KINDS = ("wording", "format", "option_order", "examples", "input_noise", "system", "language")
CARDS = """models/api.yml:
api:
  engine: openai_api
  model: small
  base_url: URL
  api_key_env: AUDIT_KEY
  sampling: {temperature: 0, max_tokens: 16}
  limits: {max_connections: 8}
---
tasks/t.yml:
mood:
  labels: {pleased: it praises, annoyed: it complains, neutral: it does neither}
  instruction: Sort the message by the mood of its writer.
  output_format: Reply with the label alone.
  messages:
    - {role: system, content: You read letters.}
    - {role: user, content: "{instruction} {output_format}\\n\\nMessage: {input}"}
  translations: {de: Welche Stimmung hat die Nachricht?, fr: Classez le message selon son humeur.}
  data: {path: datasets/mood.csv, id: id, input: text, gold_label: mood}
quiz:
  kind: multiple_choice
  templates: quiz
  translations: {de: "{examples}\\n\\nFrage: {question}\\n{options}\\nAntwort:"}
  data: {path: datasets/quiz.csv, id: id, input: text, gold_label: right, options: [a, b, c, d]}
---
templates/quiz.yml:
quiz:
  kind: multiple_choice
  templates:
    - system: You sit an examination.
      text: "{examples}\\n\\nRead the question and choose the right option.\\n\\nQuestion: {question}\\n{options}\\nAnswer:"
      examples:
        - {question: "What is wet? A. stone B. rain", answer: B}
        - {question: "What is hot? A. fire B. ice", answer: A}
        - {question: "What is tall? A. ant B. tree", answer: B}
    - text: "{question}\\n{options}\\nGive the number."
      enumerators: numbers
---
audits/a.yml:
sorted:
  tasks: [mood]
  models: [api]
  strategies: [one_shot]
  rephrasing: {rephraser: rules, variants: 4, kinds: [SORTED], variants_of: {language: 3}, noise_rate: 0.3}
  repetitions: {original: 1, variants: 1}
  samples: {limit: 15}
chosen:
  tasks: [quiz]
  models: [api]
  rephrasing: {rephraser: rules, variants: 4, templates: true, kinds: [CHOSEN], variants_of: {option_order: 6, language: 2}}
  repetitions: {original: 1, variants: 1}
moods:
  tasks: [mood]
  models: [api]
  strategies: [one_shot]
  rephrasing: {kinds: [label_order, examples, input_noise], crossed: true, noise_rate: 0.5, variants: 3}
  repetitions: {original: 2, variants: 1}
  samples: {limit: 4}
  resamples: 20
quizzes:
  tasks: [quiz, mood]
  models: [api]
  strategies: [one_shot]
  rephrasing: {kinds: [input_noise, examples, system], crossed: true, noise_rate: 0.5, variants: 2}
  repetitions: {original: 1, variants: 1}
  samples: {limit: 4}
  resamples: 20
orders:
  tasks: [quiz]
  models: [api]
  rephrasing: {rephraser: rules, variants: 2, templates: true, kinds: [wording, option_order, input_noise], crossed: true}
  repetitions: {original: 1, variants: 1}
  samples: {limit: 4}
  resamples: 20
"""


def write_registry(folder: Path, url: str) -> dict[str, str]:
    """Writes cards and data; returns the key, by the number that stands in each question."""
    text = (
        CARDS.replace("URL", url).replace("SORTED", ", ".join(SORTED_KINDS)).replace("CHOSEN", ", ".join(CHOSEN_KINDS))
    )
    for part in text.split("---\n"):
        name, _, content = part.partition(":\n")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "datasets").mkdir()
    key = {}
    with (folder / "datasets/mood.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "mood"])
        for n in range(42):
            key[f"m{n}"] = MOODS[n % 3]
            rows.writerow([f"m{n}", f"Letter m{n} about another long delayed parcel from yesterday", MOODS[n % 3]])
    with (folder / "datasets/quiz.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "a", "b", "c", "d", "right"])
        for n in range(12):
            options = [f"option {color} {n}" for color in ("red", "green", "blue", "grey")]
            key[f"q{n}"] = options[n % 4]
            options = options if n % 3 else [*options[:3], ""]  # some have three
            right = "ABCD"[n % 4] if options[n % 4] else "A"
            key[f"q{n}"] = options["ABCD".index(right)]
            rows.writerow([f"q{n}", f"Which colour belongs to thing q{n} in the catalogue?", *options, right])
    return key


def start(folder: Path, audit: str, n_askers: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.http_audit", str(folder / "audit.duckdb"), str(folder / "cards")]
    return subprocess.Popen(
        [*command, "ask", str(n_askers), audit],
        cwd=ROOT,
        env={**os.environ, "AUDIT_KEY": "sk-0123456789abcdef"},
        stderr=subprocess.PIPE,
        text=True,
    )


def messages_got(
    cards: Path, server: KnowingServer, repetitions: Sequence[int] = (1,)
) -> Mapping[str, list[dict[str, str]]]:
    """The messages of every body that the server got, by the hash that a request of them has."""
    sent = sent_by(load_registry([cards]).model("api"))
    return {
        request_sha256(sent, [(each["role"], each["content"]) for each in body["messages"]], repetition): body[
            "messages"
        ]
        for body in server.bodies
        for repetition in repetitions
    }
