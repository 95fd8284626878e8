"""The packed answers, unpacked again and held against the published marts they are from."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.evidence.trace.gather import trace
from promptaudit.report.answers_grid.content import MOST_SIGN, filled_with, messages_of, options_of, signs_of, visible
from promptaudit.report.answers_grid.section import AnswersGrid, answers_grid
from promptaudit.report.gather import gather
from promptaudit.report.gather_answers import changes_each_sample
from promptaudit.system.display.policy import Policy
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.imported_runs import HOSTILE, OVERRIDE, SCRIPT
from tests.support.published_copy import table

ANSWERS = """
select model_id, task_id, strategy, sample_id, variant_index, paraphrase_temperature, repetition, answer_status,
    if(answer_status = 'valid', label, null) as label, completion
from marts.fct_predictions where audit_run_id = '{}'
"""


def grid_of(run: Reported, text: Policy | None = None, **budget: int) -> AnswersGrid:
    return answers_grid(gather(Warehouse(run.warehouse), run.audit_run_id, text), **budget)


def unpacked(grid: AnswersGrid) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(json.loads(grid.packed)["deflated"])))
    return content


def answers_of(content: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Every packed answer as the query above has it."""
    for group in content["groups"]:
        task = content["tasks"][group["task"]]
        rows = [row for row, n in zip(group["rows"], group["n"], strict=True) for _ in range(n)]
        for at, row in enumerate(rows):
            variant = content["variants"][group["wordings"][group["wording"][at]]]
            label, said = group["label"][at], group["completion"][at]
            yield (
                group["model"],
                task["name"],
                group["strategy"],
                content["samples"][row]["name"],
                variant["variant_index"],
                variant["paraphrase_temperature"],
                group["repetition"][at],
                content["statuses"][group["status"][at]],
                None if label < 0 else task["labels"][label],
                None if said < 0 else content["completions"][said],
            )


def test_every_answer_is_there_once_as_the_mart_has_it(ordinary: Reported) -> None:
    grid = grid_of(ordinary)
    expected = Counter(table(ordinary.warehouse, ANSWERS.format(ordinary.audit_run_id))[1])
    assert Counter(answers_of(unpacked(grid))) == expected
    assert grid.summary.startswith(f"All {sum(expected.values()):,} answers are here")


def test_samples_and_groups_stand_with_the_largest_disagreement_first(ordinary: Reported, judged: Reported) -> None:
    for run in (ordinary, judged):
        groups = unpacked(grid_of(run))["groups"]
        worths = [group["worth"] for group in groups]
        assert all(worth == sorted(worth, reverse=True) for worth in worths)
        assert [worth[0] for worth in worths] == sorted((worth[0] for worth in worths), reverse=True)
        assert {group["measured"] for group in groups} == {True, False}


def test_a_budget_keeps_the_worst_samples_of_each_group_whole(ordinary: Reported) -> None:
    whole, budget = unpacked(grid_of(ordinary)), 20_000
    grid = grid_of(ordinary, budget=budget)
    part = unpacked(grid)
    size = len(json.loads(grid.packed)["deflated"])
    assert 0.8 * budget < size <= budget
    kept = [(group["model"], group["task"], group["strategy"], group["n"]) for group in part["groups"]]
    of = {(group["model"], group["task"], group["strategy"]): group["n"] for group in whole["groups"]}
    assert all(of[model, task, strategy][: len(n)] == n for model, task, strategy, n in kept)
    differing = [len(group["n"]) for group in part["groups"] if group["worth"][-1] > 0]
    assert max(differing) - min(differing) <= 1
    n_all = sum(len(group["label"]) for group in whole["groups"])
    n = sum(len(group["label"]) for group in part["groups"])
    assert grid.summary.startswith(
        f"{n:,} of {n_all:,} answers are here, those to the samples whose answers differ most"
    )
    assert all(group["of"] == len(of[group["model"], group["task"], group["strategy"]]) for group in part["groups"])


def test_no_budget_is_passed_and_none_is_too_small(judged: Reported) -> None:
    for budget in (300, 2_000, 9_000):
        assert len(json.loads(grid_of(judged, budget=budget).packed)["deflated"]) <= max(budget, 400)


def test_texts_that_are_left_out_are_not_in_the_page(ordinary: Reported) -> None:
    content = unpacked(grid_of(ordinary, "none"))
    assert content["completions"] == []
    assert not any({"values", "options", "references"} & sample.keys() for sample in content["samples"])
    assert not any({"messages", "instruction"} & variant.keys() for variant in content["variants"])
    assert sum(len(group["label"]) for group in content["groups"]) > 6_000


