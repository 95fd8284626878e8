"""The prompt sensitivity index of log-likelihoods."""

from __future__ import annotations

import json

import numpy as np
import pytest

from promptaudit.udfs.measures.posix import posix, posix_of

ONE_TOKEN = np.ones((2, 2))


def landed(*nats: float | None, n_tokens: int = 1) -> str:
    return json.dumps([{"nats": value, "n_tokens": n_tokens, "n_characters": 3} for value in nats])


def test_two_prompts_that_answer_otherwise() -> None:
    # y_0 = 0: |-1.1 - -.1| = 1; y_1 = 1: |-2.4 - -.4| = 2; of 2 ordered pairs
    assert posix(np.array([[-0.1, -2.4], [-1.1, -0.4]]), ONE_TOKEN) == pytest.approx(1.5)
    assert posix_of([landed(-0.1, -2.4), landed(-1.1, -0.4)]) == pytest.approx(1.5)


def test_it_moves_where_the_answer_stays_and_is_by_the_answers_own_tokens() -> None:
    nats = np.array([[-0.2, -3.0], [-0.6, -2.0], [-1.4, -1.5]])
    # all answer option 0: pairs of -.2, -.6 and -1.4 are .4, 1.2 and .8 apart, each twice, over 6
    assert posix(nats, np.ones((3, 2))) == pytest.approx(2 * (0.4 + 1.2 + 0.8) / 6)
    tokens = np.array([[2, 1], [2, 1], [2, 1]])
    assert posix(nats, tokens) == pytest.approx((0.4 + 1.2 + 0.8) / 6)


def test_prompts_that_change_no_likelihood_have_none() -> None:
    assert posix(np.array([[-0.1, -2.4]] * 5), np.ones((5, 2))) == 0


def test_a_prompt_without_an_answer_is_left_out() -> None:
    whole = [landed(-0.1, -2.4), landed(-1.1, -0.4)]
    for other in (landed(-1.0, -1.0), landed(None, -1.0), landed(-1.0, -2.0, -3.0), "[]"):
        assert posix_of([*whole, other]) == pytest.approx(1.5)
    assert np.isnan(posix_of(whole[:1]))
    assert np.isnan(posix_of([]))
    assert np.isnan(posix_of([whole[0], landed(-1.0, -1.0)]))


def test_likelihoods_of_options_without_counts_of_tokens_have_none() -> None:
    landed = ['[{"nats": -0.1}, {"nats": -2.4}]', '[{"nats": -1.1}, {"nats": -0.4}]']
    assert np.isnan(posix_of(landed))
