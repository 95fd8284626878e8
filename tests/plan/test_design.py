"""What no single card can know: judges, panels, sets of models and templates that fit each other, or one line saying why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from promptaudit.ask.judge import asked_judges
from promptaudit.ask.wordings.variants import landed_variants
from promptaudit.audit.run import run_audit
from promptaudit.audit.runs import open_run
from promptaudit.audit.steps import AuditRun, Outcome, RunOptions
from promptaudit.plan.cells import CellsInWarehouse, missing_requests, template_of
from promptaudit.plan.design import design_audit
from promptaudit.plan.estimate import estimate_audit
from promptaudit.plan.judge_requests import Ruling, asked_again, controls_of, judge_key, rulings_of
from promptaudit.registry.cards import JudgeCard
from promptaudit.registry.errors import CardError, UsageError
from promptaudit.registry.registry import load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from tests.support.http_audit import ask, query

MODELS = "m: {engine: embedded, model: examinee, examinee: {accuracy: 0.5}}\nj: {engine: embedded, model: matcher}\n"
TEMPLATES = r"""
choices:
  kind: multiple_choice
  templates:
    - "{question}\n{options}"
    - {text: "{topic}: {question}\n{options}", enumerators: ["[x]", "[y]", "[z]"], option: "{enumerator} {option}"}
facts: {kind: open_ended, templates: ["{question}"]}
"""
TASK = """\
q:
  kind: multiple_choice
  templates: choices
  data: {path: q.csv, id: id, input: question, options: options, gold_label: answer}
  labels: [A, B, C]
