"""A task of a person's data: by options, by a conversation that fills in the same, and at a real terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from promptaudit.cards.check_cards import check_cards
from promptaudit.cards.new_task import TaskRequest, converse, scale_of, task_of
from promptaudit.registry import extras
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.registry.registry import load_registry
from tests.support.shell import environment, promptaudit

MODEL = ("--url", "http://127.0.0.1:9/v1", "--model", "small")
REVIEWS = "nr,said,stars,mood\n" + "".join(f"{n},what they said {n},{1 + n % 5},{'ab'[n % 2]}\n" for n in range(20))
FACTS = "".join(f'{{"qid": "q{n}", "question": "Who is {n}?", "answer": "Ada {n}"}}\n' for n in range(8))


def cards(folder: Path, kind: str, name: str = "mine") -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((folder / f"registry/{kind}/{name}.yml").read_text(encoding="utf-8"))
    return loaded


def answering(*answers: str) -> tuple[Any, list[str]]:
    """Answers in turn, then with Enter, and keeps the questions."""
    left, asked = list(answers), list[str]()

    def ask(question: str, usual: str) -> str:
        asked.append(question)
        return (left.pop(0) if left else "") or usual

    return ask, asked


def test_enter_takes_what_was_guessed(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    request, lines = TaskRequest(data=tmp_path / "d.csv"), list[str]()
    ask, asked = answering()
    done = converse(request, ask, lines.append, "tasks/mine.yml")
    assert done == request
    assert lines == ["d.csv: 20 rows; input 'said', gold label 'mood', id 'nr'; labels: a, b"]
    assert [each.split(",")[0] for each in asked] == ["is that right", "your instruction", "the address of your model"]


def test_a_file_that_cannot_be_read_is_not_asked_about(tmp_path: Path) -> None:
    ask, asked = answering()
    with pytest.raises(DataError, match=r"d\.csv"):
        converse(TaskRequest(data=tmp_path / "d.csv"), ask, lambda _: None, "tasks/mine.yml")
    assert asked == []


def test_an_answer_that_does_not_fit_is_not_offered_again(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    ask, _ = answering("no", "", "", "moood")  # Enter after Enter leads on
    assert converse(TaskRequest(data=tmp_path / "d.csv"), ask, lambda _: None, "tasks/mine.yml").gold == "mood"


@pytest.mark.parametrize("gold", [None, "moved"])
def test_labels_that_are_given_stand_for_those_of_the_data_or_are_named(tmp_path: Path, gold: str | None) -> None:
    rows = "".join(f"T{n},what they said {n},{['FALSE', 'TRUE'][n % 2]}\n" for n in range(20))
    (tmp_path / "d.csv").write_text(f"nr,said,moved\n{rows}", encoding="utf-8")
    request = TaskRequest(data=tmp_path / "d.csv", gold=gold, labels="yes,no", instruction="Did they move?")
    columns, _ = task_of(request, "tasks/mine.yml")
    assert (columns.gold_label, columns.labels) == ("moved", ("yes", "no"))
    assert columns.gold_labels == {"FALSE": "no", "TRUE": "yes"}
    assert columns.notes[-1].endswith(
        "'FALSE' for 'no' and 'TRUE' for 'yes' (gold_labels in tasks/mine.yml); check the direction"
    )
    other = replace(request, labels="spam,ham")
    if gold is None:
        columns, _ = task_of(other, "tasks/mine.yml")
        assert columns.gold_label is None
        assert "no gold label: column 'moved' holds 'FALSE', 'TRUE', which are not these labels" in columns.notes
    else:
        with pytest.raises(UsageError, match="--labels: column 'moved' also holds 'FALSE'"):
            task_of(other, "tasks/mine.yml")


@pytest.mark.parametrize(
    ("instruction", "is_said"),
    [
        ("Classify the news text as World, Sports, Business, or Sci/Tech.", True),
        ("Categories: (World), (Sports), (Business), (Tech)", True),
        (None, False),
        ("Rate it from 0 to 3.", False),
        ("Answer 0 for world, 1 for sports, 2 for business and 3 for tech.", False),
    ],
)
def test_numbers_that_the_prompt_does_not_explain_are_named(
    tmp_path: Path, instruction: str | None, is_said: bool
) -> None:
    rows = "".join(f"{n},what they said {n},{n % 4}\n" for n in range(40))
    (tmp_path / "d.csv").write_text(f"nr,said,label\n{rows}", encoding="utf-8")
    columns, _ = task_of(TaskRequest(data=tmp_path / "d.csv", instruction=instruction), "tasks/mine.yml")
    line = "the labels are the numbers 0, 1, 2, 3, and the prompt says of none what it stands for"
    assert any(note.startswith(line) for note in columns.notes) == is_said


def test_a_conversation_fills_in_what_options_say(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    ask, asked = answering(
        "no", "", "said", "starz", "", "", "", "stars", "-", "", "Rate it from 1 to 5.", "http://h/v1", "m"
    )
    lines = list[str]()
    done = converse(TaskRequest(data=tmp_path / "d.csv"), ask, lines.append, "tasks/mine.yml")
    assert "UsageError: --gold: no column is called 'starz'; nearest: stars" in lines
    assert len(asked) == 13
    by_options = TaskRequest(
        data=tmp_path / "d.csv",
        kind="classification",
        input="said",
        gold="stars",
        id="-",
        instruction="Rate it from 1 to 5.",
        url="http://h/v1",
        model="m",
    )
    assert done == by_options
    assert task_of(done, "tasks/mine.yml")[0].labels == ("1", "2", "3", "4", "5")


def test_what_options_said_is_not_asked_and_nobody_at_all_ends_it(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    ask, asked = answering()
    request = TaskRequest(data=tmp_path / "d.csv", instruction="Judge it.", url="http://h/v1", model="m")
    assert converse(request, ask, lambda _: None, "tasks/mine.yml") == request
    assert len(asked) == 1
    with pytest.raises(UsageError, match="--gold: no column is called 'lost'"):
        converse(TaskRequest(data=tmp_path / "d.csv", gold="lost"), answering()[0], lambda _: None, "tasks/mine.yml")


def test_what_is_neither_yes_nor_no_nor_an_address_is_asked_again_and_labels_stay(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    ask, asked = answering("nein", "id is x", "no", "", "", "", "", "", "yes", "Judge it.", "h/v1", "http://h/v1", "m")
    lines = list[str]()
    done = converse(TaskRequest(data=tmp_path / "d.csv", labels="a,b,c"), ask, lines.append, "tasks/mine.yml")
    assert [line for line in lines if "neither" in line or "--url" in line] == [
        "'nein' is neither yes nor no; no asks for each column",
        "'id is x' is neither yes nor no; no asks for each column",
        "UsageError: --url 'h/v1': not an http or https address such as http://127.0.0.1:8000/v1",
    ]
    assert (done.labels, done.gold, done.url, done.model, len(asked)) == ("a,b,c", "mood", "http://h/v1", "m", 13)


@pytest.mark.slow
def test_at_a_terminal_it_asks_and_enter_takes_the_default(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        command = [sys.executable, "-m", "promptaudit.cli", "init", "--data", "d.csv"]
        os.execvpe(command[0], command, environment())  # noqa: S606 - a shell would be between it and the terminal
    shown, answers, until = "", [b"\n", b"Judge the mood: a or b?\n", b"\n"], time.monotonic() + 60
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            shown += os.read(terminal, 4096).decode()
        except OSError:  # it ended
            break
        if shown.endswith("] ") and answers:
            os.write(terminal, answers.pop(0))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    assert "d.csv: 20 rows; input 'said', gold label 'mood'" in shown
    assert "is that right, yes or no [yes] " in shown
    assert cards(tmp_path, "tasks")["my_task"]["instruction"] == "Judge the mood: a or b?"


def test_truth_of_the_data_stands_for_the_words_of_the_prompt(tmp_path: Path) -> None:
    rows = "".join(f"T{n},is it {n},{['FALSE', 'TRUE'][n % 2]}\n" for n in range(8))
    (tmp_path / "d.csv").write_text(f"id,text,urgent\n{rows}", encoding="utf-8")
    made = promptaudit(tmp_path, "init", "--data", "d.csv", "--instruction", "Is it urgent? Answer yes or no.")
    assert "the prompt asks for 'yes' or 'no', and the data says 'FALSE' for 'no' and 'TRUE' for 'yes'" in made.out
    assert "(gold_labels in tasks/mine.yml); check the direction\n" in made.out
    task = cards(tmp_path, "tasks")["my_task"]
    assert (task["labels"], task["data"]["gold_labels"]) == (["no", "yes"], {"FALSE": "no", "TRUE": "yes"})
    assert promptaudit(tmp_path, "validate", "mine").out == "audit 'mine' is sound\n"


def test_numbers_under_names_are_told_by_init_and_by_validate(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(
        "id,text,label\n" + "".join(f"{n},t {n},{n % 2}\n" for n in range(8)), encoding="utf-8"
    )
    made = promptaudit(tmp_path, "init", "--data", "d.csv", "--instruction", "Say whether it is bad or good.")
    line = "the prompt asks for 'bad' or 'good', and the labels are '0', '1': an answer as asked would be no label; in"
    assert line in made.out
    assert f"tasks/mine.yml line 4: {line}" in promptaudit(tmp_path, "validate", "mine").out


def test_a_scale_that_the_prompt_names_is_one_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    for place, (instruction, level) in enumerate(
        (
            ("Rate it from 1 to 5.", "interval"),
            ("Bewerte es auf einer Skala von 1 bis 5.", "interval"),
            ("Rate it.", None),
        )
    ):
        ended = promptaudit(
            tmp_path, "init", "--data", "d.csv", "--gold", "stars", "--instruction", instruction, "--name", f"n{place}"
        )
        task = cards(tmp_path, "tasks", f"n{place}")[f"n{place}"]
        assert (task["labels"], task.get("level")) == (["1", "2", "3", "4", "5"], level), ended.err


@pytest.mark.parametrize(
    ("instruction", "labels", "scale"),
    [
        ("Rate the text from 1 to 5.", "1245", "12345"),
        ("Rate it from 5 to 1.", "234 5", "12345"),
        ("Rate (0-3)", "0123", "0123"),
        ("Summarize in 1 to 50 words", "123", ""),
        ("Between 2019 and 2024 reviews", ("2020", "2021", "2022"), ""),
        ("Topics 1-20", ("3", "7", "12"), ""),
    ],
)
def test_a_range_is_a_scale_where_labels_fill_it(instruction: str, labels: tuple[str, ...], scale: str) -> None:
    assert "".join(scale_of(instruction, tuple(each for each in labels if each != " "))) == scale


def test_the_whole_scale_of_the_prompt_is_written(tmp_path: Path) -> None:
    rows = "".join(f"q{n},some text {n},{'1245'[n % 4]}\n" for n in range(12))
    (tmp_path / "d.csv").write_text(f"id,text,rating\n{rows}", encoding="utf-8")
    made = promptaudit(tmp_path, "init", "--data", "d.csv", "--instruction", "Rate the text from 1 to 5.")
    assert "the prompt's scale has 3 too, which the data lacks" in made.out
    task = cards(tmp_path, "tasks")["my_task"]
    assert (task["labels"], task["level"]) == (["1", "2", "3", "4", "5"], "interval")


def test_a_named_gold_column_is_kept_where_a_prompt_names_fields(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    prompt = 'Reply in JSON: {"stars": 1, "mood": "a"}'
    found, _ = task_of(TaskRequest(data=tmp_path / "d.csv", gold="mood", instruction=prompt), "tasks/mine.yml")
    assert (found.kind, found.gold_label) == ("classification", "mood")


def test_data_in_the_folder_of_cards_is_neither_copied_nor_lost(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    promptaudit(tmp_path, "init", "--data", "d.csv")
    own, other = (tmp_path / f"registry/datasets/{name}.csv" for name in ("own", "other"))
    own.write_text(REVIEWS, encoding="utf-8")
    other.write_text("another task's\n", encoding="utf-8")
    bad = promptaudit(tmp_path, "init", "--data", str(own), "--name", "own", "--url", "http://h/v1", "--model", "")
    assert (bad.code, own.read_text(encoding="utf-8")) == (2, REVIEWS)
    made = promptaudit(tmp_path, "init", "--data", str(own), "--name", "own")
    assert (made.code, own.read_text(encoding="utf-8")) == (0, REVIEWS)
    assert check_cards(load_registry([tmp_path / "registry"]), "own")["summary"] == "audit 'own' is sound"
    refused = promptaudit(tmp_path, "init", "--data", "d.csv", "--name", "other")
    assert refused.one_line().startswith(
        "UsageError: --name: registry/datasets/other.csv is there already; --name NAME"
    )
    assert other.read_text(encoding="utf-8") == "another task's\n"


def test_beside_other_cards_the_first_audit_has_its_rephraser(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    (tmp_path / "registry/rephrasers").mkdir(parents=True)
    (tmp_path / "registry/rephrasers/own.yml").write_text("own: {kind: rules}\n", encoding="utf-8")
    made = promptaudit(tmp_path, "init", "--data", "d.csv")
    assert made.code == 0, made.err
    assert cards(tmp_path, "rephrasers") == {"my_rephraser": {"kind": "rules"}}
    assert promptaudit(tmp_path, "validate", "mine").out == "audit 'mine' is sound\n"


def test_an_audit_with_a_name_has_no_other_beside_it(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    assert promptaudit(tmp_path, "init", "--data", "d.csv", "--name", "shop").code == 0
    assert [*cards(tmp_path, "audits", "shop")] == ["shop"]
    named = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("mine.*")}
    assert named == {"registry/models/mine.yml"}  # the endpoints that may be asked


def test_two_prompts_in_one_folder_are_two_audits(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    promptaudit(tmp_path, "init", "--data", "d.csv", "--instruction", "Judge it.")
    before = {path: path.read_bytes() for path in (tmp_path / "registry").rglob("*") if path.is_file()}
    again = promptaudit(tmp_path, "init", "--data", "d.csv")
    assert (again.code, again.one_line()) == (
        2,
        "UsageError: --name: registry has an audit or a task 'mine' already; --name NAME adds another beside it",
    )
    other = promptaudit(tmp_path, "init", "--data", "d.csv", "--gold", "stars", "--name", "other", *MODEL)
    assert other.out.splitlines()[-1] == "next: promptaudit run other"
    assert before == {path: path.read_bytes() for path in before}
    registry = load_registry([tmp_path / "registry"])
    for audit, task, models in (("mine", "my_task", ("lexical", "random")), ("other", "other", ("other_model",))):
        assert (registry.audit(audit).tasks, registry.audit(audit).models) == ((task,), models)
        assert check_cards(registry, audit)["summary"] == f"audit '{audit}' is sound"
    for name, line in (
        ("quickstart", "has an audit or a task 'quickstart' already"),
        ("a/b", "--name 'a/b': letters, digits, _ and -"),
    ):
        assert line in promptaudit(tmp_path, "init", "--data", "d.csv", "--name", name).one_line()
    bad = promptaudit(tmp_path, "init", "--data", "d.csv", "--name", "third", "--url", "http://h/v1", "--model", "")
    assert bad.code == 2
    assert not list((tmp_path / "registry").rglob("third*"))


@pytest.mark.parametrize(
    ("answers", "scoring", "threshold", "has_judge"),
    [
        (["Paris", "Rome"], ["token_f1"], 0.5, False),
        (["12", "1,234.5"], ["number"], None, False),
        (
            ["It is far, since the road is long.", "Because the light of the sun is scattered."],
            ["token_f1"],
            None,
            True,
        ),
        (None, ["token_f1"], None, True),
    ],
)
def test_open_questions_get_templates_a_rule_and_where_they_need_one_a_judge(
    tmp_path: Path, answers: list[str] | None, scoring: list[str], threshold: float | None, has_judge: bool
) -> None:
    rows = [{"qid": f"q{n}", "question": f"Who {n}?", **({"answer": answers[n]} if answers else {})} for n in range(2)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    made = promptaudit(tmp_path, "init", "--data", "d.jsonl", *MODEL)
    assert made.code == 0, made.err
    task = cards(tmp_path, "tasks")["my_task"]
    assert (task["kind"], task["scoring"], task.get("token_f1_threshold")) == ("open_ended", scoring, threshold)
    assert task["data"].get("references") == (["answer"] if answers else None)
    audit = load_registry([tmp_path / "registry"]).audit("mine")
    assert audit.judges == (("my_judge",) if has_judge else ())
    assert cards(tmp_path, "models")["my_model"]["sampling"]["max_tokens"] == (512 if has_judge else 64)
    if has_judge:
        assert cards(tmp_path, "judges")["my_judge"].get("references") == (None if answers else "none")
    assert promptaudit(tmp_path, "validate", "mine").out.endswith("audit 'mine' is sound\n")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--kind", "extraction"), "--kind extraction: --fields a,b,c names the fields of its answers"),
        (("--kind", "classification", "--fields", "stars"), "--kind classification: it has no --fields"),
        (("--kind", "open_ended", "--labels", "a,b"), "--kind open_ended: it has no --labels"),
        (
            ("--gold", "mood", "--fields", "stars,mood"),
            "--gold and --fields: the column of a field holds its gold value, so give one of the two",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path: Path, options: tuple[str, ...], line: str) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    ended = promptaudit(tmp_path, "init", "--data", "d.csv", *options)
    assert (ended.code, ended.one_line()) == (2, f"UsageError: {line}")


def test_another_model_may_judge_open_answers(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"question": "Why?"}\n{"question": "Who?"}\n', encoding="utf-8")
    ask, asked = answering("yes", "", "http://127.0.0.1:1/v1", "small", "large")
    request = converse(TaskRequest(data=tmp_path / "d.jsonl"), ask, lambda _: None, "tasks/mine.yml")
    assert (request.model, request.judge) == ("small", "large")
    assert asked[-1] == "the name of the model there that judges its answers"
    own, _ = answering("yes", "", "http://127.0.0.1:1/v1", "small")  # Enter takes the audited model
    assert converse(TaskRequest(data=tmp_path / "d.jsonl"), own, lambda _: None, "tasks/mine.yml").judge is None
    made = promptaudit(tmp_path, "init", "--data", "d.jsonl", *MODEL, "--judge", "large")
    assert "'my_judge' judges with large" in made.out, made.err
    models = cards(tmp_path, "models")
    assert (models["my_judge_model"]["model"], models["my_model"]["model"]) == ("large", MODEL[-1])
    assert cards(tmp_path, "judges")["my_judge"]["model"] == "my_judge_model"
    assert promptaudit(tmp_path, "validate", "mine").out.endswith("audit 'mine' is sound\n")


def test_a_judge_without_a_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    refused = promptaudit(tmp_path, "init", "--data", "d.csv", *MODEL, "--judge", "large")
    wanted = "UsageError: --judge: only open questions have one, with long references or none"
    assert (refused.code, refused.one_line()) == (2, wanted)


def test_open_questions_without_answers_need_a_model(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"question": "Why?"}\n{"question": "Who?"}\n', encoding="utf-8")
    ended = promptaudit(tmp_path, "init", "--data", "d.jsonl")
    assert (ended.code, ended.one_line()[:59]) == (2, "UsageError: --gold: no column has reference answers, so no ")
    assert not (tmp_path / "registry").exists()
    promptaudit(tmp_path, "init", "--data", "d.jsonl", *MODEL)
    audit = tmp_path / "registry/audits/mine.yml"
    audit.write_text(audit.read_text(encoding="utf-8").replace("judges: [my_judge]\n", ""), encoding="utf-8")
    assert "data names no references, so no rule scores the answers" in promptaudit(tmp_path, "plan", "mine").one_line()


def test_a_chat_of_open_questions_is_a_template(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(FACTS, encoding="utf-8")
    chat = [{"role": "system", "content": "You know people."}, {"role": "user", "content": "Q: {{question}}\nA:"}]
    (tmp_path / "p.json").write_text(json.dumps(chat), encoding="utf-8")
    promptaudit(tmp_path, "init", "--data", "d.jsonl", "--messages", "p.json")
    (template,) = cards(tmp_path, "templates")["my_task"]["templates"]
    assert template == {"system": "You know people.", "text": "Q: {question}\nA:"}
    (tmp_path / "p.json").write_text(json.dumps([*chat, chat[1]]), encoding="utf-8")
    refused = promptaudit(tmp_path, "init", "again", "--data", "d.jsonl", "--messages", "p.json")
    assert "p.json: a task of kind open_ended has one user turn" in refused.one_line()


def test_a_language_without_rules_is_reworded_by_the_model_or_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(REVIEWS, encoding="utf-8")
    words = ("init", "--data", "d.csv", "--instruction", "Decidi se la recensione è positiva o negativa.")
    refused = promptaudit(tmp_path, *words)
    assert (refused.code, "it is in Italian" in refused.one_line()) == (2, True)
    assert "--url and --model write one" in refused.one_line()
    made = promptaudit(tmp_path, *words, *MODEL)
    assert "the prompt is in Italian, which no rules reword: your model rewords it (my_model_rephraser)" in made.out
    assert promptaudit(tmp_path, "validate", "mine").out.endswith("audit 'mine' is sound\n")


def test_a_spreadsheet_is_read_by_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = openpyxl.Workbook()
    for row in [("id", "text", "good"), *((f"m{n}", f"t {n}", n % 2 == 0) for n in range(6))]:
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    made = promptaudit(tmp_path, "init", "--data", "d.xlsx", "--instruction", "Is it good? Answer yes or no.")
    assert "'TRUE' for 'yes' and 'FALSE' for 'no'" in made.out
    assert promptaudit(tmp_path, "validate", "mine").out == "audit 'mine' is sound\n"
    monkeypatch.setitem(extras.MODULES, "xlsx", "no_such_module_of_spreadsheets")
    missing = promptaudit(tmp_path, "init", "other", "--data", "d.xlsx")
    assert missing.one_line().endswith("needs the extra `xlsx`: python -m pip install 'promptaudit[xlsx]'")
