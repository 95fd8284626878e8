"""Open questions of which nobody knows the answer: `init` writes a judge that needs none, and its rulings are figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.knowing_server import knowing_server
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
QUESTIONS = ("Why is the sky blue?", "How do I boil an egg?", "What helps against hiccups?")


def answer(body: dict[str, Any]) -> str:
    """The model answers two of three questions; its judge rules a match unless nobody knows."""
    prompt = body["messages"][-1]["content"]
    if '"match"' in prompt:
        return json.dumps({"reason": "so", "match": "Nobody knows" not in prompt})
    return "Nobody knows." if "hiccups" in prompt else "Because of the heat and the light."


def test_a_judge_without_references_rules_on_questions_without(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(
        "".join(json.dumps({"question": each}) + "\n" for each in QUESTIONS), encoding="utf-8"
    )
    with knowing_server(answer) as server:
        promptaudit(tmp_path, "init", "--data", "d.jsonl", "--url", server.base_url, "--model", "m")
        ran = promptaudit(tmp_path, "run", "mine")
    assert ran.code == 0, ran.err
    judged = [body["messages"][-1]["content"] for body in server.bodies if '"match"' in body["messages"][-1]["content"]]
    # one ruling for each question and distinct answer, no control, since none has a known verdict
    assert len(judged) == len(QUESTIONS)
    assert not [prompt for prompt in judged if "Reference answers" in prompt]
    accuracies = sql(
        tmp_path,
        "select scoring_method, count(*) as n, min(accuracy) as low, max(accuracy) as high "
        "from marts.fct_variant_accuracy group by 1",
    )
    # two of three questions are answered under each of ten wordings; no rule scores any
    assert {row["scoring_method"]: (row["n"], row["low"], row["high"]) for row in accuracies} == {
        "judge:my_judge": (10, pytest.approx(2 / 3), pytest.approx(2 / 3)),
        "token_f1": (10, None, None),
    }
    assert promptaudit(tmp_path, "verify").code == 0
