"""How the readers read the half of the recorded answers that no rule was made on, and both halves beside the last release.

No text is printed: whoever changes a rule looks at the other half.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.support import readings
from tests.support.readings import RELEASED, TODAY, Asked
from tests.support.recorded_answers import Read, asked, by_reader, read, read_as
from tests.support.release import ROOT, check_out, environment

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


BEFORE = {"label": "exact"}
"""What did a reader's work in the last release, where it was another's."""
TIMES = 3
MOST_TIMES = {
    "label": 60,
    "label_in_text": 70,
    "option_letter": 20,
    "json_field": 12,
    "math_equal": 2.5,
    "first_integer": 60,
    "regex": 6,
}
"""How often the processor time of the release a text may take: it looked for words, where today what is said of them is read."""


def test_readers_beside_those_of_the_last_release(tmp_path: Path) -> None:
    release = check_out(tmp_path)
    halves = {half: by_reader(half) for half in ("known", "unseen")}
    names = list(halves["known"])
    all_asked = {name: [asked(name, text) for own in halves.values() for text in own[name]] for name in names}
    as_before = {
        name: [(text, json.dumps(BEFORE.get(name)) if name in BEFORE else card, *rest) for text, card, *rest in own]
        for name, own in all_asked.items()
    }
    runs = [(timed(ROOT, TODAY, all_asked), timed(release, RELEASED, as_before)) for _ in range(TIMES)]
    counted: dict[tuple[str, str], list[Counter[str]]] = {}
    print(f"\n{'half, reader':24} texts    read  unread misread |    read  unread misread of the release")
    for half, by_name in halves.items():
        for name, own in by_name.items():
            start = 0 if half == "known" else len(halves["known"][name])
            found = [version[name][0][start : start + len(own)] for version in runs[0]]
            counts = [Counter(each.outcome for each in read_as(name, own, labels)) for labels in found]
            counted[half, name] = counts
            cells = ("".join(f"{n[outcome]:8}" for outcome in ("right", "unread", "misread")) for n in counts)
            print(f"{half + ', ' + name:24} {len(own):5}{' |'.join(cells)}")
    ratios = {name: min(a[name][1] for a, _ in runs) / min(b[name][1] for _, b in runs) for name in names}
    for name, ratio in ratios.items():
        own = min(a[name][1] for a, _ in runs) / len(all_asked[name])
        print(f"{name:24} {own * 1e6:7.0f} us a text, {ratio:.1f} times those of the release")
    for (half, name), (own, before) in counted.items():
        assert own["right"] > before["right"], (half, name)
        assert own["misread"] <= before["misread"] or name in BEFORE, (half, name)  # `exact` misreads nothing
    assert {name: ratio for name, ratio in ratios.items() if ratio > MOST_TIMES[name]} == {}


def timed(
    checkout: Path, modules: tuple[str, ...], texts: dict[str, list[Asked]]
) -> dict[str, tuple[list[str | None], float]]:
    """Returns what each reader of a version finds in texts, and its seconds of a processor."""
    line = [sys.executable, "-P", readings.__file__, *modules]
    ran = subprocess.run(
        line, input=json.dumps(texts), env=environment(checkout), capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)
