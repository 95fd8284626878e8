"""The first answers are looked at before the bill: one is shown, and a model that gives no labels is stopped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from promptaudit.ask import first_answers
from promptaudit.ask.first_answers import Ceiling
from promptaudit.registry.errors import MeasureError
from tests.support.http_audit import ask, cells, write_cards
from tests.support.openai_server import LABELS, running_server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")


def test_the_first_request_is_shown_with_its_prompt_completion_and_label(tmp_path: Path) -> None:
    with running_server(completion=" person\n") as server:
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=2, variants=1)
        said: list[str] = []
        ask(tmp_path / "audit.duckdb", cards, said=said)
    (shown,) = said
    assert shown.splitlines()[0] == "first answer of 'api', task 'questions', sample 'q0'" or "sample 'q1'" in shown
    assert "[user] Classify the question by the type of its answer." in shown
    assert "  completion  person" in shown
    assert shown.endswith("  label      person")


def test_a_model_without_labels_costs_the_answers_that_tell_and_50_beside_them(tmp_path: Path) -> None:
    with running_server(completion="I would say it is a person.", latency_s=0.02) as server:
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=100, limits="{max_connections: 200}")
        with pytest.raises(
            MeasureError, match=r"'api': 26 of its first 26 answers are no label.*max_invalid_rate_at_first"
        ) as stopped:
            ask(tmp_path / "audit.duckdb", cards)
        advice = (
            "`reader: label_in_text` in tasks/questions.yml would read 26 of them: "
            "'I would say it is a person.' as person; mend the prompt"
        )
        assert f"; task 'questions': 26 of the first 26 answers could not be read; {advice}" in str(stopped.value)
        counted = server.counters()
        assert 50 <= counted["requests"] <= 26 + 50
        assert counted["peak_in_flight"] <= 50
    assert cells(tmp_path / "audit.duckdb") == (counted["requests"], counted["requests"])


def test_a_run_that_goes_on_is_told_which_reader_would_take_what_was_not_read(tmp_path: Path) -> None:
    labels = [*LABELS[:5], "It is a person, I would say."]
    with running_server(labels=labels) as server:
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=100, variants=1)
        said: list[str] = []
        ask(tmp_path / "audit.duckdb", cards, said=said)
    (advice,) = [line for line in said if "could not be read" in line]
    found = re.fullmatch(
        r"task 'questions': (\d+) of the first 50 answers could not be read; "
        r"`reader: label_in_text` in tasks/questions.yml would read (\d+) of them: 'It is a person, I would say.' as person",
        advice,
    )
    assert found is not None
    assert 0 < int(found[1]) == int(found[2]) < 26


def test_the_card_may_allow_it(tmp_path: Path) -> None:
    with running_server(completion="hm") as server:
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=60, variants=1, max_invalid_rate_at_first=1)
        ask(tmp_path / "audit.duckdb", cards)
    assert cells(tmp_path / "audit.duckdb") == (60, 60)


def test_prompts_that_all_count_the_same_are_flagged() -> None:
    cut, whole = Ceiling(), Ceiling()
    for length in range(100, 2000, 100):
        cut.see((("user", "x" * length),), min(length // 4, 128))
        whole.see((("user", "x" * length),), length // 4)
    assert cut.note() == (
        "counts 128 tokens for each of 14 prompts of 600 to 1900 characters: the server may cut long prompts"
    )
    assert whole.note() is None


def test_a_model_that_takes_hours_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_answers, "LONG_H", 0.0)
    with running_server(latency_s=0.05) as server:
        cards = write_cards(tmp_path / "cards", server.base_url, n_samples=100, variants=1)
        said: list[str] = []
        ask(tmp_path / "audit.duckdb", cards, said=said)
    found = re.fullmatch(
        r"model 'api' gives ([\d.e+]+) answers a minute: the other ([\d,]+) take ([\d.e-]+) hours at most", said[-1]
    )
    assert found is not None, said
    assert int(found[2]) == cells(tmp_path / "audit.duckdb")[0] - 50
    assert float(found[3]) == pytest.approx(int(found[2]) / float(found[1]) / 60, rel=0.1)
