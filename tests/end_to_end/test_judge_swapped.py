"""A judge that its provider swaps on the fourth night: the message is about the judge, and the model's gate stays green."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
CARDS = {
    "models/api.yml": (
        "api: {{engine: openai_api, model: small, base_url: {url}, api_key_env: AUDIT_KEY, sampling: {{temperature: 0}}}}\n"
        "rater: {{engine: openai_api, model: rater, base_url: {url}, api_key_env: AUDIT_KEY, sampling: {{temperature: 0}}}}\n"
    ),
    "judges/rater.yml": "rater: {{model: rater}}\n",
    "audits/facts.yml": (
        "facts:\n  tasks: [short_facts]\n  models: [api]\n  judges: [rater]\n  repetitions: {{original: 1, variants: 1}}\n"
        '  samples: {{limit: 30}}\n  gate: ["no regressed", "no changed"]\n'
    ),
}

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow]


@dataclass
class Week:
    """The nights, where they left what they did, and who was told of it."""

    folder: Path
    nights: list[Ended]
    n_messages: list[int]
    webhooks: RunningWebhooks

    @property
    def runs(self) -> list[str]:
        return [night.json()["audit_run_id"] for night in self.nights]

    def verdicts(self, measure: str) -> list[dict[str, Any]]:
        query = (
            "select found.* from marts.rpt_night_verdicts as found inner join marts.dim_audit_runs using (audit_run_id) "
            f"where measure = '{measure}' order by started_at"
        )
        return sql(self.folder, query)


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    folder = tmp_path_factory.mktemp("week")
    nights: list[Ended] = []
    n_messages: list[int] = []
    with running_judging_provider() as provider, running_webhooks() as webhooks:
        for name, text in CARDS.items():
            (folder / "registry" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "registry" / name).write_text(text.format(url=provider.base_url))
        for judge in NIGHTS:
            provider.judge, provider.is_harsh = judge, judge == NEW
            night = promptaudit(
                folder, "nightly", "facts", "--new", "--json", AUDIT_KEY=KEY, PROMPTAUDIT_NOTIFY=webhooks.target("/ok/told")
            )
            nights.append(night)
            n_messages.append(len(webhooks.of("/ok/told")))
        yield Week(folder, nights, n_messages, webhooks)


def test_the_models_gate_stays_green_and_the_message_is_about_the_judge(week: Week) -> None:
    assert [night.code for night in week.nights] == [0] * 5, [night.err + night.out for night in week.nights]
    assert week.n_messages == [0, 0, 0, 1, 1]
    (told,) = (request.json() for request in week.webhooks.of("/ok/told"))
    assert told["title"].startswith("facts: judge:rater regressed: the judge's provider changed the judge")
    assert f"judge_served_model {OLD} -> {NEW}" in told["message"]
    assert "accuracy" not in told["message"]
    assert "nothing that was recorded changed" not in told["message"]


def test_what_the_judge_scored_is_not_held_against_other_nights(week: Week) -> None:
    rows = week.verdicts("accuracy:judge:rater")
    assert [row["verdict"] for row in rows[2:]] == ["within_noise", "not_comparable", "not_comparable"]
    assert rows[3]["difference"] < -0.2
    assert rows[3]["cause"] == "provider_changed_the_judge"
    assert "judge:rater rules otherwise than on normal nights" in rows[3]["reason"]
    assert [row["verdict"] for row in week.verdicts("accuracy:token_f1")[2:]] == ["within_noise"] * 3
    states = sql(
        week.folder,
        "select model_id, state from marts.rpt_night_states inner join marts.dim_audit_runs using (audit_run_id) "
        "order by model_id, started_at",
    )
    assert [row["state"] for row in states] == [
        "first_night", "normal", "normal", "normal", "normal", "first_night", "normal", "normal", "regressed", "regressed",
    ]  # fmt: skip


def test_anchors_are_ruled_on_every_night(week: Week) -> None:
    agreed = week.verdicts("judge_agreement")
    assert [row["verdict"] for row in agreed] == ["not_comparable", "within_noise", "within_noise", "regressed", "regressed"]
    assert (agreed[3]["base"], agreed[3]["candidate"]) == (1.0, 0.5)
    assert (agreed[3]["cause"], agreed[3]["since_run_id"]) == ("provider_changed_the_judge", week.runs[3])
    anchors = sql(
        week.folder,
        "select audit_run_id, kind, count(*) as n, sum(difference)::integer as difference from marts.fct_judge_anchors "
        "group by all order by all",
    )
    by_night = {run: {row["kind"]: (row["n"], row["difference"]) for row in anchors if row["audit_run_id"] == run} for run in week.runs}
    assert by_night[week.runs[0]] == {"right_in_words": (16, 0), "wrong_in_words": (16, 0)}
    assert by_night[week.runs[3]] == {"right_in_words": (16, -16), "wrong_in_words": (16, 0)}
    verdicts = sql(week.folder, "select audit_run_id, count(*) as n from raw.verdicts where is_settled group by all")
    assert len({row["n"] for row in verdicts}) == 1  # each night anew, and equally many
    (mart,) = sql(week.folder, f"select * from marts.rpt_judge_anchors where audit_run_id = '{week.runs[3]}'")
    interval = binomtest(16, 32).proportion_ci(method="wilson")
    assert (mart["judge_agreement"], mart["n_too_harsh"], mart["n_too_mild"]) == (0.5, 16, 0)
    assert (mart["judge_agreement_low"], mart["judge_agreement_high"]) == pytest.approx((interval.low, interval.high), abs=1e-4)


def test_controls_alone_saw_nothing(week: Week) -> None:
    query = f"select sum(n_wrong)::integer as n from marts.fct_judge_controls where audit_run_id = '{week.runs[3]}'"
    assert sql(week.folder, query) == [{"n": 0}]


def test_gates_about_the_judge_and_accepting_it(week: Week) -> None:
    folder, run = week.folder, week.runs[4]
    drift = promptaudit(folder, "check", run, "--rule", "no drift of judge:rater")
    assert drift.code == 1, drift.out
    assert "the judge's provider changed the judge" in drift.out
    assert promptaudit(folder, "check", run, "--rule", "judge_agreement >= 0.9").code == 1
    assert promptaudit(folder, "check", week.runs[2], "--rule", "judge_agreement >= 0.9").code == 0
    compared = promptaudit(folder, "compare", week.runs[2], run, "--json")
    rows = {row["measure"]: row for row in compared.json()["measures"]}
    assert rows["accuracy:judge:rater"]["verdict"] == "not_comparable"
    assert rows["accuracy:judge:rater"]["cause"] == "provider_changed_the_judge"
    assert f"{OLD} -> {NEW}" in rows["accuracy:judge:rater"]["reason"]
    accepted = promptaudit(folder, "accept", run, "--reason", "the new judge stays", "--model", "judge:rater")
    assert accepted.code == 0, accepted.err
    assert promptaudit(folder, "check", run, "--rule", "no drift of judge:rater").code == 0
    (alarm,) = sql(folder, "select * from marts.rpt_alarms")
    assert (alarm["model_id"], alarm["n_nights"], alarm["ended_by"]) == ("judge:rater", 2, "accepted")
