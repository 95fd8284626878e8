"""Every kind of variation over real HTTP: what is sent is what settings say, killed or not, and answers are read back right."""

from __future__ import annotations

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptaudit.marts.transform import transform
from promptaudit.prompts.as_sent import SentPrompts
from promptaudit.prompts.put_samples import json_of
from promptaudit.prompts.variations.input_noise import NOISES
from promptaudit.warehouse import Warehouse
from tests.support.http_audit import query
from tests.support.kinds_audit import MOODS, messages_got, start, write_registry
from tests.support.knowing_server import KnowingServer, knowing_server

CONNECTIONS = 8


@dataclass(frozen=True)
class Asked:
    """Both audits, asked: their cells with what was sent for them, and what the server got."""

    warehouse: Path
    server: KnowingServer
    cells: list[dict[str, Any]]
    orders: Mapping[tuple[str, str], list[int]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("kinds")
    key: dict[str, str] = {}
    with knowing_server(key, latency_s=0.005) as server:
        key.update(write_registry(folder / "cards", server.base_url))
        for audit in ("sorted", "chosen"):
            if audit == "chosen":
                until, asking = len(server.bodies) + 90, start(folder, audit)
                while len(server.bodies) < until and asking.poll() is None:
                    time.sleep(0.002)
                asking.send_signal(signal.SIGKILL)
                asking.communicate(timeout=60)
            asking = start(folder, audit, n_askers=1 if audit == "sorted" else 2)
            _, err = asking.communicate(timeout=120)
            assert asking.returncode == 0, err
        warehouse = folder / "audit.duckdb"
        transform(
            Warehouse(warehouse),
            [run for (run,) in query(warehouse, "select audit_run_id from raw.audit_runs")],
            "up_to_formats",
        )
        yield Asked(
            warehouse=warehouse,
            server=server,
            cells=sent_cells(warehouse, folder / "cards", server),
            orders={
                (variant, sample): order
                for variant, sample, order in query(
                    warehouse, "select prompt_variant_id, sample_id, option_order from raw.option_orders"
                )
            },
        )


def sent_cells(warehouse: Path, cards: Path, server: KnowingServer) -> list[dict[str, Any]]:
    """Every cell with its variant, its sample and the messages that the server got, found by the hash of what was sent."""
    got = messages_got(cards, server)
    names = (
        "run",
        "prediction",
        "task",
        "variant",
        "variation",
        "setting",
        "index",
        "instruction",
        "prompt",
        "sample",
        "text",
        "options",
        "gold",
        "request",
        "status",
        "label",
        "is_correct",
    )
    rows = query(
        warehouse,
        "select p.audit_run_id, p.prediction_id, p.task_id, v.prompt_variant_id, v.variation, v.setting, v.variant_index, "
        "v.instruction, v.prompt, p.sample_id, s.input, s.options, s.gold_label, p.request_sha256, "
        "l.answer_status, l.label, l.is_correct "
        "from raw.predictions p join raw.prompt_variants v using (audit_run_id, prompt_variant_id) "
        "join raw.samples s on s.audit_run_id = p.audit_run_id and s.sample_id = p.sample_id "
        "join intermediate.int_predictions_labelled l using (prediction_id)",
    )
    cells = [dict(zip(names, row, strict=True)) for row in rows]
    for cell in cells:
        messages = cell["messages"] = got[cell["request"]]
        cell["setting"] = json.loads(cell["setting"])
        cell["system"] = next((each["content"] for each in messages if each["role"] == "system"), None)
        cell["user"] = messages[-1]["content"]
    return cells


def of_kind(asked: Asked, task: str, kind: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The cells of a kind, each with the original's of the same sample."""
    originals = {
        cell["sample"]: cell for cell in asked.cells if cell["task"] == task and cell["variation"] == "original"
    }
    pairs = [
        (cell, originals[cell["sample"]]) for cell in asked.cells if cell["task"] == task and cell["variation"] == kind
    ]
    assert pairs, (task, kind)
    return pairs


pytestmark = pytest.mark.slow


def test_prompts_are_put_together_again_from_what_has_landed_byte_for_byte(asked: Asked) -> None:
    for run in {cell["run"] for cell in asked.cells}:
        own = [cell for cell in asked.cells if cell["run"] == run]
        answers = [
            {
                "prediction_id": cell["prediction"],
                "model_id": "api",
                "prompt_variant_id": cell["variant"],
                "sample_id": cell["sample"],
                "repetition": 1,
            }
            for cell in own
        ]
        with Warehouse(asked.warehouse).write() as con:
            prompts = SentPrompts(con, run)
            shown = prompts.shown(answers)
        assert prompts.n_otherwise == 0
        for cell, each in zip(own, shown, strict=True):
            assert each is not None
            assert json.loads(json_of(each.messages)) == cell["messages"]


def test_every_cell_is_asked_once_though_a_run_was_killed(asked: Asked) -> None:
    bodies = Counter(json.dumps(body, sort_keys=True) for body in asked.server.bodies)
    # equal requests are of cells that are sent the same; beside them only what was in flight when a run was killed is sent twice
    wanted = Counter(cell["request"] for cell in asked.cells)
    assert len(bodies) == len(wanted)
    assert sum(wanted.values()) == len(asked.cells)
    assert len(asked.cells) <= len(asked.server.bodies) <= len(asked.cells) + CONNECTIONS


def test_each_kind_has_the_variants_that_the_cards_want(asked: Asked) -> None:
    for task, n_samples, wanted in (
        ("mood", 15, {"original": 1, "label_order": 3, "language": 2}),
        ("quiz", 12, {"original": 1, "template": 1, "option_order": 5, "language": 1}),
    ):
        kinds = wanted | dict.fromkeys(("wording", "format", "examples", "input_noise", "system"), 3)
        cells = [cell for cell in asked.cells if cell["task"] == task]
        assert Counter(kind for _, kind in {(cell["variant"], cell["variation"]) for cell in cells}) == kinds
        assert len(cells) == n_samples * sum(kinds.values())
        indexes = {cell["variant"]: cell["index"] for cell in cells}
        assert sorted(indexes.values()) == list(range(len(indexes)))
        for cell in cells:
            assert list(cell["setting"]) == ([] if cell["variation"] == "original" else [cell["variation"]])


def test_who_knows_what_is_right_is_right_under_every_variant(asked: Asked) -> None:
    wrong = [cell for cell in asked.cells if not cell["is_correct"]]
    assert not wrong, wrong[0]
    assert {cell["status"] for cell in asked.cells} == {"valid"}
    # not by chance: the right options go by each letter
    assert {cell["label"] for cell in asked.cells if cell["task"] == "quiz"} == set("ABCD")


def test_options_stand_in_the_orders_that_are_landed(asked: Asked) -> None:
    for cell, original in of_kind(asked, "quiz", "option_order"):
        options = json.loads(cell["options"]) if isinstance(cell["options"], str) else cell["options"]
        n = len(options)
        order = asked.orders.get((cell["variant"], cell["sample"]), list(range(n)))
        written = "\n".join(f"{'ABCD'[place]}. {options[at]}" for place, at in enumerate(order))
        plain = "\n".join(f"{'ABCD'[place]}. {option}" for place, option in enumerate(options))
        assert cell["user"] == original["user"].replace(plain, written)
        gold, level = "ABCD".index(cell["gold"]), cell["setting"]["option_order"]
        others = [place for place in range(n) if place != gold]
        known = {"gold_first": [gold, *others], "gold_last": [*others, gold], "reversed": list(range(n))[::-1]}
        assert order == known.get(level, order)
    levels = {cell["setting"]["option_order"] for cell, _ in of_kind(asked, "quiz", "option_order")}
    assert levels == {"gold_first", "gold_last", "reversed", "seeded 1", "seeded 2"}
    changed = {variant for variant, _ in asked.orders}
    assert changed == {cell["variant"] for cell, _ in of_kind(asked, "quiz", "option_order")}


def test_labels_and_their_examples_stand_in_the_order_of_the_setting(asked: Asked) -> None:
    seen = set()
    for cell, original in of_kind(asked, "mood", "label_order"):
        line = re.search(r"The labels are: (.*)\.\nExamples", cell["user"])
        named = line[1].split(", ") if line else []
        shown = re.findall(r"\n-> (\w+)", cell["user"])
        level, others = cell["setting"]["label_order"], [mood for mood in MOODS if mood != cell["gold"]]
        assert (
            named
            == shown
            == {
                "gold_first": [cell["gold"], *others],
                "gold_last": [*others, cell["gold"]],
                "reversed": list(MOODS)[::-1],
            }[level]
        )
        assert sorted(cell["user"].split()) == sorted(original["user"].split()) or level
        seen.add(level)
        assert ("{labels}" in cell["prompt"]) == level.startswith("gold")
    assert seen == {"gold_first", "gold_last", "reversed"}


def test_examples_are_those_of_the_setting(asked: Asked) -> None:
    for cell, original in of_kind(asked, "mood", "examples"):
        level = cell["setting"]["examples"]
        shown = re.findall(r"Letter (m\d+) .*\n-> (\w+)", cell["user"])
        first = re.findall(r"Letter (m\d+) .*\n-> (\w+)", original["user"])
        assert all(MOODS[int(number[1:]) % 3] == label for number, label in shown)
        if level["rows"] is None:
            assert shown == [first[place] for place in level["order"]]
        else:
            assert [number for number, _ in shown] == level["rows"]
    asked_samples = {cell["sample"] for cell in asked.cells if cell["task"] == "mood"}
    rows = {row for cell, _ in of_kind(asked, "mood", "examples") for row in cell["setting"]["examples"]["rows"] or ()}
    assert rows
    assert not rows & asked_samples
    for cell, _ in of_kind(asked, "quiz", "examples"):
        shown = re.findall(r"Question: (What is \w+)", cell["user"])
        own = ["What is wet", "What is hot", "What is tall"]
        assert shown == [own[place] for place in cell["setting"]["examples"]["places"]]


def test_inputs_have_the_noise_of_the_setting_and_nothing_else_has(asked: Asked) -> None:
    for task in ("mood", "quiz"):
        seen = set()
        for cell, original in of_kind(asked, task, "input_noise"):
            level = cell["setting"]["input_noise"]
            before, _, after = original["user"].rpartition(cell["text"])
            assert cell["user"].startswith(before)
            assert cell["user"].endswith(after)
            noisy = cell["user"].removeprefix(before).removesuffix(after)
            assert noisy != cell["text"]
            assert cell["sample"] in noisy.split()
            pairs = list(zip(cell["text"].split(), noisy.split(), strict=True))
            n_changed = sum(one != other for one, other in pairs)
            if level["noise"] == "white_space":
                assert n_changed == 0
            elif level["noise"] == "case":
                assert all(one.casefold() == other.casefold() for one, other in pairs)
                # of the words without a digit the share of the rate
                assert n_changed == max(1, round(level["rate"] * sum(word.strip("?").isalpha() for word, _ in pairs)))
            seen.add(level["noise"])
        assert seen == set(NOISES)


def test_system_messages_are_those_of_the_setting(asked: Asked) -> None:
    for task, own in (("mood", "You read letters."), ("quiz", "You sit an examination.")):
        levels = set()
        for cell, original in of_kind(asked, task, "system"):
            assert original["system"] == own
            assert cell["system"] == cell["setting"]["system"] != own
            assert cell["user"] == original["user"]
            levels.add(cell["system"])
        assert len(levels) == 3
        assert None in levels


def test_instructions_are_in_the_language_of_the_setting(asked: Asked) -> None:
    words = {"de": "Welche Stimmung hat die Nachricht?", "fr": "Classez le message selon son humeur."}
    for cell, original in of_kind(asked, "mood", "language"):
        own = words[cell["setting"]["language"]]
        assert cell["instruction"] == own
        assert cell["user"] == original["user"].replace("Sort the message by the mood of its writer.", own)
    for cell, original in of_kind(asked, "quiz", "language"):
        head, _, asking = original["user"].partition("\n\nRead the question and choose the right option.\n\nQuestion: ")
        assert cell["user"] == f"{head}\n\nFrage: {asking.removesuffix('Answer:')}Antwort:"


def test_forms_are_those_of_the_setting_and_how_to_answer_stays(asked: Asked) -> None:
    for cell, original in of_kind(asked, "mood", "format"):
        level = cell["setting"]["format"]
        casing = {"as written": "Message", "title": "Message", "lower": "message", "upper": "MESSAGE"}[level["casing"]]
        assert cell["user"].endswith(f"{level['spacing']}{casing}{level['separator']}{cell['text']}")
        assert "Reply with the label alone." in cell["user"]
        assert f"The labels are: {level['between'].join(MOODS)}." in cell["user"]
        assert all(f"{level['arrow']}{mood}\n" in cell["user"] for mood in MOODS)
        assert cell["user"] != original["user"]
    for cell, original in of_kind(asked, "quiz", "format"):
        level = cell["setting"]["format"]
        options = json.loads(cell["options"]) if isinstance(cell["options"], str) else cell["options"]
        written = level["between"].join(
            level["option"].replace("{enumerator}", sign).replace("{option}", option)
            for sign, option in zip("ABCD", options, strict=False)
        )
        assert written in cell["user"]
        assert cell["user"] != original["user"]
