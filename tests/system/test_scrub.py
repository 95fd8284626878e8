"""Keys do not survive in any form; other text does."""

from __future__ import annotations

import base64
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.system.scrub import HIDDEN, one_line, scrub, without_values

KEY = "k3y+with/odd.chars=&(more)*"


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        quote_plus(KEY),
        quote(KEY, safe="").lower(),
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f":{KEY}".encode()).decode(),
        f"Bearer {KEY}",
    ],
)
def test_every_form_of_a_secret_is_hidden(form: str) -> None:
    assert form not in scrub(f"before {form} after", [KEY])
    assert scrub(f"before {form} after", [KEY]).endswith("after")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://user:pa55word@proxy.example:8080/x", "pa55word"),
        ("https://onlytoken@host/x", "onlytoken"),
        ("GET /v1?api_key=abc123&x=1", "abc123"),
        ("GET /v1?x=1&key=abc123", "abc123"),
        ("GET /v1?token=abc123", "abc123"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("{'authorization': 'Bearer abcdef123'}", "abcdef123"),
        ('"x-api-key": "abc123"', "abc123"),
        ("OPENAI_API_KEY=abc123", "abc123"),
        ("Incorrect API key provided: sk-proj-abcdefgh1234.", "abcdefgh1234"),
        ("Incorrect key abcd******wxyz given", "wxyz"),
    ],
)
def test_things_shaped_like_keys_are_hidden_unasked(text: str, secret: str) -> None:
    assert secret not in scrub(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://api.openai.com/v1/chat",
        "the token limit is 8192",
        "a risk-averse, task-specific key point",
        "me@host",
        "",
    ],
)
def test_plain_text_is_kept(text: str) -> None:
    assert scrub(text, ["unrelated-secret"]) == text


@pytest.mark.parametrize(
    "setting",
    [
        "postgresql://me:pa55%2Fword@host:1/db",
        "postgresql://me@host/db?sslmode=require&password=pa55%2Fword",
        "me:pa55/word",
        "mailtos://me:pa55%2Fword@host slack://token",
    ],
)
def test_the_password_in_a_setting_is_hidden_where_it_stands_alone(setting: str) -> None:
    assert scrub("login pa55/word and pa55%2Fword failed", [setting]) == f"login {HIDDEN} and {HIDDEN} failed"


def test_an_empty_secret_hides_nothing_and_a_short_one_is_hidden() -> None:
    assert scrub("abc", [""]) == "abc"
    assert scrub("a.b axb", ["a.b"]) == f"{HIDDEN} axb"


def test_a_key_cut_short_by_the_other_side_is_hidden() -> None:
    key = "0123456789abcdefghij"
    assert scrub("sent 0123456789abc", [key]) == f"sent {HIDDEN}"


def test_truncation_comes_after_scrubbing() -> None:
    key = "Zz9" * 5
    for lead in range(480, 520):
        line = one_line("x" * lead + key, [key], 500)
        assert len(line) <= 500
        assert "Zz9" not in line


def test_one_line_is_printable_and_joins_what_controls_split() -> None:
    assert one_line("a\x00b\n\x1b[31mred\ud800") == "a b [31mred"
    assert one_line("y" * 200_000) == "a text of 200000 characters"


def test_a_completion_loses_the_exact_value_alone() -> None:
    assert without_values("Bearer sk-abcdefgh and a.b", ["a.b"]) == f"Bearer sk-abcdefgh and {HIDDEN}"
    assert without_values("verbatim  \x00\ud800 ", ["", "other"]) == "verbatim  \x00\ud800 "


@given(st.text(min_size=4, max_size=40), st.text(max_size=60), st.text(max_size=60))
def test_no_secret_survives(secret: str, before: str, after: str) -> None:
    if secret in HIDDEN:
        return
    assert secret not in scrub(before + secret + after, [secret]).replace(HIDDEN, "\uffff")


@pytest.mark.parametrize("unit", ["a", "*", "**a", "a://", "api_", "authorization", "sk-", "Bearer ", "key="])
def test_hostile_text_is_scrubbed_in_time(unit: str) -> None:
    started = time.process_time()
    scrub(unit * (100_000 // len(unit)), ["secret-value-of-some-length"])
    assert time.process_time() - started < 2
