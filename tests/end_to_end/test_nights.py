"""Nights of one audit, one after the other: a real provider on loopback that is bad every other night, an edit, real webhooks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.http_audit import AUDIT, write_cards
from tests.support.provider_server import running_provider
from tests.support.shell import Ended, promptaudit, sql
from tests.support.webhook_server import RunningWebhooks, running_webhooks

KEY = "sk-test-0123456789abcdef0123456789abcdef"
TOKEN = "tok-5up3rs3cr3t"  # noqa: S105 - looked for afterwards
GATE = 'gate: ["no regressed on micro_f1", "no changed", "micro_f1 >= 0.2"]'
NIGHTS = ("good", "good", "good", "bad", "good", "bad", "good", "edited")
SAMPLES, WORDINGS = 40, 6
SERVED = {"good": "small-2026-01-01", "bad": "small-2026-06-30", "edited": "small-2026-01-01"}


@dataclass
class Night:
    """What one night left."""

    ended: Ended
    n_messages: int
    n_heartbeats: int

    @property
    def json(self) -> Any:
        return self.ended.json()


@dataclass
class Week:
    """The nights, where they left what they did, and who was told of it."""

    folder: Path
    before_the_edit: Path  # a copy
    nights: list[Night]
    webhooks: RunningWebhooks


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    folder, copy = tmp_path_factory.mktemp("week"), tmp_path_factory.mktemp("copy") / "week"
    nights: list[Night] = []
    with running_provider() as provider, running_webhooks() as webhooks:
        write_cards(
            folder / "registry",
            provider.base_url,
            n_samples=SAMPLES,
            variants=WORDINGS,
            repetitions=2,
            sampling="{temperature: 1, max_tokens: 16}",
            audit=f"  {GATE}\n  resamples: 200\n",
        )
        skill = provider.skill
        for kind in NIGHTS:
            provider.served_model, provider.skill = SERVED[kind], 0.6 if kind == "bad" else skill
            if kind == "edited":
                shutil.copytree(folder, copy)
                task = folder / "registry/tasks/questions.yml"
                task.write_text(task.read_text().replace("Classify the question", "In haste, classify the question"))
            ended = promptaudit(
                folder,
                "nightly",
                AUDIT,
                "--new",
                "--json",
                AUDIT_KEY=KEY,
                PROMPTAUDIT_NOTIFY=webhooks.target("/ok/told", TOKEN),
                PROMPTAUDIT_HEARTBEAT_URL=webhooks.url("/ok/alive"),
            )
            nights.append(Night(ended, len(webhooks.of("/ok/told")), len(webhooks.of("/ok/alive"))))
        yield Week(folder, copy, nights, webhooks)


pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow]


def test_a_provider_that_is_bad_every_other_night_stays_red(week: Week) -> None:
    assert [night.ended.code for night in week.nights] == [0, 0, 0, 1, 1, 1, 1, 0], [n.ended.err for n in week.nights]
    states = [night.json["states"] for night in week.nights]
    assert states == [
        {"first_night": 1},
        {"normal": 1},
        {"normal": 1},
        {"regressed": 1},
        {"recovering": 1},
        {"regressed": 1},
        {"recovering": 1},
        {"first_night": 1},
    ]


def test_an_alarm_is_told_once_with_its_cause_and_its_end_once(week: Week) -> None:
    nights, webhooks = week.nights, week.webhooks
    assert [night.n_messages for night in nights] == [0, 0, 0, 1, 1, 1, 1, 2]
    assert [night.n_heartbeats for night in nights] == list(range(1, len(NIGHTS) + 1))
    raised, over = (request.json() for request in webhooks.of("/ok/told"))
    assert "the provider changed the model" in raised["title"]
    assert "micro_f1" in raised["message"]
    assert "against 3 normal nights" in raised["message"]
    assert raised["message"].count("the provider changed the model") == 1
    assert len(raised["message"].splitlines()) <= 30
    assert re.search(
        r"^Samples called \w+ that are \w+: \d+ of \d+, \d+ of \d+ before$", raised["message"], re.MULTILINE
    )
    (example,) = [
        line for line in raised["message"].splitlines() if line.startswith("Example: api, questions, simple: ")
    ]
    assert " before and " in example
    assert " now; right is " in example
    links = re.findall(r"^Runbook: (file://\S+)$", raised["message"], re.MULTILINE)
    assert [Path(link).stem for link in links] == ["gate_failed", "alarm_is_false"]
    assert all("<h1>" in Path(unquote(urlsplit(link).path)).read_text(encoding="utf-8") for link in links)
    assert " q 0" not in raised["message"]
    assert "recovered" in over["title"]


def test_figures_are_against_all_normal_nights(week: Week) -> None:
    rows = sql(
        week.folder,
        "select verdicts.*, states.night from marts.rpt_night_verdicts as verdicts "
        "inner join marts.rpt_night_states as states using (audit_run_id, model_id, task_id, strategy) "
        "inner join marts.dim_audit_runs as runs using (audit_run_id) where measure = 'micro_f1' order by runs.started_at",
    )
    runs = [night.json["audit_run_id"] for night in week.nights]
    assert [row["audit_run_id"] for row in rows] == runs
    bad = rows[3]
    assert (bad["verdict"], bad["cause"], bad["n_nights_normal"]) == ("regressed", "provider_changed_the_model", 3)
    assert bad["difference"] == pytest.approx(-0.35, abs=0.12)
    assert bad["difference"] == pytest.approx(bad["candidate"] - bad["base"])
    assert (bad["normal_run_id"], bad["since_run_id"]) == (runs[2], runs[3])
    # a good night within the alarm is held against the nights of before it, and its figure keeps the alarm's verdict
    assert (rows[4]["verdict"], rows[4]["normal_run_id"], rows[4]["since_run_id"]) == ("regressed", runs[2], runs[3])
    assert abs(rows[4]["difference"]) < 0.1
    assert (rows[7]["night"], rows[7]["verdict"]) == (1, "not_comparable")  # a new plan


def test_how_is_answered_is_judged_beside_the_label(week: Week) -> None:
    rows = sql(
        week.folder,
        "select measure, verdict, q_value, n_tests from marts.rpt_night_figures inner join marts.dim_audit_runs "
        "using (audit_run_id) where measure in ('answer_length', 'completion_tokens', 'refusal_rate', 'token_limit_rate') "
        "order by started_at, measure",
    )
    assert [row["measure"] for row in rows[:4]] == [
        "answer_length",
        "completion_tokens",
        "refusal_rate",
        "token_limit_rate",
    ]
    assert len(rows) == 4 * len(NIGHTS)
    # wrong labels are some letters longer or shorter, which no night is told for; two tokens and no refusal are no test
    third = {row["measure"]: row for row in rows[8:12]}
    assert {row["verdict"] for row in third.values()} == {"none_shown"}
    assert third["answer_length"]["n_tests"] is not None
    for name in ("completion_tokens", "refusal_rate", "token_limit_rate"):
        assert (third[name]["q_value"], third[name]["n_tests"]) == (1.0, None)


def test_the_record_says_how_the_alarm_ended(week: Week) -> None:
    (alarm,) = sql(week.folder, "select * from marts.rpt_alarms")
    runs = [night.json["audit_run_id"] for night in week.nights]
    assert (alarm["audit_run_id"], alarm["last_run_id"], alarm["n_nights"]) == (runs[3], runs[6], 4)
    assert (alarm["kind"], alarm["ended_by"], alarm["ended_run_id"]) == ("regressed", "new_plan", runs[7])
    assert "micro_f1" in alarm["measures"]


def test_accepting_ends_an_alarm_and_the_gate_passes(week: Week) -> None:
    folder, run = week.before_the_edit, week.nights[6].json["audit_run_id"]
    assert promptaudit(folder, "check", run).code == 1
    worst = promptaudit(folder, "check", week.nights[3].json["audit_run_id"], "--junit", "j.xml", "--markdown", "m.md")
    for text in (worst.out, (folder / "j.xml").read_text(), (folder / "m.md").read_text()):
        assert "samples called" in text
        assert " before and " in text
    assert worst.out.count("the provider changed the model") == 1
    unknown = promptaudit(folder, "accept", run, "--reason", "the new model stays", "--model", "ap")
    assert unknown.code == 2
    assert f"--model ap: run {run} has none of that name" in unknown.err
    ended = promptaudit(folder, "accept", run, "--reason", "the new model stays")
    assert ended.code == 0, ended.err
    assert "the new normal: the new model stays" in ended.out
    checked = promptaudit(folder, "check", run)
    assert checked.code == 0, checked.out
    assert "accepted: the new model stays" in checked.out
    older = promptaudit(folder, "accept", week.nights[1].json["audit_run_id"], "--reason", "x")
    assert older.code == 2
    assert f"which is {run}" in older.err
    over = promptaudit(week.folder, "accept", week.nights[7].json["audit_run_id"], "--reason", "x")
    assert over.code == 2
    assert "no alarm stands" in over.err


def test_the_token_is_nowhere(week: Week) -> None:
    folder, nights, webhooks = week.folder, week.nights, week.webhooks
    assert webhooks.requests
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in written if TOKEN.encode() in path.read_bytes() or KEY.encode() in path.read_bytes()] == []
    assert not any(TOKEN in night.ended.out + night.ended.err for night in nights)


def test_every_cell_of_every_night_landed_once(week: Week) -> None:
    query = (
        "select count(*) as n, count(distinct (model_id, prompt_variant_id, sample_id, repetition)) as n_cells "
        "from raw.predictions group by audit_run_id"
    )
    n = SAMPLES * WORDINGS * 2
    assert sql(week.folder, query) == [{"n": n, "n_cells": n}] * len(NIGHTS)


def test_history_and_the_page_show_the_week(week: Week) -> None:
    ended = promptaudit(week.folder, "history", "micro_f1", "--model", "api", "--task", "questions")
    assert ended.code == 0, ended.err
    assert ended.out.count("regressed: ") == 4
    assert "1 alarm in all nights: 1 new plan; 0 % of those that ended were false" in ended.out
    assert ended.out.count("◆") == 4 + 1  # the nights of the alarm, and the legend
    nights = promptaudit(week.folder, "history", "micro_f1", "--model", "api", "--task", "questions", "--json").json()[
        "nights"
    ]
    assert [night["marks"] for night in nights] == [[]] * 7 + [["asked otherwise"]]
    page = week.folder / "warehouse/published/reports" / f"{week.nights[3].json['audit_run_id']}.html"
    assert "normal nights" in page.read_text()


def test_history_follows_what_is_beside_the_label(week: Week) -> None:
    one = ("--model", "api", "--task", "questions", "--json")
    lengths = promptaudit(week.folder, "history", "answer_length", *one).json()["nights"]
    expected = sql(
        week.folder,
        "with cells as (select audit_run_id, sample_id, prompt_variant_id, avg(ln(1 + length(completion))) as log_length "
        "from raw.predictions group by all), samples as (select audit_run_id, sample_id, avg(log_length) as log_length "
        "from cells group by all) select exp(avg(log_length)) - 1 as figure from samples "
        "inner join marts.dim_audit_runs using (audit_run_id) group by audit_run_id, started_at order by started_at",
    )
    assert [night["figure"] for night in lengths] == pytest.approx([row["figure"] for row in expected])
    assert {night["verdict"] for night in lengths[1:7]} == {"none_shown"}
    assert {night["n_samples"] for night in lengths} == {SAMPLES}
    refusals = promptaudit(week.folder, "history", "refusal_rate", *one).json()["nights"]
    assert {night["figure"] for night in refusals} == {0}
