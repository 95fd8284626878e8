"""A judge that its provider swaps on the fourth night: the message is about the judge, and the model's gate stays green."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from tests.support.judging_provider import running_judging_provider
from tests.support.shell import Ended, promptaudit, sql
from tests.support.webhook_server import RunningWebhooks, running_webhooks

KEY = "sk-test-0123456789abcdef0123456789abcdef"
OLD, NEW = "rater-2026-01-01", "rater-2026-06-30"
NIGHTS = (OLD, OLD, OLD, NEW, NEW)
SWAPPED = 3  # that night's place; it is accepted before the next
GATE, DRIFT, AGREEMENT = "no regressed", "no drift of judge:rater", "judge_agreement >= 0.9"
CARDS = {
    "models/api.yml": (
        "api: {{engine: openai_api, model: small, base_url: {url}, api_key_env: AUDIT_KEY, sampling: {{temperature: 0}}}}\n"
        "rater: {{engine: openai_api, model: rater, base_url: {url}, api_key_env: AUDIT_KEY, sampling: {{temperature: 0}}}}\n"
    ),
    "judges/rater.yml": "rater: {{model: rater}}\n",
    "audits/facts.yml": (
        "facts:\n  tasks: [short_facts]\n  models: [api]\n  judges: [rater]\n  repetitions: {{original: 1, variants: 1}}\n"
        f'  samples: {{{{limit: 30}}}}\n  gate: ["{GATE}"]\n  resamples: 200\n'
    ),
}

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow]


@dataclass
class Week:
    """The nights, where they left what they did, who was told of it, and what was said of the swapped one and after it."""

    folder: Path
    webhooks: RunningWebhooks
    nights: list[Ended] = field(default_factory=list)
    n_messages: list[int] = field(default_factory=list)
    checked: dict[str, Ended] = field(default_factory=dict)
    accepted: list[Ended] = field(default_factory=list)

    @property
    def runs(self) -> list[str]:
        return [night.json()["audit_run_id"] for night in self.nights]

    def verdicts(self, measure: str) -> list[dict[str, Any]]:
        """What was told of a measure, night by night."""
        query = (
            "select found.* from marts.rpt_night_verdicts as found inner join marts.dim_audit_runs using (audit_run_id) "
            f"where measure = '{measure}' order by started_at"
        )
        return sql(self.folder, query)


def check(folder: Path, run: str, rule: str) -> Ended:
    """What `check` says of a run under another gate."""
    card = folder / "registry/audits/facts.yml"
    written = card.read_text()
    card.write_text(re.sub("gate: .*", f'gate: ["{rule}"]', written))
    ended = promptaudit(folder, "check", run)
    card.write_text(written)
    return ended


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    folder = tmp_path_factory.mktemp("week")
    with running_judging_provider() as provider, running_webhooks() as webhooks:
        week = Week(folder, webhooks)
        for name, text in CARDS.items():
            (folder / "registry" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "registry" / name).write_text(text.format(url=provider.base_url))
        for place, judge in enumerate(NIGHTS):
            if place == SWAPPED + 1:
                week.checked = {rule: check(folder, week.runs[SWAPPED], rule) for rule in (DRIFT, AGREEMENT)}
                of = ("accept", week.runs[SWAPPED], "--reason", "the new judge stays", "--model", "judge:rater")
                week.accepted = [promptaudit(folder, *of), check(folder, week.runs[SWAPPED], DRIFT)]
            provider.judge, provider.is_harsh = judge, judge == NEW
            target = webhooks.target("/ok/told")
            asked = ("nightly", "facts", "--new", "--json")
            week.nights.append(promptaudit(folder, *asked, AUDIT_KEY=KEY, PROMPTAUDIT_NOTIFY=target))
            week.n_messages.append(len(webhooks.of("/ok/told")))
        yield week


def test_the_models_gate_stays_green_and_the_message_is_about_the_judge(week: Week) -> None:
    assert [night.code for night in week.nights] == [0] * 5, [night.err + night.out for night in week.nights]
    assert week.n_messages == [0, 0, 0, 1, 2]
    raised, over = (request.json() for request in week.webhooks.of("/ok/told"))
    assert "recovered: judge:rater" in over["title"]
    assert raised["title"].startswith("facts: judge:rater regressed: the judge's provider changed the judge")
    assert f"judge_served_model {OLD} -> {NEW}" in raised["message"]
    assert "accuracy" not in raised["message"]
    assert "nothing that was recorded changed" not in raised["message"]


def test_what_the_judge_scored_is_not_held_against_other_nights(week: Week) -> None:
    rows = week.verdicts("accuracy:judge:rater")
    # on the last night the judge is another, accepted one: its own night is the one to compare with
    assert [row["verdict"] for row in rows] == [
        "not_comparable",
        "none_shown",
        "none_shown",
        "not_comparable",
        "none_shown",
    ]
    assert rows[3]["difference"] < -0.2
    assert rows[3]["cause"] == "provider_changed_the_judge"
    assert "judge:rater rules otherwise than on normal nights" in rows[3]["reason"]
    assert rows[4]["difference"] == 0
    assert [row["verdict"] for row in week.verdicts("accuracy:token_f1")[2:]] == ["none_shown"] * 3
    assert (
        len(week.verdicts("latency_ms")) == len(NIGHTS) - 1
    )  # one row a group, whichever night a judge is held against
    states = sql(week.folder, "select model_id, state from marts.rpt_night_states order by model_id, started_at")
    assert [row["state"] for row in states] == [
        "first_night",
        "normal",
        "normal",
        "normal",
        "normal",
        "first_night",
        "normal",
        "normal",
        "regressed",
        "normal",
    ]


def test_anchors_are_ruled_on_every_night(week: Week) -> None:
    agreed = week.verdicts("judge_agreement")
    assert [row["verdict"] for row in agreed] == [
        "not_comparable",
        "none_shown",
        "none_shown",
        "regressed",
        "none_shown",
    ]
    assert (agreed[3]["base"], agreed[3]["candidate"]) == (1.0, 0.5)
    assert (agreed[3]["cause"], agreed[3]["since_run_id"]) == ("provider_changed_the_judge", week.runs[3])
    anchors = sql(
        week.folder,
        "select audit_run_id, kind, count(*) as n, sum(difference)::integer as difference from marts.fct_judge_anchors "
        "group by all order by all",
    )
    by_night: dict[str, dict[str, tuple[int, int]]] = {}
    for row in anchors:
        by_night.setdefault(row["audit_run_id"], {})[row["kind"]] = row["n"], row["difference"]
    assert by_night[week.runs[0]] == {"right_in_words": (24, 0), "wrong_in_words": (24, 0)}
    assert by_night[week.runs[3]] == {"right_in_words": (24, -24), "wrong_in_words": (24, 0)}
    verdicts = sql(week.folder, "select audit_run_id, count(*) as n from raw.verdicts where is_settled group by all")
    assert len({row["n"] for row in verdicts}) == 1  # each night anew, and equally many
    (mart,) = sql(week.folder, f"select * from marts.rpt_judge_anchors where audit_run_id = '{week.runs[3]}'")
    interval = binomtest(24, 48).proportion_ci(method="wilson")
    assert (mart["judge_agreement"], mart["n_too_harsh"], mart["n_too_mild"]) == (0.5, 24, 0)
    assert mart["judge_agreement_low"] == pytest.approx(interval.low, abs=1e-4)
    assert mart["judge_agreement_high"] == pytest.approx(interval.high, abs=1e-4)


def test_controls_alone_saw_nothing(week: Week) -> None:
    query = f"select sum(n_wrong)::integer as n from marts.fct_judge_controls where audit_run_id = '{week.runs[3]}'"
    assert sql(week.folder, query) == [{"n": 0}]


def test_gates_about_the_judge_and_accepting_it(week: Week) -> None:
    assert [ended.code for ended in week.checked.values()] == [1, 1]
    assert "2 of 2 figures have drifted" in week.checked[DRIFT].out
    assert "the judge's provider changed the judge" in week.checked[DRIFT].out
    assert [ended.code for ended in week.accepted] == [0, 0], week.accepted
    assert "accepted: the new judge stays" in week.accepted[1].out
    assert check(week.folder, week.runs[2], AGREEMENT).code == 0
    (alarm,) = sql(week.folder, "select * from marts.rpt_alarms")
    assert (alarm["model_id"], alarm["n_nights"], alarm["ended_by"]) == ("judge:rater", 1, "accepted")
    followed = promptaudit(week.folder, "history", "judge_agreement", "--json")
    figures = [night["figure"] for night in followed.json()["nights"]]
    assert figures == [1.0, 1.0, 1.0, 0.5, 0.5]


def test_two_nights_compared_say_who_ruled_otherwise(week: Week) -> None:
    compared = promptaudit(week.folder, "compare", week.runs[2], week.runs[3], "--json")
    rows = {row["measure"]: row for row in compared.json()["measures"]}
    found = rows["accuracy:judge:rater"]
    assert (found["verdict"], found["cause"]) == ("not_comparable", "provider_changed_the_judge")
    assert re.match(
        r"the judge rules otherwise on \d+ of \d+ answers that both runs gave: the judge's provider", found["reason"]
    )
    assert f"{OLD} -> {NEW}" in found["reason"]
    assert rows["accuracy:token_f1"]["verdict"] == "same"
    page = (week.folder / f"warehouse/published/reports/{week.runs[3]}.html").read_text()
    assert "Judges on anchors" in page
    assert "judge:rater" in page
