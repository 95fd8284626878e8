"""Anchors: what is right, or likely and wrong, in a sentence, and answers that people ruled on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from promptaudit.ask.anchors import SENTENCES, WORDED, anchors_of, number_in_words, right_in_words, wrong_in_words
from promptaudit.plan.design import Design, design_audit
from promptaudit.plan.judge_requests import Control
from promptaudit.registry.registry import load_registry
from promptaudit.registry.samples import Sample
from promptaudit.system.clock import now
from promptaudit.system.keys import content_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from tests.support.http_audit import AUDIT, ask, have_judged, opened, query, write_cards
from tests.support.openai_server import RunningServer, running_server

COUNTS = "{right: 1, wrong: 0, blank: 0, injected: 0, right_in_words: 3, wrong_in_words: 3, ruled: 2}"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


def cards(folder: Path, server: RunningServer) -> Path:
    judge = f"checker:\n  model: api\n  controls: {COUNTS}\n  max_unreadable_rate_at_first: 1\n"
    return write_cards(folder, server.base_url, n_samples=12, variants=1, judges=judge, audit="  judges: [checker]\n")


def facts() -> tuple[Any, list[Sample]]:
    """The shipped task short_facts, with its samples."""
    design = design_audit(load_registry([]), "templates")
    return design.tasks["short_facts"], list(design.samples["short_facts"].samples)


def test_what_is_right_is_said_in_sentences_and_in_other_ways() -> None:
    task, samples = facts()
    said = {(sample.sample_id, turn): right_in_words(task, sample, turn) for sample in samples for turn in range(4)}
    assert said == {
        (sample.sample_id, turn): right_in_words(task, sample, turn) for sample in samples for turn in range(4)
    }
    assert not any(
        text in sample.references for sample in samples for turn in range(4) if (text := said[sample.sample_id, turn])
    )
    by_id = {sample.sample_id: sample for sample in samples}
    for (sample_id, _), text in said.items():
        ways = {
            way.casefold()
            for reference in by_id[sample_id].references
            for way in (reference, number_in_words(reference))
            if way
        }
        ways |= {way.partition(" ")[2] for way in ways if way.startswith(("the ", "a ", "an "))}
        assert any(way in text.casefold() for way in ways), (text, ways)
    # every sentence is used, and another one at each turn
    assert len({text.partition(by_id[key[0]].references[0])[0] for key, text in said.items()}) >= len(SENTENCES) / 2
    assert all(len({said[sample.sample_id, turn] for turn in range(4)}) == 4 for sample in samples)


def test_what_is_wrong_is_likely_and_shares_no_word_with_what_is_right() -> None:
    task, samples = facts()
    for number, sample in enumerate(samples):
        text = wrong_in_words(task, sample, samples[number + 1 :] + samples[:number], 0)
        assert text is not None
        words = set(text.casefold().replace(".", " ").replace(",", " ").split())
        right = {word for reference in sample.references for word in reference.casefold().split()}
        assert not right & words - {"the", "of", "a"}, (text, sample.references)
    year = next(sample for sample in samples if sample.references == ("1945",))
    others = [sample for sample in samples if sample is not year]
    wrong = {wrong_in_words(task, year, others, turn) for turn in range(4)}
    assert all(
        any(other.references[0] in (text or "") for other in others if other.references[0].isdigit())
        or any(number_in_words(str(n)) in (text or "").casefold() for n in range(20))
        for text in wrong
    )  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "zero"),
        ("11", "eleven"),
        ("40", "forty"),
        ("99", "ninety-nine"),
        ("100", None),
        ("1945", None),
        ("-3", None),
        ("1.5", None),
        ("", None),
    ],
)
def test_numbers_in_words(text: str, words: str | None) -> None:
    assert number_in_words(text) == words


def kinds(anchors: list[Control]) -> Counter[str]:
    return Counter(anchor.kind for anchor in anchors)


def land_rulings(warehouse: Path, run: str, rulings: list[tuple[str, str, bool]], *, hours: float) -> None:
    """Lands what persons ruled on predictions of a run, so many hours after now."""
    rows = [
        {
            "audit_run_id": run,
            "verdict_id": content_id(run, *map(str, ruling)),
            "prediction_id": ruling[1],
            "judge_id": f"person:{ruling[0]}",
            "judge_key": None,
            "repetition": 1,
            "ask": 1,
            "is_settled": True,
            "is_match": ruling[2],
            "is_completion_escaped": False,
            "n_attempts": 1,
            "landed_at": now() + timedelta(hours=hours),
        }
        for ruling in rulings
    ]
    Warehouse(warehouse).land([("verdicts", frame_of("verdicts", rows))])


def next_night(warehouse: Path, registry: Path) -> tuple[str, Design]:
    """A run of its own, that began an hour from now."""
    from promptaudit.audit.runs import open_run

    design = design_audit(load_registry([registry]), AUDIT)
    run = open_run(Warehouse(warehouse), design)
    with Warehouse(warehouse).write() as con:
        con.execute("update raw.audit_runs set started_at = started_at + interval 1 hour where audit_run_id = ?", [run])
    return run, design


def test_answers_that_people_ruled_on_are_anchors_of_later_nights(tmp_path: Path, server: RunningServer) -> None:
    warehouse, registry = tmp_path / "audit.duckdb", cards(tmp_path / "cards", server)
    ask(warehouse, registry)
    first, design = opened(warehouse, registry)
    answers = query(
        warehouse,
        "select min(prediction_id), sample_id, completion from raw.predictions group by all order by sample_id",
    )
    (yes, *_), (no, *_), (tie, *_), (late, *_) = answers[:4]
    land_rulings(
        warehouse,
        first,
        [("ann", yes, True), ("bob", yes, True), ("ann", no, False), ("ann", tie, True), ("bob", tie, False)],
        hours=0,
    )
    land_rulings(warehouse, first, [("ann", no, False), ("ann", late, True)], hours=2)
    assert kinds(anchors_of(Warehouse(warehouse), first, design))["ruled"] == 0
    second, design = next_night(warehouse, registry)
    anchors = anchors_of(Warehouse(warehouse), second, design)
    assert kinds(anchors) == {"right_in_words": 3, "wrong_in_words": 3, "ruled": 2}
    ruled = {(anchor.sample_id, anchor.completion): anchor.is_match for anchor in anchors if anchor.kind == "ruled"}
    assert ruled == {answers[0][1:]: True, answers[1][1:]: False}
    assert [anchor.control_id for anchor in anchors if anchor.kind in WORDED] == [
        anchor.control_id for anchor in anchors_of(Warehouse(warehouse), first, design) if anchor.kind in WORDED
    ]


def test_a_judge_rules_on_all_of_them_in_every_run(tmp_path: Path, server: RunningServer) -> None:
    warehouse, registry = tmp_path / "audit.duckdb", cards(tmp_path / "cards", server)
    ask(warehouse, registry)
    have_judged(warehouse, registry)
    first, _ = opened(warehouse, registry)
    ((prediction,),) = query(warehouse, "select min(prediction_id) from raw.predictions where sample_id = 'q0'")
    land_rulings(warehouse, first, [("ann", prediction, True)], hours=0)
    second, _ = next_night(warehouse, registry)
    ask(warehouse, registry)
    have_judged(warehouse, registry)
    shown = "select kind, count(*) from raw.judge_controls inner join raw.verdicts using (audit_run_id, control_id) "
    shown += "where is_settled and audit_run_id = ? group by all order by all"
    worded = [("right", 1), ("right_in_words", 3), ("wrong_in_words", 3)]
    assert query(warehouse, shown, [first]) == worded
    assert query(warehouse, shown, [second]) == [worded[0], worded[1], ("ruled", 1), worded[2]]
    # raw rows of the first run are in the archive: what people ruled is carried from run to run
    with Warehouse(warehouse).write() as con:
        for table in ("predictions", "verdicts", "judge_controls"):
            con.execute(f"delete from raw.{table} where audit_run_id = ?", [first])
        con.execute(
            "update raw.audit_runs set started_at = started_at + interval 1 minute where audit_run_id = ?", [first]
        )
    third, design = next_night(warehouse, registry)
    with Warehouse(warehouse).write() as con:
        con.execute(
            "update raw.audit_runs set started_at = started_at + interval 1 hour where audit_run_id = ?", [third]
        )
    assert kinds(anchors_of(Warehouse(warehouse), third, design))["ruled"] == 1
    # to a question with another text it is none
    with Warehouse(warehouse).write() as con:
        con.execute("update raw.samples set input = 'Otherwise?' where audit_run_id = ? and sample_id = 'q0'", [third])
    assert kinds(anchors_of(Warehouse(warehouse), third, design))["ruled"] == 0
