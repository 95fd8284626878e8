"""Rewordings are put before a judge and people: whether each asks the same, and what the figures are of those that do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptaudit.warehouse.figure_names import figure_id
from tests.support.knowing_server import KnowingServer, knowing_server
from tests.support.shell import promptaudit, sql

N = 24
REWORDINGS = ["Tell if the number is even or odd.", "Say the opposite of its parity: even or odd?", "Even or odd?"]
CARDS = {
    "models": "api: {{engine: openai_api, model: m, base_url: '{url}', api_key_env: AUDIT_KEY, price: free}}\n",
    "tasks": "parity:\n  labels: [even, odd]\n  instruction: Say whether the number is even or odd.\n"
    "  output_format: Reply with the label alone.\n"
    "  data: {{path: datasets/numbers.csv, id: id, input: input, gold_label: gold}}\n",
    "rephrasers": "mine: {{kind: fixed, variants: {{parity: {rewordings}}}}}\n",
    "judges": "same: {{model: api, rubric: 'RULE {{references}} | {{question}} | {{mark}} {{completion}} {{mark}}'}}\n",
    "audits": "a:\n  tasks: [parity]\n  models: [api]\n  repetitions: {{original: 1, variants: 1}}\n"
    "  rephrasing: {{rephraser: mine, variants: 4, meaning: same}}\n",
}


def answer(body: dict[str, Any]) -> str:
    """Of a model that does as it is told, and of a judge that knows what `opposite` means."""
    text = body["messages"][-1]["content"]
    if text.startswith("RULE"):
        is_other = "opposite" in text
        return json.dumps({"reason": "asks for the reverse" if is_other else "the same", "match": not is_other})
    is_even = int(re.findall(r"\d+", text)[-1]) % 2 == ("opposite" in text)
    return "even" if is_even else "odd"


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, KnowingServer]]:
    folder = tmp_path_factory.mktemp("meaning")
    with knowing_server(answer) as server:
        for kind, text in CARDS.items():
            path = folder / "registry" / kind / "own.yml"
            path.parent.mkdir(parents=True)
            path.write_text(text.format(url=server.base_url, rewordings=json.dumps(REWORDINGS)))
        (folder / "registry" / "datasets").mkdir()
        rows = "".join(f"s{n},{n},{'odd' if n % 2 else 'even'}\n" for n in range(N))
        (folder / "registry" / "datasets" / "numbers.csv").write_text(f"id,input,gold\n{rows}")
        ended = promptaudit(folder, "run", "a", AUDIT_KEY="sk-0123456789abcdef")
        assert ended.code == 0, ended.err
        assert len(server.bodies) == 4 * N + 3
        again = promptaudit(folder, "run", "a", AUDIT_KEY="sk-0123456789abcdef")
        assert "nothing asked" in again.out
        assert len(server.bodies) == 4 * N + 3
        yield folder, server


@pytest.fixture(scope="module")
def folder(audited: tuple[Path, KnowingServer]) -> Path:
    return audited[0]


FIGURES = (
    "select sensitivity, sensitivity_same_meaning, pss_inter, pss_inter_same_meaning, n_variants, n_variants_same_meaning "
    "from marts.rpt_audit"
)
RULED = "select variant_index, asks_the_same, meaning_reason as why from marts.rpt_prompt_variants order by 1"


def test_a_rewording_that_asks_something_else_is_named_and_left_out_beside(folder: Path) -> None:
    ruled = [tuple(row.values()) for row in sql(folder, RULED)]
    assert ruled == [(0, True, None), (1, True, "the same"), (2, False, "asks for the reverse"), (3, True, "the same")]
    (row,) = sql(folder, FIGURES)
    # one of four wordings turns every label: -(3/4 ln 3/4 + 1/4 ln 1/4) / ln 3
    assert row["sensitivity"] == pytest.approx(0.5119, abs=1e-4)
    assert row["pss_inter"] < 0.1
    assert (row["sensitivity_same_meaning"], row["pss_inter_same_meaning"]) == (0, 1)
    assert (row["n_variants"], row["n_variants_same_meaning"]) == (4, 3)
    (scorecard,) = sql(folder, "select * from marts.rpt_audit")
    for column in ("sensitivity_same_meaning", "pss_inter_same_meaning"):
        traced = promptaudit(folder, "trace", figure_id("rpt_audit", scorecard, column), "--recompute")
        assert traced.code == 0, traced.out + traced.err
        assert "asks for the reverse" in traced.out
    # rulings on rewordings are none on answers
    assert sql(folder, "select count(*) as n from marts.fct_scores where scoring_method = 'judge:same'") == [{"n": 0}]
    page = (folder / "warehouse" / "published" / "report.html").read_text()
    assert "does not ask the same as the original" in page
    assert "With and without rewordings that ask something else" in page


def test_people_rule_on_rewordings_and_count_before_the_judge(folder: Path) -> None:
    written = promptaudit(folder, "annotate", "--sheet", "w.csv", "--wordings")
    assert written.out.startswith("w.csv: 3 of the 3 rewordings of run ")
    lines = (folder / "w.csv").read_text().splitlines()
    ruled = [lines[0], *(line.removesuffix(",,") + (",no," if "Tell if" in line else ",yes,") for line in lines[1:])]
    (folder / "ruled.csv").write_text("\n".join(ruled))
    taken = promptaudit(folder, "annotate", "--take", "ruled.csv", "--annotator", "ann")
    assert taken.code == 0, taken.err
    assert "3 rulings by ann landed" in taken.out
    assert [row["asks_the_same"] for row in sql(folder, RULED)] == [True, False, True, True]
    (row,) = sql(folder, FIGURES)
    assert row["sensitivity_same_meaning"] > row["sensitivity"]  # of three wordings one turns the labels
    assert promptaudit(folder, "verify").code == 0


def test_what_cannot_rule_on_rewordings_is_told(folder: Path, tmp_path: Path) -> None:
    audits = folder / "registry" / "audits" / "own.yml"
    text = audits.read_text()
    both = tmp_path / "registry"
    both.mkdir()
    for path in (folder / "registry").rglob("*.*"):
        (both / path.relative_to(folder / "registry")).parent.mkdir(exist_ok=True)
        (both / path.relative_to(folder / "registry")).write_text(path.read_text())
    (both / "audits" / "own.yml").write_text(f"{text}  judges: [same]\n")
    ended = promptaudit(tmp_path, "validate", "a")
    assert ended.code == 2
    assert "audits/own.yml line 5: 'same' rules on the answers of this audit" in ended.one_line()
    planned = promptaudit(folder, "plan", "a")
    assert re.search(r"judge same +3 ", planned.out)


def test_another_night_asks_the_judge_nothing_about_the_same_texts(audited: tuple[Path, KnowingServer]) -> None:
    folder, server = audited
    before = len(server.bodies)
    ended = promptaudit(folder, "run", "a", "--new", AUDIT_KEY="sk-0123456789abcdef")
    assert ended.code == 0, ended.err
    assert len(server.bodies) == before + 4 * N
    newest = "audit_run_id = (select audit_run_id from marts.rpt_latest)"
    ruled = sql(folder, RULED.replace(" order", f" where {newest} order"))
    assert [row["asks_the_same"] for row in ruled] == [True, True, False, True]  # what people said was of the other run
    assert sql(folder, f"select sum(cost_usd) as usd from marts.fct_verdicts where {newest}") == [{"usd": None}]
    assert promptaudit(folder, "verify").code == 0