def test_what_is_hostile_is_visible_cut_and_packed(hostile: Reported) -> None:
    grid = grid_of(hostile)
    assert not set("<>&") & set(grid.packed)
    completions = unpacked(grid)["completions"]
    assert "abc\\u202edef" in completions
    assert any(SCRIPT in said for said in completions)
    assert max(map(len, completions)) < 1_300  # 300 characters, each escaped
    assert not {chr(code) for code in (*range(10), *range(11, 32), 0x202E)} & set("".join(completions))
    assert OVERRIDE in HOSTILE
    long = [len(said) for said in unpacked(grid_of(hostile, "full"))["completions"]]
    assert sum(length > 10_000 for length in long) == 2


def test_open_answers_are_right_or_wrong_by_the_first_rule_of_their_task(judged: Reported) -> None:
    content = unpacked(grid_of(judged))
    query = (
        "select task_id, is_correct, count(*) from marts.fct_scores where scoring_method = 'token_f1' and score_state = 'scored' "
        f"and task_id = 'facts' and audit_run_id = '{judged.audit_run_id}' group by all"
    )
    expected = {is_correct: n for _, is_correct, n in table(judged.warehouse, query)[1]}
    found = Counter(
        content["rulings"][ruling]
        for group in content["groups"]
        if content["tasks"][group["task"]]["name"] == "facts"
        for ruling in group["ruling"]
        if ruling >= 0
    )
    assert found == {"right": expected[True], "wrong": expected[False]}


def test_the_trace_of_a_cell_is_of_its_answer(judged: Reported) -> None:
    group = unpacked(grid_of(judged))["groups"][0]
    found = trace(Warehouse(judged.warehouse), f"fct_predictions.{group['trace'][12:24]}", with_lineage=False)
    assert (found.row["model_id"], found.row["repetition"]) == (group["model"], group["repetition"][1])
    assert len(group["trace"]) == 12 * len(group["label"])


@pytest.mark.parametrize("name", ["ordinary", "hostile", "judged"])
def test_packing_twice_gives_the_same(name: str, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    assert grid_of(run).packed == grid_of(run).packed


@pytest.mark.parametrize(
    ("labels", "signs"),
    [
        (("A", "B", "10"), ["A", "B", "10"]),
        (("red", "green", "blue", "none of these"), ["R", "G", "B", "N"]),
        (("positive", "neutral", "negative"), ["A", "B", "C"]),  # two begin with the same two letters
        (("number", "naming"), ["Nu", "Na"]),
        (("<b>x</b>", "<b>y</b>"), ["Bx", "By"]),
        (("<<<>>>", "אדום", "red"), ["A", "B", "C"]),
        ((), []),
    ],
)
def test_signs_are_the_labels_their_first_letters_or_their_places(labels: tuple[str, ...], signs: list[str]) -> None:
    assert signs_of(labels) == signs


@given(st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=900))
def test_no_two_labels_share_a_sign(labels: list[str]) -> None:
    signs = signs_of(labels)
    assert len(set(signs)) == len(signs) == len(labels)
    assert all(0 < len(sign) <= MOST_SIGN and sign.isprintable() for sign in signs)


def sample(**given: Any) -> dict[str, Any]:
    return {"input": None, "fields": None, **given}


def test_what_is_invisible_is_escaped_and_lines_stay() -> None:
    assert visible("a\r\nb\n\tc\u202e\x00", 20) == "a\nb\n\\tc\\u202e\\x00"
    assert visible("abcdef", 3) == "abc…"


def test_each_piece_between_placeholders_is_cut_for_itself() -> None:
    prompt = json.dumps(
        [{"role": "system", "content": "be brief"}, {"role": "user", "content": "x" * 9 + "{input}" + "y" * 9}]
    )
    assert messages_of({"prompt": prompt}, 4) == [["system", "be b…"], ["user", "xxxx…{input}yyyy…"]]


@pytest.mark.parametrize("prompt", [None, "", "no JSON", '"text"', "{}", "[1, null]", "[[1]]"])
def test_a_prompt_that_is_none_has_no_messages(prompt: str | None) -> None:
    assert messages_of({"prompt": prompt}, 300) == []
    assert options_of({"template": prompt}, 300) is None
    assert filled_with(sample(fields=prompt), 300) == {}


def test_a_sample_puts_in_its_text_and_its_columns() -> None:
    filled = filled_with(sample(input="which?", fields='{"hint": "b\\u0000", "none": null}'), 300)
    assert filled == {"hint": "b\\x00", "input": "which?", "question": "which?"}


def test_a_setting_that_cannot_be_read_changes_no_sample() -> None:
    assert changes_each_sample({"setting": '{"input_noise": {"noise": "typos", "rate": 0.1, "seed": 1}}'})
    for setting in ("no JSON", "3", "[" * 100_000):
        assert not changes_each_sample({"setting": setting})
