"""What decides a run's requests decides whether a run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from promptaudit.cards.check_cards.cards import perturbed_last
from promptaudit.plan.design import design_audit
from promptaudit.registry.errors import CardError
from promptaudit.registry.registry import load_registry
from tests.support.files import write_files
from tests.support.http_audit import ask, write_cards
from tests.support.openai_server import running_server

TASK = """t:
  labels: [a, b]
  instruction: Sort it for {reader}.
  reader: exact
  data: {path: datasets/d.csv, id: id, input: text, gold_label: gold}
"""
AUDIT = "a: {tasks: [t], models: [lexical], strategies: [simple, one_shot], samples: {limit: 4}}\n"
ROWS = "id,text,gold,reader,unused\n" + "".join(f"{n},text {n},{'ab'[n % 2]},me,x\n" for n in range(12))


def fingerprint(folder: Path, change: Callable[[str], str]) -> str:
    files = {"tasks/t.yml": TASK, "audits/a.yml": AUDIT, "datasets/d.csv": ROWS}
    write_files(folder, {name: change(text) for name, text in files.items()})
    return design_audit(load_registry([folder]), "a").plan_fingerprint


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("instruction: Sort", "instruction: Arrange"),
        (",me,", ",you,"),  # a column that a placeholder uses
        ("text ", "texts "),  # the samples, and the examples of one_shot among them
        ("limit: 4", "limit: 5"),
        ("models: [lexical]", "models: [lexical, random]"),
        ("9,text 9,b", "9,text 9,a"),  # a gold label
    ],
)
def test_what_is_asked_or_scored_differently_is_another_run(tmp_path: Path, before: str, after: str) -> None:
    assert fingerprint(tmp_path, lambda text: text.replace(before, after)) != fingerprint(tmp_path, str)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("reader: exact", "reader: label_in_text"),
        ("reader: exact", "reader: exact\n  pair_classes: [b]"),
        (",x\n", ",y\n"),
        ("limit: 4}", "limit: 4}, seed: 3"),
    ],
)
def test_what_asks_nothing_asks_nothing_again(tmp_path: Path, before: str, after: str) -> None:
    assert fingerprint(tmp_path, lambda text: text.replace(before, after)) == fingerprint(tmp_path, str)


EXTRACTION = """t:
  kind: extraction
  instruction: Read it.
  fields: {id: exact}
  data: {path: datasets/d.csv, id: id, input: text}
"""


@pytest.mark.parametrize(("strategies", "is_another"), [("simple", False), ("simple, one_shot", True)])
def test_a_rule_asks_again_where_an_example_shows_what_it_reads(
    tmp_path: Path, strategies: str, is_another: bool
) -> None:
    def ruled(rule: str) -> str:
        files = {
            TASK: EXTRACTION.replace("exact", rule),
            AUDIT: AUDIT.replace("simple, one_shot", strategies).replace("lexical", "steady"),
        }
        return fingerprint(tmp_path, lambda text: files.get(text, text))

    assert (ruled("number") != ruled("exact")) is is_another  # an example says 3, or "3"


def test_models_wait_for_the_one_they_perturb() -> None:
    assert perturbed_last({"c": "b", "a": None, "b": "a", "d": None}) == [["a", "d"], ["b"], ["c"]]
    with pytest.raises(CardError, match="in a circle: x"):
        perturbed_last({"x": "x", "a": None})


def test_requests_that_begin_alike_follow_each_other_and_repetitions_of_a_cell_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    with running_server() as server:
        cards = write_cards(
            tmp_path / "cards",
            server.base_url,
            n_samples=40,
            variants=3,
            repetitions=2,
            strategies="simple, detail, one_shot",
            limits="{max_connections: 8}",
        )
        ask(tmp_path / "audit.duckdb", cards)
        sent = ["".join(each["content"] for each in one["body"]["messages"]) for one in server.json("requests")]
    repeated = sum(len(os.path.commonprefix(pair)) for pair in pairwise(sent))  # noqa: RUF071 - characters are counted
    assert repeated / sum(map(len, sent[1:])) > 0.9
    places: dict[str, list[int]] = {}
    for place, text in enumerate(sent):
        places.setdefault(text, []).append(place)
    # a pass over the samples, less what is in flight
    assert min(second - first for first, second in places.values()) > 40 - 2 * 8
