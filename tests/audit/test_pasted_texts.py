"""Texts as people paste them: what `validate` calls sound is sent byte for byte, and what is not sent is named."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_audit import AUDIT, ask, have_judged
from tests.support.openai_server import running_server
from tests.support.shell import promptaudit

KEY = "sk-test-0123456789abcdef"
LABELS = ("Number", "Location", "Person")
SYSTEM = "You sort texts into classes.  "
USER = "{instruction}\nWrite one word, the class.\nThe classes are: Number, Location, and Person.\nThis is the text: {input}"
ORIGINAL = (
    'Sort the texts by what they ask for: a "Number", a Location, or a Person.  \n(Ignore {braces of code: [1, 2]}.)'
)
REWORDINGS = (
    "Of which kind is the answer: a numerical value, a place, or a human being?",
    "  Two blanks before, one after: what is asked for? ",
    "Several lines:\n\n- a figure,\n- a place\t(with a tab),\n- someone.\n",
    'Answer as a dict would: {"kind": "Number"} or {\'kind\': "Person"} or {{}}.',
    "Où, qui, combien ? Classez « le texte » selon ce que l'on cherche…",
    "将问题分类为数字、地点或人物。",
    "Say \"Number\", 'Location' or `Person`; \\n is no new line here, %s no value and $x no price.",
    "1) Read it.\r\n2) Decide: Number / Location / Person.",
    "Classify!",
)
TEXTS = ("How many {input} are there?", 'Who said "{instruction}"?', "Where is São Tomé?  ", "two\nlines {{x}}")
TEMPLATES: tuple[dict[str, Any], ...] = (
    {
        "text": "{question}\n{options}\nReply as {'answer': 'X'} or {\"answer\": \"X\"}, with X one of the signs. ",
        "enumerators": ["(α)", "(β)", "(γ)"],
        "option": "{enumerator} {option}",
        "between": " | ",
        "answer": "{'answer': '{enumerator}'}",
    },
    {
        "system": "Return only a dict.\n",
        "text": "Q: {question}\n\n{options}\n\nA: ",
        "enumerators": "roman",
        "option": "\t{enumerator}- {option}",
        "answer": "{enumerator}",
    },
)
STONES = ("slate {grey}", "«marbre»", "flint ")
RUBRIC = (
    "Question: {question}\n{options}\nGround truth:\n{references}\nStudent: {completion}\n"
    "Write {'judgement': 'yes'} or {'judgement': 'no'}, and {nothing: else}."
)
REPLY = "Well: {'judgement': 'yes', 'why': \"it's right\"}"


def write(folder: Path, kind: str, cards: dict[str, Any]) -> None:
    path = folder / kind / "pasted.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(cards, ensure_ascii=False), "utf-8")


def write_registry(folder: Path, url: str, *, protect: bool = False, **audit: Any) -> Path:
    sampling = {"temperature": "0", "max_tokens": "16"}
    model = {
        "engine": "openai_api",
        "model": "small",
        "base_url": url,
        "api_key_env": "AUDIT_KEY",
        "sampling": sampling,
        "price": "free",
    }
    write(folder, "models", {"api": model})
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    sorted_texts = {
        "labels": list(LABELS),
        "instruction": ORIGINAL,
        "messages": messages,
        "labels_line": "none",
        "reader": "label_in_text",
        "output_format": "",
        "data": {"path": "texts.jsonl", "id": "id", "input": "text"},
    }
    stones = {
        "kind": "multiple_choice",
        "labels": ["A", "B", "C"],
        "templates": "pasted",
        "data": {"path": "stones.jsonl", "id": "id", "input": "text", "options": "options", "gold_label": "gold"},
    }
    write(folder, "tasks", {"texts": sorted_texts, "stones": stones})
    write(folder, "templates", {"pasted": {"kind": "multiple_choice", "templates": list(TEMPLATES)}})
    fixed = {"kind": "fixed", "variants": {"texts": list(REWORDINGS)}, "protect_labels": str(protect).lower()}
    write(folder, "rephrasers", {"printed": fixed})
    none = dict.fromkeys(("right", "wrong", "blank", "injected", "right_in_words", "wrong_in_words"), "0")
    grades = {"field": "judgement", "grades": {"yes": "true", "no": "false"}}
    write(
        folder,
        "judges",
        {"pasted": {"model": "api", "rubric": RUBRIC, "reply": grades, "tasks": ["stones"], "controls": none}},
    )
    card = {
        "tasks": ["texts", "stones"],
        "models": ["api"],
        "judges": ["pasted"],
        "repetitions": {"original": "1", "variants": "1"},
        "rephrasing": {"rephraser": "printed", "variants": str(len(REWORDINGS) + 1)},
        "samples": {"balanced": "false"},
        "format": {"max_invalid_rate_at_first": "1"},
    }
    write(folder, "audits", {AUDIT: card | audit})
    rows = [{"id": str(place), "text": text} for place, text in enumerate(TEXTS)]
    (folder / "texts.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    keyed = [row | {"options": list(STONES), "gold": "B"} for row in rows]
    (folder / "stones.jsonl").write_text("\n".join(json.dumps(row) for row in keyed))
    return folder


def expected() -> Counter[str]:
    """The messages of every request, put together here by plain replacement."""
    sent = [
        [("system", SYSTEM), ("user", USER.replace("{instruction}", wording).replace("text: {input}", f"text: {text}"))]
        for wording in (ORIGINAL, *REWORDINGS)
        for text in TEXTS
    ]
    for template, signs in zip(TEMPLATES, (("(α)", "(β)", "(γ)"), ("i", "ii", "iii")), strict=True):
        written = [
            template["option"].replace("{enumerator}", sign).replace("{option}", stone)
            for sign, stone in zip(signs, STONES, strict=True)
        ]
        before, _, after = template["text"].partition("{question}")
        after = after.replace("{options}", template.get("between", "\n").join(written))
        system = [("system", template["system"])] if "system" in template else []
        sent += [[*system, ("user", f"{before}{text}{after}")] for text in TEXTS]
    return Counter(json.dumps(messages) for messages in sent)


def test_what_is_sound_is_sent_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", KEY)
    with running_server(completion=REPLY) as server:
        registry = write_registry(tmp_path / "registry", server.base_url)
        checked = promptaudit(tmp_path, "validate", AUDIT)
        *notes, summary = checked.out.splitlines()
        assert (checked.code, summary, checked.err) == (0, f"audit '{AUDIT}' is sound", ""), checked.err
        assert sum(note.startswith("task 'stones': its templates are asked as they stand") for note in notes) == 1
        ask(tmp_path / "audit.duckdb", registry)
        bodies = [request["body"] for request in server.requests()]
        sent = Counter(json.dumps([(m["role"], m["content"]) for m in body["messages"]]) for body in bodies)
        assert sent == expected()
        server.reset()
        have_judged(tmp_path / "audit.duckdb", registry)
        rulings = [request["body"]["messages"][-1]["content"] for request in server.requests()]
    assert rulings
    for text in TEXTS:
        shown = [ruling for ruling in rulings if f"Question: {text}\n" in ruling]
        assert shown
        assert all("Write {'judgement': 'yes'} or {'judgement': 'no'}, and {nothing: else}." in each for each in shown)
        assert all(f"\n{REPLY}\n" in each for each in shown)


def test_what_is_not_sent_is_named_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", KEY)
    with running_server(completion="Number") as server:
        registry = write_registry(tmp_path / "registry", server.base_url, protect=True, tasks=["texts"], judges=[])
        checked = promptaudit(tmp_path, "validate", AUDIT)
        refused = [line for line in checked.out.splitlines() if "is refused: protected word" in line]
        ask(tmp_path / "audit.duckdb", registry)
        wordings = {
            request["body"]["messages"][-1]["content"].partition("\nWrite one word")[0] for request in server.requests()
        }
    assert checked.code == 0, checked.err
    named = {int(line.partition("variants.texts.")[2].partition(" ")[0]) for line in refused}
    assert wordings == {ORIGINAL, *(text for place, text in enumerate(REWORDINGS) if place not in named)}
    assert 0 < len(named) < len(REWORDINGS)
