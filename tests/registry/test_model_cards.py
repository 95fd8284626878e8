"""Model cards: caps, grids, what passes through, what fits which engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import CardError
from promptaudit.registry.registry import load_registry

API = {"engine": "openai_api", "model": "m"}


def card(**fields: Any) -> ModelCard:
    return ModelCard.model_validate({**API, **fields})


def test_a_grid_is_as_many_models(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "audits").mkdir()
    (tmp_path / "models/m.yml").write_text(
        "m:\n  engine: openai_api\n  model: m\n  sampling: {temperature: 0, max_tokens: 8}\n"
        "  grid: {temperature: [0, 0.5], top_p: [0.9, 1]}\n"
    )
    (tmp_path / "audits/a.yml").write_text(
        "a: {tasks: [question_type], models: [lexical, m]}\none: {tasks: [question_type], models: [m temperature=0.5 top_p=1]}\n"
    )
    registry = load_registry([tmp_path])
    points = [f"m temperature={t} top_p={p}" for t in ("0", "0.5") for p in ("0.9", "1")]
    assert registry.models_of("a") == ("lexical", *points)
    assert set(registry.used_by("a")["models"]) == {"lexical", *points}
    sampling = registry.model("m temperature=0.5 top_p=0.9").sampling
    assert (sampling.temperature, sampling.top_p, sampling.max_tokens) == (0.5, 0.9, 8)
    assert registry.models_of("one") == ("m temperature=0.5 top_p=1",)
    assert len({registry.model(name).fingerprint() for name in points}) == 4
    assert registry.entry("models", points[0]).where(points[0], "sampling") == "models/m.yml line 4"


def test_a_rephraser_names_one_point_of_a_grid(tmp_path: Path) -> None:
    for kind, text in (
        ("models", "m: {engine: openai_api, model: m, grid: {temperature: [0, 1]}}\n"),
        ("rephrasers", "r: {kind: model, model: m}\n"),
        ("audits", "a: {tasks: [question_type], models: [lexical], rephrasing: {rephraser: r, variants: 3}}\n"),
    ):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "c.yml").write_text(text)
    with pytest.raises(CardError, match="'m' is a grid of models; name one of them, such as 'm temperature=0'"):
        load_registry([tmp_path]).used_by("a")


def test_extra_body_is_read_as_json_where_it_is() -> None:
    body = card(
        extra_body={"top_k": "5", "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": "false"}}
    )
    assert body.extra_body == {
        "top_k": 5,
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False},
    }


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"extra_body": {"messages": "[]"}}, "'messages' is set by promptaudit itself"),
        ({"extra_body": {"temperature": "0"}}, "'temperature' is set under sampling"),
        ({"extra_body": {"api_key": "sk-1"}}, "'api_key' looks like a secret"),
        ({"sampling": {"max_tokens": 5, "max_completion_tokens": 5}}, "one cap under two names"),
        ({"grid": {}}, "a grid needs values"),
        ({"grid": {"temperature": [1, 1]}}, "a value stands twice"),
        (
            {"grid": {"temperature": [n / 2000 for n in range(19_801)], "top_p": [n / 2000 for n in range(1, 2001)]}},
            "at most 1,000 points, each a model that is asked everything; this one has 39,602,000",
        ),
        ({"batch": {"poll_s": 1}}, "batch has no meaning for openai_api"),
        ({"vllm": {"dtype": "auto"}}, "vllm has no meaning for openai_api"),
        ({"vllm": {"trust_remote_code": True}, "engine": "vllm_server"}, "trust_remote_code"),
        ({"engine": "embedded", "model": "random", "grid": {"temperature": [0]}}, "grid has no meaning for embedded"),
        ({"engine": "embedded", "model": "random", "extra_body": {"a": 1}}, "extra_body has no meaning for embedded"),
        ({"engine": "batch", "vllm": {"dtype": "auto"}}, "vllm has no meaning for batch"),
        ({"engine": "embedded", "model": "lexical", "invalid": True}, "invalid has no meaning for embedded lexical"),
    ],
)
def test_what_does_not_hold_together_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        card(**fields)


def test_an_extra_with_tokens_in_its_name_is_no_secret() -> None:
    assert card(extra_body={"min_tokens": "1", "max_thinking_tokens": "0"}).extra_body == {
        "min_tokens": 1,
        "max_thinking_tokens": 0,
    }
