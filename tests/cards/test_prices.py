"""What a batch costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptaudit.cards.prices import price_of
from promptaudit.plan.estimate import estimate_audit
from promptaudit.registry.cards import ModelCard, Price
from promptaudit.registry.registry import load_registry

LISTED = Price(input_usd_per_mtok=0.15, output_usd_per_mtok=0.6)


def test_a_listed_price_is_halved_for_batches() -> None:
    assert price_of(ModelCard(engine="openai_api", model="gpt-4o-mini")) == LISTED
    for batching in (None, {"poll_s": 5}):
        halved = price_of(ModelCard(engine="batch", model="gpt-4o-mini", batch=batching))
        assert halved is not None
        assert (halved.input_usd_per_mtok, halved.output_usd_per_mtok) == pytest.approx((0.075, 0.3))


def test_a_price_by_length_is_that_of_short_requests() -> None:
    listed = price_of(ModelCard(engine="openai_api", model="gemini-2.5-pro"))
    assert listed is not None
    assert (listed.input_usd_per_mtok, listed.output_usd_per_mtok) == pytest.approx((1.25, 10))


def test_a_price_that_is_written_is_taken_as_written() -> None:
    assert price_of(ModelCard(engine="batch", model="gpt-4o-mini", price=LISTED)) == LISTED
    assert price_of(ModelCard(engine="batch", model="a model no library knows")) is None


def test_what_this_machine_answers_is_free() -> None:
    free = Price(input_usd_per_mtok=0, output_usd_per_mtok=0)
    assert price_of(ModelCard(engine="vllm_server", model="gpt-4o-mini")) == free
    elsewhere = ModelCard(engine="vllm_server", model="gpt-4o-mini", base_url="http://10.0.0.7:8000/v1")
    assert price_of(elsewhere) is None


@pytest.mark.parametrize(
    ("declared", "kind", "characters"),
    [
        # one template of 2 characters: a question and a passage, of 400 where the card does not say
        ("characters: {input: 38, passage: 3960}", "open_ended", 4000),
        ("characters: {passage: 3998}", "open_ended", 4400),
        # "A. " before each of four options, line ends between them, and 2 characters
        ("characters: {input: 38, options: 100}", "multiple_choice", 38 + 4 * 103 + 3 + 2),
        ("characters: {}", "multiple_choice", 400 + 4 * 43 + 3 + 2),
    ],
)
def test_data_that_is_not_here_is_counted_as_its_card_says(
    tmp_path: Path, declared: str, kind: str, characters: int
) -> None:
    own = "labels: [A, B, C, D]\n  " if kind == "multiple_choice" else ""
    keys = "options: o, gold_label: g" if own else "references: r"
    texts = {
        "templates": f"t: {{kind: {kind}, templates: ['{{question}}: {'{options}' if own else '{passage}'}']}}\n",
        "tasks": f"q:\n  kind: {kind}\n  templates: t\n  {own}data: {{hub: a/b, input: i, {keys}, rows: 10, {declared}}}\n",
        "models": "m: {engine: openai_api, model: small, base_url: http://127.0.0.1:1/v1, api_key_env: K}\n",
        "audits": "a: {tasks: [q], models: [m], repetitions: {original: 1}, samples: {balanced: false}}\n",
    }
    for kind_of_card, text in texts.items():
        (tmp_path / kind_of_card).mkdir()
        (tmp_path / kind_of_card / "c.yml").write_text(text)
    (line,) = estimate_audit(load_registry([tmp_path]), "a").lines
    assert line.requests == 10
    assert line.prompt_tokens == pytest.approx(10 * characters / 4, abs=10 * 10)
