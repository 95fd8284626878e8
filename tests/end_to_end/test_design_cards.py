"""Cards of audits that cannot be run: one line, code 2, nothing asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import Ended, promptaudit

CARD = """\
odd:
  tasks: [question_type]
  models: [lexical]
  rephrasing: {rephraser: rules, variants: 9}
  repetitions: {original: 1, variants: 1}
  samples: {limit: 60}
"""


def refused(folder: Path, more: str, *options: str) -> Ended:
    (folder / "registry/audits").mkdir(parents=True)
    (folder / "registry/audits/odd.yml").write_text(CARD + more)
    ended = promptaudit(folder, "run", "odd", *options)
    assert ended.code == 2, ended.err
    assert len(ended.err.strip().splitlines()) == 1
    return ended


CARDS = {"a field that is gone": ("  stop: gate\n", "unknown field 'stop' of 'odd'; `stop` is gone: use samples.limit")}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_is_refused_in_one_line_that_says_where(tmp_path: Path, name: str) -> None:
    more, message = CARDS[name]
    line = refused(tmp_path, more).one_line()
    assert message in line
    assert "odd.yml" in line
    assert not (tmp_path / "warehouse").exists()
