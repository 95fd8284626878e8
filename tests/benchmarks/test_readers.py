"""How the readers read the half of the recorded answers that no rule was made on: by kind, and by how the answer is put.

No text is printed: whoever changes a rule looks at the other half.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from tests.support.recorded_answers import Read, read

pytestmark = pytest.mark.benchmark

MOST_MISREAD = {
    "label": 0.01,
    "label_in_text": 0.06,
    "first_integer": 0.05,
    "json_field": 0.01,
    "regex": 0.05,
    "option_letter": 0.02,
    "math_equal": 0.25,
}


def test_readers_on_answers_that_no_rule_was_made_on() -> None:
    found = list(read("unseen"))
    by_kind: dict[tuple[str, str], list[Read]] = defaultdict(list)
    by_style: dict[tuple[str, str], list[Read]] = defaultdict(list)
    for each in found:
        by_kind[each.reader, each.text["kind"]].append(each)
        by_style[each.reader, each.text["style"]].append(each)
    for title, groups in (("reader, kind", by_kind), ("reader, style", by_style)):
        print(f"\n{title:32} texts  misread  unread of those that a person reads")
        for names, own in sorted(groups.items()):
            n = Counter(each.outcome for each in own)
            readable = sum(each.text["reading"] is not None for each in own)
            unread = "" if not readable else f"{n['unread'] / readable:.3f}"
            print(f"{', '.join(names):32} {len(own):5}  {n['misread'] / len(own):7.3f}  {unread}")
    shares = Counter(each.reader for each in found if each.outcome == "misread")
    totals = Counter(each.reader for each in found)
    assert {name: n / totals[name] for name, n in shares.items() if n / totals[name] > MOST_MISREAD[name]} == {}
