"""A completion becomes a label by the task's reader, and only ever one of the task's labels as it is written."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.udfs.readers.reading import read_answer
from promptaudit.udfs.reasoning import parted

LABELS = ("left", "far left", "right", "N/A", "3", "010")
REGEX = json.dumps({"regex": r"answer:\s*(\w+)"})
FIELD = json.dumps({"json_field": "result.label"})


@pytest.mark.parametrize(
    ("reader", "completion", "label"),
    [
        ('"exact"', " left\n", "left"),
        ('"exact"', "\u00a0left\u2003", "left"),  # all white space, not only the ASCII kind
        ('"exact"', "Left", None),
        ('"exact"', "40 left", None),
        ('"exact"', "N/A", "N/A"),
        ('"exact"', "010", "010"),
        ('"exact"', "10", None),
        ('"first_integer"', "I would say 3, or 4.", None),
        ('"first_integer"', "+3", "3"),
        ('"first_integer"', "no number", None),
        ('"first_integer"', "9" * 10_000, None),
        ('"label_in_text"', "It is clearly Left-leaning.", "left"),
        ('"label_in_text"', "far left", "far left"),  # the longer label is the one that is meant
        ('"label_in_text"', "left or right", None),
        ('"label_in_text"', "leftover", None),
        ('"label_in_text"', "left, yes: left", "left"),
        (REGEX, "Thought. answer: right", "right"),
        (REGEX, "answer: wrong", None),
        (json.dumps({"regex": "ri.ht"}), "so right", "right"),  # without a group, the whole match
        (FIELD, '```json\n{"result": {"label": "right"}}\n```', "right"),
        (FIELD, '{"result": {"label": 3}}', "3"),
        (FIELD, '{"result": "right"}', None),
        (FIELD, '{"result": {"label": null}}', None),
        (FIELD, "[" * 50 + "]" * 50, None),
        (FIELD, '{"result":' * 40 + "1" + "}" * 40, None),
    ],
)
def test_readers(reader: str, completion: str, label: str | None) -> None:
    assert read_answer(completion, reader, LABELS).label == label


STANCES = ("-1", "0", "1")
WORDS = ("true", "false", "not sure")


@pytest.mark.parametrize("dash", "-\u2212\u2013\u2014\u2010\u2011\u2012\u2015\ufe63\uff0d\u207b\u2796\u30fc")
def test_every_dash_that_people_write_for_minus_is_one(dash: str) -> None:
    """With U+2212, the opposite stance was read."""
    for said in (f"{dash}1", f"Stance: {dash}1.", f"**{dash}1**", f"({dash}\uff11)", f"\u5206\u6570\uff1a{dash}1"):
        assert read_answer(said, '"first_integer"', STANCES).label == "-1", said
    for reader in ('"label"', json.dumps({"regex": r"is (\S+)$"}), json.dumps({"json_field": "s"})):
        said = {'"label"': f"{dash}1"}.get(reader, f"It is {dash}1" if "regex" in reader else f'{{"s": "{dash}1"}}')
        assert read_answer(said, reader, STANCES).label == "-1", said


@pytest.mark.parametrize(
    ("said", "labels", "label"),
    [
        ("\u2212 1", STANCES, "-1"),
        ("- 1", STANCES, None),  # a bullet, or a minus: neither is sure
        ("- 1", ("0", "1"), "1"),
        ("Answer \u2013 1", STANCES, None),
        ("stance-1", STANCES, None),
        ("Answer\u20143", ("1", "2", "3"), "3"),
        ("\u7b54\u6848\u2014\u20141", STANCES, None),
        ("\u5f97\u5206\u4e3a-1", STANCES, "-1"),
        ("minus 1", STANCES, "-1"),
        ("negative 1", STANCES, None),
        ("\u8d1f1", STANCES, "-1"),
        ("\uff0b1", STANCES, "1"),
        ("\uff11", STANCES, "1"),
        ("\u0661", STANCES, "1"),  # Arabic
        ("\u0967", STANCES, "1"),  # of Devanagari
        ("\u2460", STANCES, "1"),
        ("\u200e-\u200e1", STANCES, "-1"),
        ("\u22121", ("1", "2"), None),
        ("Stance: \u2212 1", STANCES, "-1"),
        ("\u2212\u20091", STANCES, "-1"),
        ("\u2212 1", ("0", "1"), None),
        ("-\u00a01", STANCES, None),
        ("the label is minus 1", STANCES, "-1"),
        ("moins 1", STANCES, "-1"),
        ("au moins 1", STANCES, "1"),  # at least
        ("por lo menos 1", STANCES, "1"),
        ("\u30de\u30a4\u30ca\u30b91", STANCES, "-1"),
        ("\u30ab\u30c6\u30b4\u30ea\u30fc\uff1a1", STANCES, "1"),  # the vowel of a word
        ("\u30fc1", STANCES, "-1"),
        ("\u2212**1**", STANCES, "-1"),  # marks between the sign and the digit
        ("-**1**", STANCES, "-1"),
        ("-$1$", STANCES, "-1"),
        ("$-$1", STANCES, "-1"),
        ("- **1**", STANCES, "1"),
        ("minus: 1", STANCES, "-1"),
        ("minus(1)", STANCES, "-1"),
        ("neg. 1", STANCES, None),
        ("\u00b11", STANCES, None),
        ("minus 1", ("0", "1"), None),
        ("minus 2", ("0", "1", "2"), None),
    ],
)
def test_a_number_in_a_text_has_its_sign_and_the_digits_of_any_script(
    said: str, labels: tuple[str, ...], label: str | None
) -> None:
    for reader in ('"first_integer"', '"label_in_text"'):
        assert read_answer(said, reader, labels).label == label, reader


def test_numbers_of_json_are_numbers() -> None:
    assert read_answer('{"score": -1.0}', json.dumps({"json_field": "score"}), STANCES).label == "-1"
    assert read_answer('{"score": 1.5}', json.dumps({"json_field": "score"}), STANCES).label is None
    assert (
        read_answer('{"why": "two\nlines", "score": "-1"}', json.dumps({"json_field": "score"}), STANCES).label == "-1"
    )


def test_a_label_is_the_same_in_composed_and_decomposed_unicode() -> None:
    composed, decomposed = "n\u00e3o", "na\u0303o"
    for reader in ('"exact"', '"label"', '"label_in_text"', '{"regex": "^(.*)$"}'):
        assert read_answer(decomposed, reader, ("sim", composed)).label == composed
        assert read_answer(composed, reader, ("sim", decomposed)).label == decomposed


@pytest.mark.parametrize(
    "said",
    [
        *(
            "True",
            "TRUE.",
            "true\u3002",
            "'True'",
            "\u201ctrue\u201d",
            "\u300ctrue\u300d",
            "**True**",
            "**True.**",
            "**True**.",
        ),
        *(
            "`true`",
            "```\ntrue\n```",
            "```text\nTrue\n```",
            "# True",
            "- true",
            "* **True**",
            "> true",
            "(True)",
            "Label: true",
        ),
        *(
            "**Answer:** True",
            "**Answer: True**",
            "Answer: **True**",
            "The answer: true.",
            "\uff34\uff52\uff55\uff45",
            "true</s>",
        ),
        *(
            "True\n\nThe passage says so, and is not false.",
            "It says so.\n\nTrue",
            "\u7b54\u6848\uff1aTrue",
            "\u200btrue",
            *(
                "„True“",
                "„True”",
                "»True«",
                "«True»",
                "›true‹",
                "‚true‘",
                "”True”",
                "’true’",
                "´true´",
                "„True.“",
                "¡True!",
            ),
        ),
    ],
)
def test_label_reads_the_label_alone_whatever_stands_around_it(said: str) -> None:
    assert read_answer(said, '"label"', WORDS).label == "true"


@pytest.mark.parametrize(
    "said",
    ["It is true", "40 true", "1. true", "true false", "true\nfalse", "untrue", "true?", "sure", "", "- true\n- false"],
)
def test_label_reads_no_more_than_that(said: str) -> None:
    assert read_answer(said, '"label"', WORDS).label is None


POINTS = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("said", "labels", "label"),
    [
        ("US", ("US", "us"), "US"),
        ("us.", ("US", "us"), "us"),
        ("Us", ("US", "us"), None),
        ("yes.", ("yes", "yes."), "yes."),
        ("**yes.**", ("yes", "yes."), "yes."),
        ("Yes.", ("yes", "yes."), None),
        ("Us\nUS", ("US", "us"), None),
        ("c++.", ("C", "C++"), "C++"),
        ("HAYIR", ("evet", "hay\u0131r"), "hay\u0131r"),
        ("STRASSE", ("stra\u00dfe", "weg"), "stra\u00dfe"),
        ("Far\u2011Left", ("far-left", "far-right"), "far-left"),
        ("doesn\u2019t apply", ("doesn't apply", "applies"), "doesn't apply"),
        ("**Environment**", ("40 Environment", "Environment"), "Environment"),
        ("- 1", STANCES, None),
        ("+1", STANCES, "1"),
        ("Stance: -1", STANCES, "-1"),
        ("Rating: 4", POINTS, "4"),
        ("Score: 3", POINTS, "3"),
        ("Klasse: 3", POINTS, "3"),
        ("Clasificaci\u00f3n: 3", POINTS, "3"),
        ("\u2022 1", POINTS, "1"),
        ("* 1", POINTS, "1"),
        ("* 1\n* 2", POINTS, None),
        ("4.0", POINTS, "4"),
        ("4.5", POINTS, None),
        ("1,000", POINTS, None),
        ("1.000", POINTS, None),
        ("0,5", ("0", "0.5", "1"), "0.5"),
        ("positive \u2705", ("positive", "negative"), "positive"),
        ("\U0001f60a **Positive**", ("positive", "negative"), "positive"),
        ("\u274c positive", ("positive", "negative"), None),
        ("\u2796 1", STANCES, "-1"),
    ],
)
def test_label_tells_labels_apart_or_reads_none(said: str, labels: tuple[str, ...], label: str | None) -> None:
    assert read_answer(said, '"label"', labels).label == label


ENTAILS, HATE = ("entailment", "not_entailment"), ("hate", "not hate")


@pytest.mark.parametrize(
    ("said", "labels", "label"),
    [
        ("Not entailment", ENTAILS, "not_entailment"),
        ("not-entailment", ENTAILS, "not_entailment"),
        ("not\\_entailment", ENTAILS, "not_entailment"),
        ("**Not_Entailment**", ENTAILS, "not_entailment"),
        ("Entailment", ENTAILS, "entailment"),
        ("not-hate", HATE, "not hate"),
        ("not_hate", HATE, "not hate"),
        ("Very Positive", ("positive", "very_positive"), "very_positive"),
        ("Class 2", ("class_1", "class_2"), "class_2"),
        ("not_hate", ("hate", "other"), None),
        ("Not-hate", ("not hate", "not-hate"), "not-hate"),
        ("class-1", ("class 1", "class -1"), None),
    ],
)
def test_words_are_the_same_however_they_are_joined(said: str, labels: tuple[str, ...], label: str | None) -> None:
    for reader in ('"label"', '"label_in_text"'):
        assert read_answer(said, reader, labels).label == label, reader


@pytest.mark.parametrize(
    ("said", "labels", "label"),
    [
        ("这段话是正面评价。", ("正面", "负面"), "正面"),
        ("我认为是负面的", ("正面", "负面"), "负面"),
        ("情感为负面", ("正面", "负面"), "负面"),
        ("正面或负面", ("正面", "负面"), None),
        ("我很不满意", ("满意", "一般"), None),  # dissatisfied is not satisfied
        ("不满意", ("满意", "不满意"), "不满意"),
        ("不是正面", ("正面", "负面"), None),
        ("这不是正面，而是负面。", ("正面", "负面"), "负面"),
        ("并非正面", ("正面", "负面"), None),
        ("不能说是正面", ("正面", "负面"), None),
        ("不算“正面”", ("正面", "负面"), None),
        ("不是 positive", ("positive", "negative"), None),
        ("不是对", ("对", "错"), None),
        ("肯定的ではありません", ("肯定的", "否定的"), None),
        ("「肯定的」ではない", ("肯定的", "否定的"), None),
        ("ポジティブとは言えません", ("ポジティブ", "ネガティブ"), None),
        ("긍정이 아닙니다", ("긍정", "부정"), None),
        ("긍정적이지 않습니다", ("긍정", "부정"), None),
        ("긍정이 아니라 부정입니다", ("긍정", "부정"), "부정"),
        ("positive가 아닙니다", ("positive", "negative"), None),
        ("예 아니오", ("예", "아니오"), None),
        ("아니오", ("예", "아니오"), "아니오"),
        ("对于这个问题", ("对", "错"), None),  # of one character, part of other words
        ("答案是对", ("对", "错"), "对"),
        ("是的，没错。", ("是", "否"), "是"),
        ("答案：否", ("是", "否"), "否"),
        ("情感是positive的", ("positive", "negative"), "positive"),
        ("答案是10", ("1", "10"), "10"),
        ("この文は肯定的です。", ("肯定的", "否定的"), "肯定的"),
        ("ポジティブな文章です", ("ポジティブ", "ネガティブ"), "ポジティブ"),
        ("ノートです", ("ノー", "イエス"), None),  # a notebook
        ("ﾎﾟｼﾞﾃｨﾌﾞ", ("ポジティブ", "ネガティブ"), "ポジティブ"),
        ("이 글은 긍정적인 글입니다", ("긍정", "부정"), "긍정"),
        ("감정은 부정입니다.", ("긍정", "부정"), "부정"),
        ("불만족", ("만족", "보통"), None),
        ("부정확합니다", ("긍정", "부정"), None),  # inaccurate
        ("예를 들어", ("예", "아니오"), None),  # for example
        ("예, 맞습니다", ("예", "아니오"), "예"),
        ("ข้อความนี้เป็นเชิงบวก", ("เชิงบวก", "เชิงลบ"), "เชิงบวก"),
        ("ไม่ใช่", ("ใช่", "อาจจะ"), None),
        ("सकारात्मक", ("सकार", "नकार"), None),
        ("यह सकारात्मक है।", ("सकारात्मक", "नकारात्मक"), "सकारात्मक"),
        ("0.5", ("0", "1"), None),
        ("Score: -1", ("0", "1"), None),
        ("Score: \u22121", STANCES, "-1"),
        ("I say us.", ("US", "us"), "us"),
    ],
)
def test_label_in_text_knows_where_words_end_in_any_script(
    said: str, labels: tuple[str, ...], label: str | None
) -> None:
    assert read_answer(said, '"label_in_text"', labels).label == label


@pytest.mark.parametrize(
    ("reader", "piece"),
    [
        ('"label"', "a\n"),
        ('"label"', "("),
        ('"label_in_text"', "正面"),
        ('"label_in_text"', "\ufdfa"),
        ('"label_in_text"', "1 "),
        ('"first_integer"', "\u2212"),
    ],
)
def test_a_hostile_completion_is_over_at_once(piece: str, reader: str) -> None:
    completion = piece * (300_000 // len(piece))
    started = time.process_time()
    read_answer(completion, reader, (*WORDS, *STANCES, "正面", "负面"))
    assert time.process_time() - started < 2


def test_blank_is_not_a_refusal() -> None:
    assert read_answer(" \n\t", '"exact"', LABELS, ".*")[:4] == (None, True, False, False)


def test_a_refusal_is_an_answer_that_could_not_be_read() -> None:
    assert read_answer("I cannot help with that.", '"exact"', LABELS, "(?i)cannot help").is_refusal
    assert not read_answer("left", '"exact"', LABELS, "left").is_refusal


def test_a_hostile_pattern_is_over_at_once() -> None:
    started = time.process_time()
    read_answer("a" * 200_000 + "!", json.dumps({"regex": "(a+)+$"}), LABELS)
    assert time.process_time() - started < 2


@given(st.text(), st.sampled_from(['"exact"', '"label"', '"first_integer"', '"label_in_text"', REGEX, FIELD]))
def test_whatever_is_said_it_is_a_label_or_none(completion: str, reader: str) -> None:
    reading = read_answer(completion, reader, LABELS, "sorry")
    assert reading.label is None or reading.label in LABELS
    answer, is_cut = parted(completion)[1:]
    assert reading.is_blank == (not answer.strip() and not is_cut)
