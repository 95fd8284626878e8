"""A run over HTTP with a judge: judged, scored anew without a request, judged by another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.openai_server import RunningServer, running_server
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
KEY = "sk-0123456789abcdef"
N_QUESTIONS = 20
N_CELLS = N_QUESTIONS * 3 + N_QUESTIONS * 2
MODELS = """\
api:
  engine: openai_api
  model: small
  base_url: {url}
  api_key_env: AUDIT_KEY
  sampling: {{temperature: 0, max_tokens: 16, logprobs: true, top_logprobs: 5}}
  limits: {{max_connections: 8}}
  price: {{input_usd_per_mtok: 1, output_usd_per_mtok: 2}}
"""
TEMPLATES = r"""
choices:
  kind: multiple_choice
  templates:
    - "{question}\n{options}\nAnswer:"
    - {text: "Choose.\n{options}\n{question}", option: "({enumerator}) {option}", enumerators: lower}
    - {text: "{question} Reply with a number.\n{options}", enumerators: numbers}
facts:
  kind: open_ended
  templates: ["{question}", "Answer briefly: {question}"]
"""
TASKS = """\
choose:
  kind: multiple_choice
  templates: choices
  scoring: [{scoring}]
  data: {{path: datasets/choose.csv, id: id, input: question, options: [a, b, c, d], gold_label: answer}}
tell:
  kind: open_ended
  templates: facts
  data: {{path: datasets/tell.csv, id: id, input: question, references: answer}}
"""
AUDIT = """\
judged:
  tasks: [choose, tell]
  models: [api]
  judges: [{judges}]
  repetitions: {{original: 1, variants: 1}}
  resamples: 50
  format: {{policy: warn, max_invalid_rate_at_first: 1}}
"""
JUDGES = """\
first: {model: api, controls: {right: 3, wrong: 3, blank: 2, injected: 3, right_in_words: 2, wrong_in_words: 2}}
second: {model: api, rubric: "Q: {question}\\nReference answers:\\n{references}\\n{mark}\\n{completion}\\n{mark}\\n"}
jury: {panel: [first, second]}
"""


def write_registry(folder: Path, url: str, scoring: str = "option_letter", judges: str = "first") -> None:
    for kind in ("models", "tasks", "templates", "judges", "audits", "datasets"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / "models/api.yml").write_text(MODELS.format(url=url))
    (folder / "templates/own.yml").write_text(TEMPLATES)
    (folder / "tasks/own.yml").write_text(TASKS.format(scoring=scoring))
    (folder / "judges/own.yml").write_text(JUDGES)
    (folder / "audits/own.yml").write_text(AUDIT.format(judges=judges))
    choose = [f"q{n},Which is number {n}?,ant {n},bee {n},cow {n},dog {n},{'ABCD'[n % 4]}" for n in range(N_QUESTIONS)]
    (folder / "datasets/choose.csv").write_text("\n".join(["id,question,a,b,c,d,answer", *choose]))
    tell = [f"t{n},What is number {n}?,{'AB'[n % 2]}" for n in range(N_QUESTIONS)]
    (folder / "datasets/tell.csv").write_text("\n".join(["id,question,answer", *tell]))


def seen(server: RunningServer) -> int:
    return int(server.counters()["requests"])


def test_judged_then_scored_and_judged_anew(tmp_path: Path) -> None:
    with running_server(labels=("A", "B", "1", "a")) as server:
        write_registry(tmp_path / "registry", server.base_url)
        ended = promptaudit(tmp_path, "run", "judged", AUDIT_KEY=KEY)
        assert ended.code == 0, ended.err
        (count,) = sql(
            tmp_path,
            "select count(*) as n, count(distinct (prediction_id, control_id, repetition)) as n_rulings, "
            "count(distinct control_id) as n_controls from marts.fct_verdicts where is_settled",
        )
        assert count["n"] == count["n_rulings"]
        assert count["n_controls"] == 2 * 15
        assert seen(server) == N_CELLS + count["n"]
        methods = "select scoring_method, count(*) as n, count(*) filter (score_state = 'scored') as n_scored "
        methods += "from marts.fct_scores group by all order by all"
        assert [(row["scoring_method"], row["n"]) for row in sql(tmp_path, methods)] == [
            ("judge:first", N_CELLS),
            ("option_letter", N_QUESTIONS * 3),
            ("token_f1", N_QUESTIONS * 2),
        ]
        # a plain equal answer is right by the judge wherever it is by the rule; 1 and a are signs of one template each
        (odd,) = sql(
            tmp_path,
            "select count(*) as n from marts.fct_scores as rules inner join marts.fct_scores as judges using (prediction_id) "
            "where rules.scoring_method = 'option_letter' and judges.scoring_method = 'judge:first' "
            "and rules.is_correct and not judges.is_correct",
        )
        assert odd == {"n": 0}

        # another rule for the same answers, another judge, and a panel of both: only the other judge's rulings are asked for
        before = seen(server)
        rules, judges = "option_letter, option_loglikelihood", "first, second, jury"
        write_registry(tmp_path / "registry", server.base_url, scoring=rules, judges=judges)
        ended = promptaudit(tmp_path, "run", "judged", AUDIT_KEY=KEY)
        assert ended.code == 0, ended.err
        assert "cards of choose changed only in how answers are read" in ended.err
        (ruled,) = sql(
            tmp_path,
            "select count(*) as n from marts.fct_verdicts where rater = 'judge:second' and cost_usd is not null",
        )
        assert seen(server) - before == ruled["n"] > 0
        found = {row["scoring_method"]: row["n_scored"] for row in sql(tmp_path, methods)}
        # the server gives the log-probability of what it says: its sign is the likeliest where the template knows it
        assert found["option_loglikelihood"] == found["option_letter"] > 0
        agreement = sql(
            tmp_path,
            "select raters, agreement_rate, n_rated from marts.fct_judge_agreement where task_id = 'tell' order by all",
        )
        # the jury's agreement with its own members would be that of their votes with themselves
        judges = {row["raters"] for row in agreement if row["raters"].startswith("judge:first | judge")}
        assert judges == {"judge:first | judge:second"}
        assert {row["agreement_rate"] for row in agreement if row["raters"].startswith("judge:first | judge")} == {1}
        asked = seen(server)
        ended = promptaudit(tmp_path, "run", "judged", AUDIT_KEY=KEY)
        assert "nothing asked" in ended.out
        assert seen(server) == asked
    (cost,) = sql(
        tmp_path, "select sum(cost_usd) as usd, count(*) filter (cost_usd is null) as n from marts.fct_verdicts"
    )
    assert cost["usd"] > 0
    assert cost["n"] == 0
