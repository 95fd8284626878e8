"""What a diagnosis says to try: texts that fit the confusion, on its samples, at their price."""

from __future__ import annotations

import shlex

import numpy as np

from promptaudit.query.diagnosis.confusions import find_confusions
from promptaudit.query.diagnosis.material import Material, Unit
from promptaudit.query.diagnosis.remedies import MOST_SAMPLES, Remedy, TrialOfUnit, find_remedies
from promptaudit.system.display.policy import Texts, policy_of
from tests.query.diagnosis.test_diagnose import LABELS, N, Q, R, unit_of

CONFUSED = tuple(range(0, N, 3))  # the samples of class number


def confused(said: int, strategy: str = "simple") -> Unit:
    """Number is called another label, or none, under all wordings but two; its last sample under none."""
    gold = 1 + np.arange(N) % 3
    labels = np.repeat(gold, Q * R).reshape(N, Q, R)
    labels[CONFUSED[:-1], 2:] = said
    return unit_of(labels, strategy)


def remedies(
    unit: Unit,
    descriptions: dict[str, str] | None = None,
    policy: str = "excerpt",
    text: str = "A text of",
    reader: str = '"label"',
) -> list[Remedy]:
    inputs = {unit.task_id: {name: f"{text} {name}" for name in unit.sample_ids}}
    material = Material((unit,), inputs, Texts(policy_of(policy)))
    trial = TrialOfUnit(*unit.group, reader=reader, n_asks=Q * R)
    of_labels = {(unit.task_id, label): known for label, known in (descriptions or {}).items()}
    return find_remedies("f0cffa393744", material, find_confusions([unit]), of_labels, {trial[:3]: trial})


def test_an_example_of_the_class_that_loses_is_tried_on_its_other_samples() -> None:
    (found,) = remedies(confused(2))
    assert (found.gold_label, found.said) == ("number", "place")
    assert found.added == 'For example, "A text of s57" is number.'
    words = shlex.split(found.command)
    assert words[:3] == ["promptaudit", "try", "f0cffa393744"]
    assert words[words.index("--add") + 1] == found.added
    samples = words[words.index("--on") + 1].split(",")
    assert samples == [f"s{place:02}" for place in CONFUSED[:-1]][:MOST_SAMPLES]
    assert found.n_requests == 3 * Q * R * len(samples)


def test_labels_that_are_described_are_told_apart() -> None:
    known = {"number": "how many, how much.", "place": "where"}
    (found,) = remedies(confused(2), known)
    assert found.added == "number is for: how many, how much. place is for: where."
    (shown_already,) = remedies(confused(2, "detail"), known)
    assert shown_already.added.startswith("For example")


def test_answers_that_are_no_label_are_asked_for_labels() -> None:
    (found,) = remedies(confused(0))
    assert found.added == f"Reply with one of these and nothing else: {', '.join(str(label) for label in LABELS[1:])}."


def test_readers_that_want_more_than_a_label_are_not_asked_for_it_alone() -> None:
    assert remedies(confused(0), reader='{"json_field": "label"}') == []
    assert remedies(confused(0, "structured")) == []


def test_descriptions_of_several_lines_stand_in_one() -> None:
    (found,) = remedies(confused(2), {"number": "how many\n- or how much", "place": "where"})
    assert found.added == "number is for: how many - or how much. place is for: where."
    assert remedies(confused(2), {"number": "{input}", "place": "where"}) == []


def test_texts_that_may_not_be_shown_are_no_examples() -> None:
    assert remedies(confused(2), policy="none") == []
    assert remedies(confused(2), text="x" * 300) == []
    assert remedies(confused(2), text="a\x1b[31m") == []
    assert remedies(confused(2), text="Fill {input} and {label} in") == []


def test_what_is_not_confused_needs_nothing() -> None:
    assert remedies(confused(1)) == []
