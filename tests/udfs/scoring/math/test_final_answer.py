"""The final answer is found in prose, and only in its end."""

from __future__ import annotations

import pytest

from promptaudit.udfs.scoring.math.final_answer import MAX_READ_CHARACTERS, final_answer

PROSE = [
    (r"First \boxed{3}, no: \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),  # the last box
    (r"\boxed{x^{2}} and an unfinished \boxed{y^{2", "x^{2}"),
    (r"so \boxed{\text{about } \fbox{7}}", "7"),
    (r"so it is $\boxed 7$.", "7"),
    (r"First \boxed{7}, and not \boxed 8.", "7"),
    (r"It is \boxed -3.5.", "-3.5"),
    (r"It is \boxed C", "C"),
    (r"\boxed{5} years. The answer is 6.", "5"),
    (r"\boxed{}", ""),
    (r"\boxed {12}", "12"),
    ("3 + 4 = 7\n#### 7", "7"),
    ("#### Step 1\nWe add.\n#### Answer\nThe answer is 12.", "12."),  # headings
    ("The answer is 5. This holds since 7 is prime.", "5"),
    ("The answer is 5... wait, the answer is 6", "6"),
    ("The final answer to this question is: 1,234.", ": 1,234."),
    ("**Answer:** 12", "** 12"),
    ("Answer:\n\n\\[\n\\frac{1}{2}\n\\]", r"\[ \frac{1}{2} \]"),
    ("The answer is $x = 5$, as 2 + 3 = 5.", "x = 5"),
    ("the answer is 50 years, give or take", "50 years"),
    ("the answer is the set $\\{1, 2\\}$ of roots", r"\{1, 2\}"),
    ("The answer is not 5", None),
    ("The answer is fifty.", "fifty."),
    ("x = 5, y = 6", "x = 5, y = 6"),  # the whole text
    ("Therefore, the sum is 7.", "7."),
    ("First 5.\nThus the value of $x$ is 5/2.", "5/2."),
    ("so $x \\le 5$ holds", r"x \le 5"),
    ("We get\n$$\nx = \\frac{1}{2}\n$$", r"x = \frac{1}{2}"),
    ("result: 5 - 3 = 2", "2"),
    ("She pays $5 and $6, so $11.", "11"),
    ("It takes 2 1/2 hours", "2 1/2 hours"),
    ("She is 50-year-old", "50"),
    ("Alice has 3 apples and Bob 4 pears", "4 pears"),
    ("odd", "odd"),
    ("nothing can be said about this at all", None),
    ("", None),
    (" \n\t", None),
]


@pytest.mark.parametrize(("completion", "answer"), PROSE)
def test_the_final_answer_in_prose(completion: str, answer: str | None) -> None:
    assert final_answer(completion) == answer


def test_only_the_end_of_a_completion_is_read() -> None:
    assert final_answer(r"\boxed{5}" + " word" * MAX_READ_CHARACTERS) is None
    assert final_answer("word " * MAX_READ_CHARACTERS + "\n5") == "5"
