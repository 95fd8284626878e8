"""Which wording to ship, from a run's answers to the terminal and to a card."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from promptaudit.query.choice.choose import Choices, choose
from promptaudit.query.choice.write_card import write_card
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import MeasureError, UsageError
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.imported_runs import COLOURS, Recorded, published

RIGHT_OF_40 = {"clear": (10, 38, 12), "equal": (20, 22, 19)}
"""By model: samples that are right with the original and two other wordings."""


def answers() -> list[dict[str, Any]]:
    return [
        {
            "model": model,
            "task": "colours",
            "strategy": "simple",
            "variant_index": variant,
            "is_original": variant == 0,
            "repetition": 1,
            "sample_id": f"c{sample}",
            "gold_label": COLOURS[sample % 2],
            "completion": COLOURS[sample % 2 if (sample * 7) % 40 < n_right else 2],
            "instruction": f"Wording {variant}: name the colour.",
        }
        for model, of_model in RIGHT_OF_40.items()
        for variant, n_right in enumerate(of_model)
        for sample in range(40)
    ]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    few = [row for row in answers() if int(row["sample_id"][1:]) < 10]
    files = [Recorded(name, rows, COLOURS, FormatLimits()) for name, rows in (("colours", answers()), ("few", few))]
    path, _ = published(tmp_path_factory.mktemp("choice"), files)
    return Warehouse(path)


@pytest.fixture(scope="module")
def choices(warehouse: Warehouse) -> Choices:
    return choose(warehouse, "colours")


def test_a_better_wording_is_named_with_its_gain(choices: Choices) -> None:
    clear, equal = choices.choices
    assert clear.chosen.variant_index == 1
    assert clear.chosen.gain == pytest.approx(0.7)
    assert clear.says.startswith("wording 1 is better than yours: +0.700 of accuracy on samples that did not choose it")
    assert clear.says.endswith("whichever wording is chosen")
    assert not equal.chosen.is_better
    assert equal.says.startswith("no wording is better than yours beyond chance; the most accurate one is wording 1: ")


def test_where_yours_is_the_best_it_says_how_much_better_another_may_be(choices: Choices) -> None:
    _, equal = choices.choices
    yours = dataclasses.replace(equal.original, is_chosen=True, gain=0.0, gain_high=0.034)
    of_yours = dataclasses.replace(equal, wordings=(yours, *(each for each in equal.wordings if not each.is_original)))
    assert of_yours.says == (
        "no wording is shown to be better than yours, which is right most often of 3; up to +0.034 of accuracy is possible "
        "with another"
    )


def test_the_terminal_has_the_best_and_the_original(choices: Choices) -> None:
    lines = list(choices.lines(1))
    clear = lines[2:7]
    assert clear[0].startswith("clear, colours, simple (right by label_match): wording 1 is better than yours")
    # a vote of three wordings: the original's and the best one's and the rest
    assert clear[1].startswith("  the majority of ")
    assert clear[3].split()[:2] == ["1", "0.950"]
    assert clear[4].split()[:2] == ["original", "0.250"]


def test_one_line_says_what_cannot_be_chosen(warehouse: Warehouse, choices: Choices) -> None:
    with pytest.raises(MeasureError, match="at least 20 samples are wanted"):
        choose(warehouse, "few")
    with pytest.raises(UsageError, match=r"--model clearr: run .*nearest: clear"):
        choose(warehouse, "colours", model="clearr")
    with pytest.raises(UsageError, match="has 2 groups of wordings: name one with --model"):
        _ = choices.only


def test_the_chosen_wording_becomes_a_card(choices: Choices, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    card = {
        "kind": "classification",
        "labels": list(COLOURS),
        "instruction": "Wording 0: name the colour.",
        "reader": "label_in_text",
        "data": {"path": "colours.csv", "input": "text"},
    }
    (tmp_path / "tasks/colours.yml").write_text(yaml.safe_dump({"colours": card}))
    (tmp_path / "colours.csv").write_text("text\nLike grass\n")
    registry = load_registry([tmp_path])
    clear, equal = choices.choices
    assert write_card(registry, equal) is None
    written = write_card(registry, clear)
    assert written == tmp_path / "tasks/colours_chosen.yml"
    assert yaml.safe_load(written.read_text()) == {
        "colours_chosen": {**card, "instruction": "Wording 1: name the colour."}
    }
    with pytest.raises(UsageError, match="is there already"):
        write_card(registry, clear)
    with pytest.raises(UsageError, match="task 'colours_chosen' is there already"):
        write_card(load_registry([tmp_path]), clear)


def test_a_card_that_asks_otherwise_by_now_is_not_written_anew(choices: Choices, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    card = {"labels": list(COLOURS), "instruction": "Which colour?", "data": {"path": "colours.csv", "input": "text"}}
    (tmp_path / "tasks/colours.yml").write_text(yaml.safe_dump({"colours": card}))
    with pytest.raises(UsageError, match="its card asks otherwise than the run"):
        write_card(load_registry([tmp_path]), choices.choices[0])
    assert not (tmp_path / "tasks/colours_chosen.yml").exists()
