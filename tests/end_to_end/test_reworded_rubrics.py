"""A judge that does as the wording of its rubric says: its sensitivity is measured, and what it scores is as it was."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from promptaudit.models_registry.cards import JudgeCard
from tests.support.judging_provider import running_judging_provider
from tests.support.shell import Ended, promptaudit, sql

KEY = "sk-test-0123456789abcdef0123456789abcdef"
N_ANSWERS = 20
RUBRIC = JudgeCard(model="rater").rubric
WORDINGS = (
    RUBRIC.replace("You check", "Please check"),
    f"Be strict. {RUBRIC}",
    RUBRIC.replace("{completion}", "the answer"),
    f"Think aloud. {RUBRIC}",
    f"Be strict, please. {RUBRIC}",
)
REFUSED = 2  # its place
GATE = "sensitivity <= 0.2 at scoring_method = judge:rater"
CARDS = {
    "models/api.yml": (
        "api: {{engine: openai_api, model: small, base_url: {url}, api_key_env: AUDIT_KEY, sampling: {{temperature: 0}}}}\n"
        "rater: {{engine: openai_api, model: rater, base_url: {url}, api_key_env: AUDIT_KEY, sampling: {{temperature: 0}}}}\n"
    ),
    "judges/rater.yml": "rater: {{model: rater, max_asks: 1}}\n",
    "rephrasers/mine.yml": "mine: {{kind: fixed, variants: {{'judge:rater': {listed}}}}}\n",
    "audits/facts.yml": (
        "facts:\n  tasks: [short_facts]\n  models: [api]\n  judges: {{rater: {{wordings: 5, answers: 20}}}}\n"
        "  rephrasing: {{rephraser: mine, variants: 1}}\n  repetitions: {{original: 1, variants: 1}}\n"
        f'  samples: {{{{limit: 30}}}}\n  gate: ["{GATE}"]\n'
    ),
}

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]


@dataclass(frozen=True)
class Judged:
    """A run whose judge's rubric was reworded, and where it lies."""

    folder: Path
    ended: Ended


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    folder = tmp_path_factory.mktemp("reworded")
    with running_judging_provider() as provider:
        for name, text in CARDS.items():
            (folder / "registry" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "registry" / name).write_text(text.format(url=provider.base_url, listed=json.dumps(WORDINGS)))
        yield Judged(folder, promptaudit(folder, "run", "facts", AUDIT_KEY=KEY))


def test_the_marts_say_what_the_verdicts_under_each_wording_say(judged: Judged) -> None:
    assert judged.ended.code == 0, judged.ended.err
    (refused,) = sql(judged.folder, "select * from raw.judge_wordings where refused_because is not null")
    assert (refused["wording_index"], refused["rubric"]) == (-1, WORDINGS[REFUSED])
    assert refused["refused_because"] == "placeholder {completion} is lost"
    verdicts = sql(
        judged.folder,
        "select prediction_id, wording_index, is_match from marts.fct_verdicts where is_settled and control_id is null",
    )
    by_answer: dict[str, dict[int, bool | None]] = {}
    for row in verdicts:
        by_answer.setdefault(row["prediction_id"], {})[row["wording_index"]] = row["is_match"]
    whole = [ruled for ruled in by_answer.values() if len(ruled) > 1]
    assert len(whole) == N_ANSWERS
    assert {tuple(sorted(ruled)) for ruled in whole} == {(0, 1, 2, 3, 4)}
    (mart,) = sql(judged.folder, "select * from marts.rpt_judge_wordings")
    assert (mart["scoring_method"], mart["n_answers"], mart["n_wordings"]) == ("judge:rater", N_ANSWERS, 5)
    entropies = [
        -sum(n / 5 * math.log(n / 5) for n in Counter(ruled.values()).values()) / math.log(3) for ruled in whole
    ]
    assert mart["sensitivity"] == pytest.approx(sum(entropies) / N_ANSWERS)
    assert mart["sensitivity"] > 0.3
    assert mart["sensitivity_low"] < mart["sensitivity"] < mart["sensitivity_high"]
    rates = {
        place: sum(ruled[place] is True for ruled in whole) / N_ANSWERS for place in (0, 1, 2, 4)
    }  # all of these were read
    assert rates[0] == rates[1] > rates[2] == rates[4]
    assert (mart["match_rate_min"], mart["match_rate_max"]) == (rates[2], rates[0])
    wordings = {row["wording_index"]: row for row in sql(judged.folder, "select * from marts.fct_judge_wordings")}
    assert [wordings[place]["rubric"] for place in range(5)] == [
        RUBRIC,
        *(text for place, text in enumerate(WORDINGS) if place != REFUSED),
    ]
    assert {place: row["match_rate"] for place, row in wordings.items()} == {**rates, 3: None}
    assert [wordings[place]["n_unreadable"] for place in range(5)] == [0, 0, 0, N_ANSWERS, 0]
    assert [wordings[place]["agreement_rate"] for place in range(4)] == [
        None,
        1,
        pytest.approx(1 - rates[0] + rates[2]),
        0,
    ]


def test_scores_are_of_the_rubric_as_it_is_written(judged: Judged) -> None:
    (odd,) = sql(
        judged.folder,
        "select count(*) as n, count(*) filter (scores.is_correct is distinct from verdicts.is_match) as n_otherwise "
        "from marts.fct_scores as scores inner join marts.fct_verdicts as verdicts using (prediction_id) "
        "where scores.scoring_method = 'judge:rater' and verdicts.wording_index = 0 and verdicts.is_settled",
    )
    assert odd["n"] > N_ANSWERS
    assert odd["n_otherwise"] == 0
    of_controls = "select count(*) as n from marts.fct_verdicts where control_id is not null and wording_index > 0"
    assert sql(judged.folder, of_controls) == [{"n": 0}]
    assert sql(judged.folder, "select distinct judge_agreement from marts.rpt_judge_anchors") == [
        {"judge_agreement": 1}
    ]


def test_terminal_page_and_gate_say_it(judged: Judged) -> None:
    said = re.sub(r"\s+", " ", judged.ended.out)
    assert re.search(
        r"judge:rater changes its verdict with the wording of its rubric: sensitivity 0?\.\d+ "
        r"\[[^]]+\], κ -?0?\.\d+ over 5 wordings, calls 0?\.\d+ to 0?\.\d+ of the same 20 answers right",
        said,
    ), said
    page = (judged.folder / "warehouse/published/report.html").read_text()
    assert "Judges under other wordings of their rubrics" in page
    assert "Think aloud. You check an answer" in page
    checked = promptaudit(judged.folder, "check")
    assert checked.code == 1
    assert GATE in checked.out
    planned = promptaudit(judged.folder, "plan", "facts", "--json").json()
    (line,) = [line for line in planned["lines"] if line["what"] == "judge"]
    assert line["requests"] >= 4 * N_ANSWERS
