"""What keeps an audit from running is one list: `validate`, `plan` and `run` say the same of a card."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

from promptaudit.ask.wordings.paraphrase import paraphrase
from promptaudit.cards.check_cards import check_audit
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.plan.design import design_audit
from promptaudit.registry.errors import CardError, EngineError, SeveralErrors, raise_all
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.files import write_files
from tests.support.http_audit import opened
from tests.support.shell import promptaudit

COMMANDS = ("validate", "plan", "run")
TASK = (
    "t:\n  labels: [a, b]\n  instruction: Say a or b.\n  data: {path: d.csv, id: id, input: text, gold_label: gold}\n"
)
QUIZ = (
    "q:\n  kind: multiple_choice\n  templates: asks\n"
    "  data: {path: q.csv, id: id, input: text, gold_label: gold, options: [one, two]}\n"
)
SUMS = (
    "q:\n  kind: open_ended\n  templates: asks\n  scoring: [math_equal]\n"
    "  data: {path: q.csv, id: id, input: text, references: [gold]}\n"
)
INVOICES = (
    "t:\n  kind: extraction\n  instruction: Extract it.\n  fields:\n    total: number\n    day: date\n"
    "    coin: {rule: one_of, values: [EUR, USD]}\n  data: {path: i.csv, id: id, input: text}\n"
)
ROWS = "id,text,total,day,coin\ni1,one,1,2024-03-05,eur\ni2,two,2,,USD\n"
API = "m:\n  engine: openai_api\n  model: small\n  api_key_env: AUDIT_KEY\n"
RULES = "models: [lexical]\n  rephrasing: {rephraser: rules, variants: 3}"
REWORDED = "a: {tasks: [t], models: [lexical], rephrasing: {rephraser: listed, variants: 3}}\n"


def audit(fields: str = "models: [lexical]", tasks: str = "t") -> dict[str, str]:
    return {"audits/a.yml": f"a:\n  tasks: [{tasks}]\n  {fields}\n"}


def model(card: str, fields: str = "models: [m]") -> dict[str, str]:
    return {"models/m.yml": card, **audit(fields)}


OF_FIELDS = audit("models: [swayed]")
OF_CARDS: dict[str, tuple[dict[str, str], str]] = {
    "an expectation of a column that the summary lacks": (
        {
            **audit("models: [lexical]\n  format: {expectations: checks/mine.json}"),
            "checks/mine.json": json.dumps(
                {"expectations": [{"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "errors"}}]}
            ),
        },
        (
            "CardError: audits/a.yml line 4: checks/mine.json expectation 1: expect_column_values_to_not_be_null: the summary "
            "has no column 'errors'; nearest: error_rate"
        ),
    ),
    "a reference that is no pattern": (
        {
            **OF_FIELDS,
            "tasks/t.yml": (
                "t:\n  kind: open_ended\n  templates: o\n  scoring: regex\n"
                "  data: {path: i.csv, input: text, references: coin}\n"
            ),
            "templates/o.yml": "o:\n  kind: open_ended\n  templates: ['{question}']\n",
            "i.csv": ROWS.replace("eur", "(eur"),
        },
        "CardError: tasks/t.yml line 4: i.csv sample '0': the reference '(eur' is not an RE2 pattern: missing ): (eur",
    ),
    "a field without a rule of its own": (
        {"tasks/t.yml": INVOICES.replace("total: number", "total: decimal")},
        (
            "CardError: tasks/t.yml line 5: fields.total.rule: Input should be 'exact', 'number', 'date', "
            "'one_of' or 'token_f1', found 'decimal'"
        ),
    ),
    "a choice of no values": (
        {"tasks/t.yml": INVOICES.replace(", values: [EUR, USD]", "")},
        "CardError: tasks/t.yml line 7: fields.coin: values are of the rule one_of, which needs them",
    ),
    "a choice of values that are read as one": (
        {**OF_FIELDS, "tasks/t.yml": INVOICES.replace("EUR, USD", "EUR, USD, EU, '\uff25\uff35'"), "i.csv": ROWS},
        "CardError: tasks/t.yml line 7: fields.coin: value '\uff25\uff35' is read as another of its values",
    ),
    "a text that is right whatever it says": (
        {"tasks/t.yml": INVOICES.replace("{rule: one_of, values: [EUR, USD]}", "{rule: token_f1, at_least: 0}")},
        "CardError: tasks/t.yml line 7: fields.coin.at_least: Input should be greater than 0, found '0'",
    ),
    "extraction without fields": (
        {"tasks/t.yml": "t:\n  kind: extraction\n  instruction: Say a.\n  data: {path: i.csv, input: text}\n"},
        "CardError: tasks/t.yml line 1: t: a task of kind extraction needs fields",
    ),
    "fields of a classification": (
        {"tasks/t.yml": TASK + "  fields: {total: number}\n"},
        "CardError: tasks/t.yml line 1: t: fields is not of a task of kind classification",
    ),
    "a gold column of fields": (
        {"tasks/t.yml": INVOICES.replace("input: text", "input: text, gold_label: coin")},
        (
            "CardError: tasks/t.yml line 1: t: data.gold_label is not of a task of kind extraction: `gold` of a "
            "field names its column"
        ),
    ),
    "a field whose column is missing": (
        {**OF_FIELDS, "tasks/t.yml": INVOICES, "i.csv": ROWS.replace("total", "Totals")},
        "DataError: tasks/t.yml line 8: task 't': i.csv: no column 'total'; nearest: Totals",
    ),
    "a gold value that is no date": (
        {**OF_FIELDS, "tasks/t.yml": INVOICES, "i.csv": ROWS.replace("2024-03-05", "05/03/2024")},
        (
            "CardError: tasks/t.yml line 6: fields.day: i.csv sample 'i1', column 'day': '05/03/2024' is no "
            "date, or may be two: write YYYY-MM-DD"
        ),
    ),
    "a gold value that is none of the values": (
        {**OF_FIELDS, "tasks/t.yml": INVOICES, "i.csv": ROWS.replace("eur", "EURO").replace("USD", "GBP")},
        (
            "CardError: tasks/t.yml line 7: fields.coin: i.csv sample 'i1', column 'coin': 'EURO' is none of its "
            "values; nearest: EUR, and 1 more"
        ),
    ),
    "a model of labels asked for fields": (
        {"tasks/t.yml": INVOICES, "i.csv": ROWS},
        (
            "CardError: models/embedded.yml line 4: 'lexical' answers with labels, which task 't' of kind "
            "extraction has none of; `examinee` answers it"
        ),
    ),
    "gold values that are lists, of a field of single values": (
        {**OF_FIELDS, "tasks/t.yml": INVOICES, "i.csv": ROWS.replace(",1,", ',"[5, 6]",').replace(",2,", ',"[]",')},
        (
            "CardError: tasks/t.yml line 5: fields.total: i.csv sample 'i1', column 'total': '[5, 6]' is a list: "
            "the field needs `list: true`, and 1 more"
        ),
    ),
    "a gate on a field that is none": (
        {
            **audit("models: [swayed]\n  gate: [accuracy >= 0.9 at field = totl]"),
            "tasks/t.yml": INVOICES,
            "i.csv": ROWS,
        },
        "CardError: audits/a.yml line 4: gate.0: audit 'a' has no field 'totl'; nearest: total",
    ),
    "an unknown field": (
        {"tasks/t.yml": TASK + "  lables: [a]\n"},
        "CardError: tasks/t.yml line 5: unknown field 'lables' of 't'; nearest: labels",
    ),
    "a pattern that does not compile": (
        {"tasks/t.yml": TASK + "  reader: {regex: '(a'}\n"},
        "CardError: tasks/t.yml line 5: reader.regex: not an RE2 pattern: missing ): (a, found '(a'",
    ),
    "a field of no name": (
        {"tasks/t.yml": TASK + "  reader: {json_field: ''}\n"},
        "CardError: tasks/t.yml line 5: reader.json_field: String should have at least 1 character, found ''",
    ),
    "a misspelt way to read": (
        {"tasks/t.yml": TASK + "  reader: {regx: a}\n"},
        "CardError: tasks/t.yml line 5: unknown field 'reader.regx' of 't'; nearest: regex",
    ),
    "a rule that cannot be read": (
        audit("models: [lexical]\n  gate: [no regresed]"),
        (
            "CardError: audits/a.yml line 4: gate.0: character 4: no verdict 'regresed'; nearest: regressed, "
            "found 'no regresed'"
        ),
    ),
    "a rule about a model that is not asked": (
        audit("models: [lexical]\n  gate: [no regressed at model_id = lexicl]"),
        "CardError: audits/a.yml line 4: gate.0: audit 'a' has no model_id 'lexicl'; nearest: lexical",
    ),
    "a schedule of four fields": (
        audit('models: [lexical]\n  schedule: "2 * * *"'),
        (
            "CardError: audits/a.yml line 4: schedule: '2 * * *' is no cron expression: Wrong number of fields; "
            "every night at two is '0 2 * * *', found '2 * * *'"
        ),
    ),
    "a model there is not": (
        audit("models: [lexcal]"),
        "UnknownCard: model 'lexcal' in audits/a.yml line 3; nearest: lexical",
    ),
    "noise of a model that is not asked": (
        audit("models: [lexical_noisy]"),
        "CardError: models/embedded.yml line {line}: 'lexical_noisy' perturbs 'lexical', which audit 'a' does not ask",
    ),
    "a schema for a model that takes none": (
        audit("models: [lexical]\n  strategies: [structured]"),
        (
            "CardError: audits/a.yml line 4: strategy 'structured' sends a JSON schema, which embedded model 'lexical' "
            "cannot follow"
        ),
    ),
    "batches to two addresses": (
        model("m:\n  engine: batch\n  model: small\n  base_url: [http://127.0.0.1:1, http://127.0.0.1:2]\n"),
        "CardError: models/m.yml line 1: m: base_url lists 2 addresses; batches go to one",
    ),
    "a budget without a price": (
        model(API, "models: [m]\n  budget: {max_usd: 1}"),
        (
            "UsageError: a budget of 1 USD, but no price of model 'm' is known; put `price` in its card (models/m.yml line 1), "
            "`price: free` for a machine of one's own"
        ),
    ),
    "a judge that gives no verdicts": (
        {"judges/j.yml": "j: {model: lexical}\n", **audit("models: [lexical]\n  judges: [j]")},
        "CardError: judges/j.yml line 1: 'lexical' gives no verdicts; of the embedded models `matcher` does",
    ),
    "a judge twice": (
        audit("models: [lexical]\n  judges: [matcher, matcher]"),
        "CardError: audits/a.yml line 1: a: judges names one thing twice",
    ),
    "a rubric that shows no answer": (
        {"judges/j.yml": "j: {model: lexical, rubric: '{question}'}\n", **audit("models: [lexical]\n  judges: [j]")},
        (
            "CardError: judges/j.yml line 1: j: rubric must use {question}, {references} and {completion}, or name in "
            "placeholders what stands for them"
        ),
    ),
    "a rubric whose placeholder nothing stands for": (
        {
            "judges/j.yml": "j: {model: lexical, rubric: '{question} {references} {completion} {reference_answer}'}\n",
            **audit("models: [lexical]\n  judges: [j]"),
        },
        (
            "CardError: judges/j.yml line 1: j: rubric uses {reference_answer}; nearest: references, or say what it stands for "
            "in placeholders"
        ),
    ),
    "a placeholder that no rubric has": (
        {
            "judges/j.yml": "j: {model: lexical, placeholders: {reference_answer: references}}\n",
            **audit("models: [lexical]\n  judges: [j]"),
        },
        (
            "CardError: judges/j.yml line 1: j: placeholders names {reference_answer}, which the rubric never uses; "
            "nearest: references"
        ),
    ),
    "marks in a rubric that has none": (
        {"judges/j.yml": "j: {model: lexical, marks: none}\n", **audit("models: [lexical]\n  judges: [j]")},
        "CardError: judges/j.yml line 1: j: rubric uses {mark}, of which `marks: none` makes none",
    ),
    "a rephraser that asks who answers with labels": (
        {"rephrasers/r.yml": "listed: {kind: model, model: lexical}\n", "audits/a.yml": REWORDED},
        (
            "CardError: rephrasers/r.yml line 1: embedded model 'lexical' rewords nothing; `kind: rules` asks none, "
            "`kind: python` a function"
        ),
    ),
    "rules for an instruction in a language that they do not know": (
        {"tasks/t.yml": TASK.replace("Say a or b.", "Di' se la risposta è a oppure b."), **audit(RULES)},
        (
            "CardError: tasks/t.yml line 3: instruction: it is in Italian, and rephraser 'rules' of kind `rules` rewords "
            "English, German, French and Spanish: name a rephraser with `kind: model` and `model` in "
            "rephrasing.rephraser of audit 'a'"
        ),
    ),
    "rephrasings of another task alone": (
        {"rephrasers/r.yml": "listed: {kind: fixed, variants: {u: [A or b?]}}\n", "audits/a.yml": REWORDED},
        "CardError: rephrasers/r.yml line 1: variants: none of task 't'; known: u",
    ),
    "recorded answers that are not there": (
        model("m: {engine: recorded, model: small, path: answers.csv}\n"),
        "DataError: models/m.yml line 1: model 'm': answers.csv: no such file",
    ),
    "recorded answers of other models": (
        {
            **model("m: {engine: recorded, model: small, path: answers.csv}\n"),
            "answers.csv": "sample_id,completion,model\n1,a,tall\n",
        },
        "DataError: models/m.yml line 1: model 'm': answers.csv: no row of model 'small'; nearest: tall",
    ),
    "data that is not there": (
        {"tasks/t.yml": TASK.replace("d.csv", "dd.csv")},
        "DataError: tasks/t.yml line 4: task 't': dd.csv: no such file; nearest: d.csv",
    ),
    "data without a column": (
        {"d.csv": "id,text,god\n1,one,a\n"},
        "DataError: tasks/t.yml line 4: task 't': d.csv: no column 'gold'; nearest: god",
    ),
    "a gold label the task does not have": (
        {"d.csv": "id,text,gold\n1,one,a\n2,two,c\n"},
        "DataError: tasks/t.yml line 4: task 't': d.csv row 2: gold label 'c' is not one of the labels; known: a, b",
    ),
    "a label without an example": (
        {"d.csv": "id,text,gold\n1,one,a\n2,two,a\n", **audit("models: [lexical]\n  strategies: [one_shot]")},
        (
            "DataError: tasks/t.yml line 4: task 't': strategy one_shot needs an example of label 'b'; "
            "list `examples` in the card"
        ),
    ),
    "a template of a column that is not there": (
        {
            "tasks/q.yml": QUIZ,
            "q.csv": "id,text,gold,one,two\n1,Which?,A,x,y\n",
            "templates/p.yml": "asks: {kind: multiple_choice, templates: ['{question} {hunt} {options}']}\n",
            **audit("models: [lexical]", "q"),
        },
        (
            "CardError: templates/p.yml line 1: no column of task 'q' is {hunt}; known: examples, gold, id, one, options, "
            "question, text, two"
        ),
    ),
}

PLACE = "save it as e.csv in a folder of cards of yours: ./registry, or --registry DIR"
OF_THIS_MACHINE: dict[str, tuple[dict[str, str], str, int]] = {
    "a key that is not set": (
        model(API),
        "EngineError: models/m.yml line 1: model 'small': api.openai.com needs a key: set AUDIT_KEY",
        3,
    ),
    "a judge's key that is not set": (
        {"models/m.yml": API, "judges/j.yml": "j: {model: m}\n", **audit("models: [lexical]\n  judges: [j]")},
        "EngineError: models/m.yml line 1: model 'small': api.openai.com needs a key: set AUDIT_KEY",
        3,
    ),
    "no vLLM": (
        model("m: {engine: vllm_server, model: small}\n"),
        "EngineError: models/m.yml line 1: no vLLM at {folder}/python: as PROMPTAUDIT_VLLM_PYTHON says",
        3,
    ),
    "an extra that is not installed": (
        {"tasks/t.yml": TASK.replace("path: d.csv", "rows: 9, hub: them/texts")},
        (
            "DataError: tasks/t.yml line 4: task 't': them/texts: needs the extra `datasets`: "
            "python -m pip install 'promptaudit[datasets]'"
        ),
        2,
    ),
    "an extra that a scoring method needs": (
        {
            "tasks/q.yml": SUMS,
            "q.csv": "id,text,gold\n1,Half of 1?,1/2\n",
            "templates/p.yml": "asks: {kind: open_ended, templates: ['{question}']}\n",
            **audit("models: [steady]", "q"),
        },
        "UsageError: tasks/q.yml line 4: math_equal needs the extra `math`: python -m pip install 'promptaudit[math]'",
        2,
    ),
    "data that does not ship": (
        {"tasks/t.yml": TASK.replace("path: d.csv", "rows: 9, path: e.csv")},
        f"DataError: tasks/t.yml line 4: task 't': e.csv: no such file; {PLACE}",
        2,
    ),
}


def registry_of(folder: Path, changes: dict[str, str]) -> Path:
    files = {"tasks/t.yml": TASK, "d.csv": "id,text,gold\n1,one,a\n2,two,b\n3,three,a\n", **audit(), **changes}
    write_files(folder / "registry", files)
    return folder / "registry"


@pytest.mark.parametrize("name", OF_CARDS)
def test_validate_plan_and_run_refuse_a_card_in_the_same_words(tmp_path: Path, name: str) -> None:
    changes, line = OF_CARDS[name]
    registry = load_registry()
    line = line.replace("{line}", str(registry.entry("models", "lexical_noisy").lines["lexical_noisy", "of"]))
    registry_of(tmp_path, changes)
    for command in COMMANDS:
        ended = promptaudit(tmp_path, command, "a")
        assert (ended.code, ended.err, ended.out) == (2, line + "\n", ""), command
    assert not (tmp_path / "warehouse").exists()


@pytest.mark.parametrize("name", OF_THIS_MACHINE)
def test_what_this_machine_lacks_is_told_by_validate_and_plan_and_refused_by_run(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, line, code = OF_THIS_MACHINE[name]
    line = line.replace("{folder}", str(tmp_path))
    for module in ("datasets", "math_verify"):
        monkeypatch.setitem(sys.modules, module, None)
    registry_of(tmp_path, changes)
    trusted = promptaudit(tmp_path, "trust")
    assert trusted.code == 0
    given = {"PROMPTAUDIT_VLLM_PYTHON": str(tmp_path / "python"), "OPENAI_BASE_URL": ""}
    for command in ("validate", "plan"):
        ended = promptaudit(tmp_path, command, "a", **given)
        assert (ended.code, ended.err) == (0, "")
        assert f"`run` is refused here: {line}" in ended.out.splitlines()
        assert promptaudit(tmp_path, command, "a", "--json", **given).json()["run_refuses"] == [line]
    assert line not in promptaudit(tmp_path, "validate", **given).out  # of every card: none is about to be run
    ended = promptaudit(tmp_path, "run", "a", **given)
    assert (ended.code, ended.err, ended.out) == (code, line + "\n", "")


def test_rules_are_refused_only_where_they_would_reword(tmp_path: Path) -> None:
    # labels do not count, nor templates that are asked as they stand; German has rules
    template = "o:\n  kind: open_ended\n  templates: ['Rispondi alla domanda con il nome che è giusto: {question}']\n"
    task = SUMS.replace("asks", "o").replace("[math_equal]", "[exact]")
    fields = f"{RULES[:-1]}, templates: TEMPLATES}}"
    files = {"templates/o.yml": template, "q.csv": "id,text,gold\nq1,one,1\n", "tasks/q.yml": task}
    for name, is_reworded, changes in (
        (
            "german",
            False,
            {"tasks/t.yml": TASK.replace("Say a or b.", "Bewerte die Antwort mit a und b."), **audit(RULES)},
        ),
        ("kept", False, files | audit(fields.replace("TEMPLATES", "false").replace("lexical", "swayed"), "q")),
        ("reworded", True, files | audit(fields.replace("TEMPLATES", "true").replace("lexical", "swayed"), "q")),
    ):
        folder = registry_of(tmp_path / name, changes)
        errors = [str(error) for error in check_audit(load_registry([folder]), "a").errors]
        assert [error for error in errors if "it is in Italian" in error] == (errors if is_reworded else [])
        assert len(errors) == is_reworded


@pytest.mark.parametrize("command", COMMANDS)
def test_three_errors_are_three_lines_at_once(tmp_path: Path, command: str) -> None:
    more = "models: [lexical, lexcal]\n  model_sets: {few: [random]}\n  gate: [no regressed at task_id = u]"
    registry_of(tmp_path, {"d.csv": "id,txt,god\n1,one,a\n", **audit(more)})
    ended = promptaudit(tmp_path, command, "a")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "UnknownCard: model 'lexcal' in audits/a.yml line 3; nearest: lexical",
        "CardError: audits/a.yml line 4: model set 'few' names 'random', which the audit does not ask; known: lexcal, lexical",
        "CardError: audits/a.yml line 5: gate.0: audit 'a' has no task_id 'u'; known: t",
        "DataError: tasks/t.yml line 4: task 't': d.csv: no column 'text'; nearest: txt",
        "DataError: tasks/t.yml line 4: task 't': d.csv: no column 'gold'; nearest: god",
    ]


@pytest.mark.parametrize("command", [*COMMANDS, "validate everything"])
def test_fields_and_files_are_refused_at_once(tmp_path: Path, command: str) -> None:
    task = TASK.replace("labels: [a, b]", "labls: [a, b]") + "  sensitive: maybe\n"
    more = {"models/m.yml": "m: [\n", "models/n.yml": "n: {engine: openai_api}\n", "models/o.yml": "o: 7\n"}
    registry_of(tmp_path, {"tasks/t.yml": task, **more, **audit("models: [n, m]")})
    ended = promptaudit(tmp_path, *(["validate"] if " " in command else [command, "a"]))
    assert (ended.code, ended.out) == (2, "")
    of_audit = ["tasks/t.yml line 5", "tasks/t.yml line 2", "models/n.yml line 1", "models/m.yml line 2"]
    of_all = [
        "models/m.yml line 2",
        "models/n.yml line 1",
        "models/o.yml line 1",
        "tasks/t.yml line 5",
        "tasks/t.yml line 2",
    ]
    faulty = [line.split(": ")[1] for line in ended.err.splitlines()]
    assert faulty == (of_all if " " in command else of_audit)


@pytest.mark.parametrize("command", ["validate", "plan"])
def test_a_faulty_card_that_an_audit_does_without_is_a_note(tmp_path: Path, command: str) -> None:
    registry_of(tmp_path, {"models/m.yml": "m: [\n"})
    ended = promptaudit(tmp_path, command, "a")
    assert ended.code == 0
    (line,) = [line for line in ended.out.splitlines() if "models/m.yml" in line]
    assert line.startswith("CardError: models/m.yml line 2: not YAML: ")
    assert line.endswith("; audit 'a' does without it")


def test_everything_that_fields_demand_of_each_other_is_told_at_once(tmp_path: Path) -> None:
    audit_card = "a: {tasks: [t, t], models: [m, m], model_sets: {all: [m]}, samples: {by_task: {u: {limit: 5}}}}\n"
    task = (
        "t: {labels: [a, a], messages: [{role: user, content: Well?}], scoring: token_f1, level: interval, "
        "data: {path: d.csv}}\n"
    )
    template = "x: {kind: open_ended, templates: [{text: Well?, system: '{a}', option: none, example: none}]}\n"
    files = {"audits/a.yml": audit_card, "tasks/t.yml": task, "templates/x.yml": template}
    registry_of(tmp_path, files)
    ended = promptaudit(tmp_path, "validate")
    assert ended.code == 2
    assert [line.removeprefix("CardError: ") for line in ended.err.splitlines()] == [
        "tasks/t.yml line 1: t: label 'a' stands twice",
        "tasks/t.yml line 1: t: label 'a' of an interval task is no number",
        "tasks/t.yml line 1: t: a task of kind classification needs an instruction",
        "tasks/t.yml line 1: t: messages never use {input}",
        "tasks/t.yml line 1: t: messages never use {instruction}, so nothing can be rephrased",
        "tasks/t.yml line 1: t: scoring: 'token_f1' does not score classification; what does: label_match",
        "templates/x.yml line 1: templates.0: text never uses {question}",
        "templates/x.yml line 1: templates.0: example must use {question} and {answer}",
        "templates/x.yml line 1: templates.0: option must use {enumerator} and {option}",
        "templates/x.yml line 1: templates.0: system has no placeholders, found {a}",
        "audits/a.yml line 1: a: tasks names one thing twice",
        "audits/a.yml line 1: a: models names one thing twice",
        "audits/a.yml line 1: a: samples.by_task names 'u', which the audit does not ask; known: t",
        "audits/a.yml line 1: a: model_sets: 'all' is the set of all models",
    ]


def test_a_refusal_pattern_that_is_none_is_told_with_its_line(tmp_path: Path) -> None:
    registry_of(tmp_path, {"tasks/t.yml": TASK + "  refusal_pattern: '('\n"})
    ended = promptaudit(tmp_path, "validate", "a")
    assert ended.err == "CardError: tasks/t.yml line 5: refusal_pattern: not an RE2 pattern: missing ): (, found '('\n"


def test_an_error_of_two_audits_is_told_once(tmp_path: Path) -> None:
    both = "a: {tasks: [t], models: [lexical]}\nb: {tasks: [t], models: [random]}\n"
    registry_of(tmp_path, {"audits/a.yml": both, "tasks/t.yml": TASK.replace("d.csv", "e/f.csv")})
    ended = promptaudit(tmp_path, "validate")
    assert ended.err == "DataError: tasks/t.yml line 4: task 't': e/f.csv: no such file\n"


@pytest.mark.parametrize("rephrasing", ["variants: 4", "temperatures: [0, 1], variants_per_temperature: 3"])
def test_refused_rephrasings_are_told_as_a_run_tells_them(tmp_path: Path, rephrasing: str) -> None:
    wordings = "    - Say  a or b.\n    - Say it.\n    - A or b?\n    - a or b\n"
    listed = f"listed:\n  kind: fixed\n  protect_labels: true\n  variants:\n    t:\n{wordings}"
    fields = f"models: [lexical]\n  rephrasing: {{rephraser: listed, {rephrasing}}}"
    folder = registry_of(tmp_path, {"rephrasers/r.yml": listed, **audit(fields)})
    notes = check_audit(load_registry([folder]), "a").notes
    assert notes[:2] == (
        "rephrasers/r.yml line 7: variants.t.1 is refused: protected word 'a' is lost",
        "rephrasers/r.yml line 8: variants.t.2 is refused: protected word 'a' is lost",
    )
    warehouse = tmp_path / "audit.duckdb"
    run, design = opened(warehouse, folder, "a")
    assert (
        notes[2:]
        == paraphrase(
            Purse(Warehouse(warehouse), run, budget_of(Warehouse(warehouse), run, design.audit.budget)), design
        ).notes
    )
    for command in ("validate", "plan"):
        ended = promptaudit(tmp_path, command, "a")
        assert ended.code == 0
        assert set(notes) <= set(ended.out.splitlines())


@pytest.mark.parametrize(
    ("of_rephraser", "of_task", "n_kept"),
    [
        ("", "", 3),
        ("protect_labels: true", "", 1),
        ("", "protect_labels: true", 1),
        ("protect_labels: true", "protect_labels: false", 3),
    ],
)
def test_a_persons_wordings_are_sent_as_they_are(tmp_path: Path, of_rephraser: str, of_task: str, n_kept: int) -> None:
    wordings = ["  Which one?  ", "A or b?", f"Say a or b: {'very ' * 200}carefully."]
    listed = {"kind": "fixed", "variants": {"t": wordings}, **yaml.safe_load(of_rephraser or "{}")}
    fields = "models: [lexical]\n  rephrasing: {rephraser: listed, variants: 4}"
    task = TASK + (f"  {of_task}\n" if of_task else "")
    changes = {"rephrasers/r.yml": yaml.safe_dump({"listed": listed}), "tasks/t.yml": task, **audit(fields)}
    folder = registry_of(tmp_path, changes)
    assert ("is refused: protected word 'a' is lost" in str(check_audit(load_registry([folder]), "a").notes)) == (
        n_kept == 1
    )
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    run, design = opened(warehouse.path, folder, "a")
    made = paraphrase(Purse(warehouse, run, budget_of(warehouse, run, design.audit.budget)), design).variants
    kept = wordings if n_kept == 3 else wordings[2:]
    assert [variant.instruction for variant in made] == ["Say a or b.", *kept]


def test_what_is_put_around_a_rubric_of_somebody_elses_is_told(tmp_path: Path) -> None:
    rubric = "rubric: '{question} {references} {completion} right?'"
    ours = "marks: none, references: plain, reply: {grades: {y: true, n: false}}"
    for more, words in (("", ["marks go around", "each reference gets '- '", 'never says "match"']), (f", {ours}", [])):
        judge = {"judges/j.yml": f"j: {{model: matcher, {rubric}{more}}}\n"}
        folder = registry_of(tmp_path / str(len(words)), {**judge, **audit("models: [lexical]\n  judges: [j]")})
        notes = check_audit(load_registry([folder]), "a").notes
        assert len(notes) == len(words)
        for note, word in zip(notes, words, strict=True):
            assert note.startswith("judges/j.yml line 1: judge 'j': ")
            assert word in note


def test_a_run_that_goes_on_is_refused_by_the_model_it_asks_alone(tmp_path: Path) -> None:
    folder = registry_of(tmp_path, model(API))
    opened(tmp_path / "warehouse/audit.duckdb", folder, "a")
    assert promptaudit(tmp_path, "trust").code == 0
    ended = promptaudit(tmp_path, "run", "a", OPENAI_BASE_URL="")
    assert ended.code == 3
    assert ended.one_line() == "EngineError: model 'small': api.openai.com needs a key: set AUDIT_KEY"


def test_of_several_errors_the_least_exit_code_counts() -> None:
    with pytest.raises(SeveralErrors) as raised:
        raise_all([EngineError("no key"), CardError("no label"), EngineError("no key")])
    assert raised.value.exit_code == 2
    assert str(raised.value) == "EngineError: no key\nCardError: no label"


@pytest.mark.parametrize("source", ["path: i.parquet", "hub: org/small"])
def test_gold_values_of_parquet_and_hubs_are_held_against_their_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    day, totals = ["2024-03-05", "05/03/2024"], [[1.5, 2.0], [3.0]]
    rows = pl.DataFrame(
        {"id": ["i1", "i2"], "text": ["one", "two"], "total": totals, "day": day, "coin": ["EUR", None]}
    )
    card = INVOICES.replace("path: i.csv", source).replace("total: number", "total: {rule: number, list: true}")
    registry = registry_of(tmp_path, {**OF_FIELDS, "tasks/t.yml": card})
    (tmp_path / "org/small").mkdir(parents=True)
    rows.write_parquet(tmp_path / "org/small/test-00000.parquet")
    rows.write_parquet(registry / "i.parquet")
    monkeypatch.chdir(tmp_path)  # load_dataset takes a folder for a repository: the same code, without a hub
    with pytest.raises(CardError) as raised:
        design_audit(load_registry([registry]), "a")
    message = f"fields.day: {source.split()[1]} sample 'i2', column 'day': '05/03/2024' is no date, or may be two"
    assert message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    day[1] = "2024-03-07"
    rows.with_columns(day=pl.Series(day)).write_parquet(tmp_path / "org/small/test-00000.parquet")
    rows.with_columns(day=pl.Series(day)).write_parquet(registry / "i.parquet")
    samples = design_audit(load_registry([registry]), "a").samples["t"].samples
    assert [json.loads(json.loads(sample.references[0])["total"]) for sample in samples] == [[1.5, 2.0], [3.0]]