"""
ROWS = (
    'id,topic,question,options,answer\n1,birds,Which flies?,"[""a hen"", ""a gull""]",B\n'
    '2,,Which {topic} swims?,"[""a hen"", ""a gull"", ""a carp {question}""]",C\n'
)
JUDGE = "one: {model: j, controls: {right: 1, wrong: 1, blank: 0, injected: 1}}\ntwo: {model: j}\njury: {panel: [one, two]}\n"
RUBRIC_OF_BOTH = "{question} {references} {completion}"
AUDIT = "a:\n  tasks: [q]\n  models: [m]\n  judges: [jury]\n  repetitions: {original: 1, variants: 1}\n"


def registry_of(folder: Path, **texts: str) -> Path:
    given = {"models": MODELS, "templates": TEMPLATES, "tasks": TASK, "judges": JUDGE, "audits": AUDIT, **texts}
    for kind, text in given.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        (folder / kind / "own.yml").write_text(text)
    (folder / "q.csv").write_text(ROWS)
    return folder


def test_templates_are_the_variants_and_nothing_put_in_is_read_again(tmp_path: Path) -> None:
    registry, warehouse = registry_of(tmp_path / "cards"), tmp_path / "audit.duckdb"
    ask(warehouse, registry, audit_id="a")
    design = design_audit(load_registry([registry]), "a")
    ((run,),) = query(warehouse, "select audit_run_id from raw.audit_runs")
    variants = landed_variants(Warehouse(warehouse), run)
    assert [(v.strategy, v.variant_index, v.is_original) for v in variants] == [
        ("simple", 0, True),
        ("simple", 1, False),
    ]
    assert [v.reader for v in variants] == [
        '{"option_letter": ["A", "B", "C"]}',
        '{"option_letter": ["[x]", "[y]", "[z]"]}',
    ]
    assert template_of(variants[1]) == design.templates["q"].templates[1]
    other = tmp_path / "empty.duckdb"
    ask(other, registry_of(tmp_path / "cards"), audit_id="a")
    query(other, "delete from raw.predictions")
    ((other_run,),) = query(other, "select audit_run_id from raw.audit_runs")
    sent = [
        request.messages[0][1]
        for request in missing_requests(CellsInWarehouse(Warehouse(other), other_run), other_run, design, "m", variants)
    ]
    assert sent == [
        "Which flies?\nA. a hen\nB. a gull",
        "Which {topic} swims?\nA. a hen\nB. a gull\nC. a carp {question}",
        "birds: Which flies?\n[x] a hen\n[y] a gull",
        ": Which {topic} swims?\n[x] a hen\n[y] a gull\n[z] a carp {question}",
    ]
    prompts = query(warehouse, "select prompt from raw.prompt_variants order by variant_index")
    assert [text for (text,) in prompts] == [
        '[{"content": "{question}\\n{options}", "role": "user"}]',
        '[{"content": "{topic}: {question}\\n{options}", "role": "user"}]',
    ]
    (options,) = query(warehouse, "select options, fields from raw.samples where sample_id = '1'")
    assert options == ('["a hen", "a gull"]', '{"topic": "birds"}')


def test_a_panel_brings_its_members_and_asks_nothing_itself(tmp_path: Path) -> None:
    design = design_audit(load_registry([registry_of(tmp_path)]), "a")
    assert asked_judges(design) == ["one", "two"]
    # of each kind as many as the judge that wants most, as far as the samples reach
    kinds = [control.kind for control in controls_of(design)]
    assert {kind: kinds.count(kind) for kind in kinds} == {"right": 2, "wrong": 2, "blank": 2, "injected": 2}
    assert judge_key(design, "one") == judge_key(design, "two") != judge_key(design, "jury")


def test_a_judge_sees_the_options_as_the_model_saw_them(tmp_path: Path) -> None:
    design = design_audit(load_registry([registry_of(tmp_path)]), "a")
    sample = design.samples["q"].samples[1]
    signs = ("[x]", "[y]", "[z]")
    ((_, prompt),), question = rulings_of(
        design.tasks["q"],
        design.judges["one"],
        sample,
        Ruling(prediction_id="p", control_id=None, task_id="q", sample_id="2", signs=signs, completion="{references}"),
    )
    assert (
        "Options:\n[x]. a hen\n[y]. a gull\n[z]. a carp {question}\nReference answers:\n- [z]. a carp {question}\n"
        in prompt
    )
    assert "\n{references}\n" in prompt
    assert (question.signs, question.gold_index, question.completion) == (signs, 2, "{references}")


def test_a_judge_sees_the_options_in_the_order_that_the_model_saw(tmp_path: Path) -> None:
    design = design_audit(load_registry([registry_of(tmp_path)]), "a")
    ruling = Ruling(
        prediction_id="p",
        control_id=None,
        task_id="q",
        sample_id="2",
        signs=("1", "2", "3"),
        completion="1",
        option_order=(2, 0, 1),
    )
    sample = design.samples["q"].samples[1]
    ((_, prompt),), question = rulings_of(design.tasks["q"], design.judges["one"], sample, ruling)
    assert "Options:\n1. a carp {question}\n2. a hen\n3. a gull\nReference answers:\n- 1. a carp {question}\n" in prompt
    assert (question.options[0], question.gold_index) == ("a carp {question}", 0)


def test_a_rubric_without_marks_is_sent_as_it_is_but_for_marks_around_the_answer(tmp_path: Path) -> None:
    design = design_audit(load_registry([registry_of(tmp_path)]), "a")
    rubric = "Q: {question}\nKey: {references}\nSaid: {completion}\nGrade: A or B?"
    reply = {"grades": {"A": True, "B": False}}
    card = JudgeCard.model_validate({"model": "m", "rubric": rubric, "reply": reply})
    said = "<think>A?</think>the last"
    ruling = Ruling(prediction_id="p", control_id=None, task_id="q", sample_id="2", signs=(), completion=said)
    messages, question = rulings_of(design.tasks["q"], card, design.samples["q"].samples[1], ruling)
    ((_, prompt),) = messages
    *_, opening, answer, mark, grade = prompt.splitlines()
    assert (opening, answer, grade) == (f"Said: {mark}", "the last", "Grade: A or B?")
    assert mark.startswith("===== ")
    assert question.completion == "the last"
    ((_, again),) = asked_again(messages, card, 2)
    assert again.endswith("the last reply could not be read. Reply as asked, and with nothing else.")


def test_a_rubric_of_somebody_elses_is_sent_byte_for_byte_at_every_ask(tmp_path: Path) -> None:
    design = design_audit(load_registry([registry_of(tmp_path)]), "a")
    task, sample = design.tasks["q"], design.samples["q"].samples[1]
    rubric = " Judge.\nR: {reference_answer}\nP: {model_prediction}\nQ: {question}\n{options}\n{'match': true} "
    names = {"reference_answer": "references", "model_prediction": "completion"}
    said = "\n {reference_answer} \n"
    ruling = Ruling(prediction_id="p", control_id=None, task_id="q", sample_id="2", signs=(), completion=said)
    fields = {"model": "m", "rubric": rubric, "placeholders": names, "marks": "none", "references": "plain"}
    card = JudgeCard.model_validate(fields)
    messages, _ = rulings_of(task, card, sample, ruling)
    options = "A. a hen\nB. a gull\nC. a carp {question}"
    sent = f" Judge.\nR: a carp {{question}}\nP: {said}\nQ: Which {{topic}} swims?\n{options}\n{{'match': true}} "
    assert messages == (("user", sent),)
    assert asked_again(messages, card, 2) == messages
    # each of the three decides what is asked, and a card that has none of them is the judge it was
    keys = {
        judge_key(
            replace(design, judges={"one": JudgeCard.model_validate({"model": "j", "rubric": RUBRIC_OF_BOTH, **more})}),
            "one",
        )
        for more in ({}, {"marks": "none"}, {"references": "plain"}, {"placeholders": {"question": "question"}})
    }
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        ("judges", JUDGE + "all: {panel: [jury, one]}\n", None),
        (
            "audits",
            AUDIT + "  model_sets: {few: [n]}\n",
            "audits/own.yml line 6: model set 'few' names 'n', which the audit does not ask; known: m",
        ),
        ("audits", AUDIT + "  model_sets: {all: [m]}\n", "model_sets: 'all' is the set of all models"),
        (
            "tasks",
            TASK.replace("choices", "facts"),
            "tasks/own.yml line 3: 'facts' are templates of kind open_ended, the task is multiple_choice",
        ),
        ("tasks", TASK.replace("choices", "choice"), "template 'choice' in tasks/own.yml line 3; nearest: choices"),
        (
            "templates",
            TEMPLATES.replace("{topic}", "{topics}"),
            "templates/own.yml line 6: no column of task 'q' is {topics}; nearest: topic",
        ),
        (
            "templates",
            TEMPLATES.replace(', "[z]"', ""),
            "templates/own.yml line 6: template 2 has 2 enumerators, task 'q' has 3 options",
        ),
        ("judges", "jury: {panel: [one]}\n", "a panel needs at least two judges, each once"),
        ("judges", "jury: {model: j, panel: [one, two]}\n", "a judge needs either a model or a panel"),
        (
            "judges",
            "jury: {model: j, reply: {grades: {A: true, B: true}}}\n",
            "grades needs one that counts as right and one that does not",
        ),
        (
            "judges",
            "jury: {model: j, reply: {reason: why, grades: {A: true, B: false}}}\n",
            "reason is a key of an object, so reply needs a field too",
        ),
        ("judges", "jury: {model: j, tasks: [q, r]}\n", "judges/own.yml line 1: no task 'r'; nearest: "),
        (
            "judges",
            JUDGE.replace("two: {model: j}", "two: {model: j, tasks: [question_type]}"),
            "'two' does not rule on task 'q'; name the panel's `tasks` too",
        ),
        ("judges", "jury: {model: j, tasks: [question_type]}\n", "judge 'jury' rules on no task of audit 'a'"),
        (
            "judges",
            "jury: {model: j, rubric: '{question} {mark} {completion} {mark}'}\n",
            "rubric must use {question}, {references}",
        ),
        (
            "judges",
            "jury: {model: j, references: none, rubric: '{question} {references} {completion}'}\n",
            "references: none: rubric must use {question} and {completion}, and not {references}",
        ),
        (
            "tasks",
            TASK + "  scoring: token_f1\n",
            "scoring: 'token_f1' does not score multiple_choice; what does: option_letter, option_loglikelihood",
        ),
        ("tasks", TASK + "  instruction: Choose.\n", "instruction is not of a task of kind multiple_choice"),
        ("tasks", TASK.replace("  templates: choices\n", ""), "a task of kind multiple_choice needs templates"),
        (
            "audits",
            AUDIT + "  samples: {by_task: {Q: {limit: 1}}}\n",
            "samples.by_task names 'Q', which the audit does not ask; known: q",
        ),
        (
            "tasks",
            TASK.replace(", options: options", ""),
            "data of a task of kind multiple_choice needs options, and no references",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(tmp_path: Path, kind: str, text: str, line: str | None) -> None:
    folder = registry_of(tmp_path, **{kind: text})
    if line is None:
        (folder / "audits/own.yml").write_text(AUDIT.replace("jury", "all"))
        line = "'jury' is a panel itself; a panel is of judges with a model"
    with pytest.raises(CardError) as refused:
        design_audit(load_registry([folder]), "a")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_task_has_a_limit_of_its_own(tmp_path: Path) -> None:
    folder = registry_of(tmp_path)
    whole = design_audit(load_registry([folder]), "a")
    (folder / "audits/own.yml").write_text(AUDIT + "  samples: {limit: 2, by_task: {q: {limit: 1}}}\n")
    part = design_audit(load_registry([folder]), "a")
    assert (whole.n_samples("q"), part.n_samples("q")) == (2, 1)
    assert part.plan_fingerprint != whole.plan_fingerprint
    lines = {line.name: line.requests for line in estimate_audit(load_registry([folder]), "a").lines}
    assert lines["m"] == 2  # one sample under two templates


def test_panels_go_round_and_a_run_keeps_its_own(tmp_path: Path) -> None:
    rows = "".join(f'{number},,Which {number}?,"[""a hen"", ""a gull""]",{"AB"[number % 2]}\n' for number in range(40))
    folder = registry_of(tmp_path / "cards", audits=AUDIT + "  samples: {limit: 36, each_night: 12}\n")
    (folder / "q.csv").write_text(ROWS.splitlines()[0] + "\n" + rows)
    registry, settings = load_registry([folder]), Settings(warehouse=tmp_path / "audit.duckdb")
    (estimated,) = (line.requests for line in estimate_audit(registry, "a").lines if line.name == "m")
    assert estimated == 2 * 12

    def asked(*, new: bool) -> tuple[str, ...]:
        seen: list[tuple[str, ...]] = []

        def look(run: AuditRun) -> Outcome:
            seen.append(tuple(each.sample_id for each in run.designed().samples["q"].samples))
            return Outcome()

        with mock.patch("promptaudit.audit.run.measure", look):
            run_audit(settings, registry, "a", Progress(quiet=True), RunOptions(new=new, writes_page=False))
        return seen[0]

    first = asked(new=True)
    assert len(first) == 12
    assert asked(new=False) == first  # it goes on
    second, third = asked(new=True), asked(new=True)
    assert len({*first, *second, *third}) == 36
    assert asked(new=True) == first
    landed = query(settings.warehouse, "select count(*) from raw.samples group by audit_run_id")
    assert landed == [(12,)] * 4


def test_a_panel_of_too_few_samples_is_an_error_of_the_card(tmp_path: Path) -> None:
    rows = "".join(f'{number},,Which {number}?,"[""a hen"", ""a gull""]",A\n' for number in range(11))
    folder = registry_of(tmp_path, audits=AUDIT + "  samples: {each_night: 10}\n")
    (folder / "q.csv").write_text(ROWS.splitlines()[0] + "\n" + rows)
    with pytest.raises(
        CardError, match="2 panels of task 'q' have 5 samples, or clusters of samples, each: nights need 10"
    ):
        design_audit(load_registry([folder]), "a")


def test_critical_samples_are_ids_or_a_column(tmp_path: Path) -> None:
    folder = registry_of(tmp_path, audits=AUDIT + "  critical: [vip, '1']\n")
    (folder / "q.csv").write_text(
        ROWS.replace("answer\n", "answer,vip\n", 1).replace("B\n", "B,no\n").replace("C\n", "C,yes\n")
    )
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    open_run(warehouse, design_audit(load_registry([folder]), "a"))
    assert query(warehouse.path, "select sample_id, is_critical from raw.samples order by all") == [
        ("1", True),
        ("2", True),
    ]
    (folder / "audits/own.yml").write_text(AUDIT + "  critical: [vipp]\n")
    with pytest.raises(
        CardError, match=r"critical\.0: 'vipp' is no sample that the audit asks, nor a column; nearest: vip"
    ):
        design_audit(load_registry([folder]), "a")


def test_the_same_work_is_priced_as_another_models(tmp_path: Path) -> None:
    folder = registry_of(tmp_path)
    registry = load_registry([folder])
    others = estimate_audit(registry, "a", ("m", "gpt-4o-2024-08-06", "gpt-4o-mini")).others
    assert [(line.name, line.requests) for line in others] == [("m", 4), ("gpt-4o-2024-08-06", 4), ("gpt-4o-mini", 4)]
    free, dear, cheap = (line.usd for line in others)
    assert free == 0
    assert 0 < cheap < dear
    with pytest.raises(
        UsageError, match="--as gpt-40: no model card has this id, and the price library does not know it"
    ):
        estimate_audit(registry, "a", ("gpt-40",))


def test_gold_beyond_the_options_is_one_line(tmp_path: Path) -> None:
    folder = registry_of(tmp_path)
    (folder / "q.csv").write_text(ROWS.replace('""a gull""]",B', '""a gull""]",C'))
    with pytest.raises(Exception, match=r"q\.csv row 1: gold label 'C', but there are 2 options"):
        design_audit(load_registry([folder]), "a")


def test_a_file_of_recorded_answers_that_is_completed_makes_another_plan(tmp_path: Path) -> None:
    models = MODELS.replace("embedded, model: examinee, examinee: {accuracy: 0.5}", "recorded, model: m, path: a.csv")
    registry, plans = load_registry([registry_of(tmp_path, models=models)]), set()
    for answers in ("1,A\n", "1,A\n2,B\n"):
        (tmp_path / "a.csv").write_text(f"sample_id,completion\n{answers}")
        plans.add(design_audit(registry, "a").plan_fingerprint)
    assert len(plans) == 2
