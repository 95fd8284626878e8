"""A judge of pairs is asked in both orders: what it prefers in both is preferred, what the order decides is a tie."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.knowing_server import knowing_server
from tests.support.shell import promptaudit, sql

N = 20
KEY = "sk-0123456789abcdef"
CARDS = {
    "models": "base: {{engine: openai_api, model: base, base_url: '{url}', api_key_env: AUDIT_KEY, price: free}}\n"
    "other: {{engine: openai_api, model: other, base_url: '{url}', api_key_env: AUDIT_KEY, price: free}}\n"
    "judge: {{engine: openai_api, model: judge, base_url: '{url}', api_key_env: AUDIT_KEY, price: free}}\n",
    "tasks": "poem:\n  kind: open_ended\n  templates: two\n"
    "  data: {{path: datasets/poems.csv, id: id, input: input, references: said}}\n",
    "templates": "two:\n  kind: open_ended\n"
    "  templates: [{{text: 'Write on {{question}}.'}}, {{text: 'On {{question}}, please.'}}]\n",
    "judges": "better: {{model: judge, against: base}}\n",
    "audits": "a:\n  tasks: [poem]\n  models: [base, other]\n  judges: [better]\n  repetitions: {{original: 1, variants: 1}}\n"
    "  format: {{policy: warn}}\n",
}


def answer(body: dict[str, Any]) -> str:
    """Of two models, alike on every tenth sample, and of a judge that prefers `other` on even ones, else the first."""
    text = body["messages"][-1]["content"]
    number = int(re.findall(r"sample (\d+)", text)[0])
    if body["model"] != "judge":
        return f"sample {number} by " + ("nobody" if number % 10 == 9 else body["model"])
    shown = re.findall(r"sample \d+ by (base|other)", text)
    better = ["first", "second"][shown.index("other")] if number % 2 == 0 else "first"
    return json.dumps({"reason": "so", "better": better})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    with knowing_server(answer) as server:
        for kind, text in CARDS.items():
            path = folder / "registry" / kind / "own.yml"
            path.parent.mkdir(parents=True)
            path.write_text(text.format(url=server.base_url))
        (folder / "registry" / "datasets").mkdir()
        rows = "".join(f"s{n},sample {n},by base\n" for n in range(N))
        (folder / "registry" / "datasets" / "poems.csv").write_text(f"id,input,said\n{rows}")
        ended = promptaudit(folder, "run", "a", AUDIT_KEY=KEY)
        assert ended.code == 0, ended.err
        # two of the samples are answered alike; a pair that two templates give alike is asked about once, in each order
        assert len(server.bodies) == 2 * 2 * N + 2 * (N - 2)
        asked = [body["messages"][-1]["content"] for body in server.bodies if body["model"] == "judge"]
        assert sum(text.index("by other") < text.index("by base") for text in asked) == N - 2
        assert "nothing asked" in promptaudit(folder, "run", "a", AUDIT_KEY=KEY).out
    return folder


def test_preferred_answers_and_ties_by_the_order(folder: Path) -> None:
    (row,) = sql(folder, "select * from marts.fct_preferences")
    # of 20 samples 10 are preferred, 8 decided by the order and 2 alike: 10 + 10 / 2
    assert (row["model_id"], row["against"], row["scoring_method"]) == ("other", "base", "judge:better")
    assert row["preferred_rate"] == pytest.approx(0.75)
    assert row["preferred_rate_low"] < 0.75 < row["preferred_rate_high"]
    assert (row["n_pairs"], row["n_ruled"]) == (2 * N, 2 * N)
    assert row["tie_rate"] == pytest.approx(0.5)
    assert row["order_rate"] == pytest.approx(0.4)
    # a pair is no ruling on an answer
    assert sql(folder, "select count(*) as n from marts.fct_scores where scoring_method like 'judge:%'") == [{"n": 0}]
    page = (folder / "warehouse" / "published" / "report.html").read_text()
    assert "Preferred answers" in page
    assert "by the order" in page
    assert promptaudit(folder, "verify").code == 0


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("{model: judge, against: nobody}", "'nobody' and another model are wanted among the audit's"),
        ("{model: matcher, against: base}", "'matcher' compares no answers"),
        ("{model: judge, against: base}\nall: {panel: [better, match]}", "'better' rules on no single answers"),
        ("{model: judge, against: base, repetitions: 2}", "repetitions has no meaning"),
        (
            "{model: judge, against: base, rubric: '{question} {first}'}",
            "rubric must use {question}, {first} and {second}",
        ),
    ],
)
def test_what_compares_nothing_is_told(folder: Path, tmp_path: Path, judge: str, said: str) -> None:
    for path in (folder / "registry").rglob("*.*"):
        copy = tmp_path / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        text = text.replace("judges: [better]", "judges: [better, all]") if "all:" in judge else text
        copy.write_text(f"better: {judge}\n" if path.parent.name == "judges" else text)
    ended = promptaudit(tmp_path, "validate", "a")
    assert ended.code == 2
    assert said in ended.one_line()


def test_a_plan_counts_both_orders(folder: Path) -> None:
    assert re.search(rf"judge better +{2 * 2 * N} ", promptaudit(folder, "plan", "a").out)
