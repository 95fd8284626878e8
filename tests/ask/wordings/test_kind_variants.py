"""Variants of several kinds: which there are, what they are called, and that runs without them are as they were."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from promptaudit.ask.wordings.paraphrase import paraphrase
from promptaudit.audit.run import export_variants
from promptaudit.audit.runs import open_run
from promptaudit.cards.check_cards import check_audit
from promptaudit.engines import silent
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.plan.cells import CellsInWarehouse, Variant, missing_requests
from promptaudit.plan.design import Design
from promptaudit.plan.estimate import estimate_audit
from promptaudit.plan.grid import deal_samples
from promptaudit.registry.cards import Rephrasing
from promptaudit.registry.errors import CardError
from promptaudit.registry.registry import load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from tests.support.files import write_files
from tests.support.http_audit import opened, query

TASKS = """rated:
  labels: [good, fair, bad]
  instruction: Rate the meal that is described below.
  output_format: Reply with the label alone.
  translations: {de: Bewerte das Essen.}
  data: {path: datasets/rated.csv, id: id, input: text, gold_label: gold}
asked:
  kind: multiple_choice
  templates: asked
  data: {path: datasets/asked.csv, id: id, input: text, options: [a, b, c], gold_label: gold}
"""
TEMPLATES = """asked:
  kind: multiple_choice
  templates:
    - "Question: {question}\\n{options}"
    - "{question}\\n{options}\\nWhich?"
"""


def write(folder: Path, rephrasing: str, tasks: str = "rated", more: str = "") -> Path:
    files = {
        "tasks/t.yml": TASKS,
        "templates/t.yml": TEMPLATES,
        "audits/a.yml": f"a:\n  tasks: [{tasks}]\n  models: [lexical]\n  rephrasing: {{{rephrasing}}}\n"
        f"  repetitions: {{original: 2, variants: 1}}\n  samples: {{limit: 12}}\n{more}",
        "datasets/rated.csv": "id,text,gold\n"
        + "".join(f"r{n},the meal number {n} came late,{('good', 'fair', 'bad')[n % 3]}\n" for n in range(24)),
        "datasets/asked.csv": "id,text,a,b,c,gold\n"
        + "".join(f"q{n},what is {n},one {n},two {n},three {n},{'ABC'[n % 3]}\n" for n in range(24)),
    }
    write_files(folder, files)
    return folder


def purse_of(warehouse: Path, run: str, design: Design) -> Purse:
    budget = budget_of(Warehouse(warehouse), run, design.audit.budget, None, None)
    return Purse(Warehouse(warehouse), run, budget, silent)


def made(warehouse: Path, cards: Path) -> tuple[str, Design, list[Variant]]:
    """The newest run of the audit with its variants, and the samples they are asked for."""
    run, design = opened(warehouse, cards, "a")
    variants = paraphrase(purse_of(warehouse, run, design), design).variants
    return run, design, deal_samples(Warehouse(warehouse), run, design, variants)


def test_one_at_a_time_each_variant_differs_in_one_kind_and_indexes_go_on(tmp_path: Path) -> None:
    cards = write(
        tmp_path,
        "rephraser: rules, variants: 3, kinds: [wording, format, label_order, language], variants_of: {format: 4, language: 5}",
    )
    _, _, variants = made(tmp_path / "audit.duckdb", cards)
    # the card has one translation of the four that are wanted: its places stay free
    assert [(v.variant_index, v.variation) for v in variants] == [
        (0, "original"),
        (1, "wording"),
        (2, "wording"),
        (3, "format"),
        (4, "format"),
        (5, "format"),
        (6, "label_order"),
        (7, "label_order"),
        (8, "language"),
    ]
    settings = [json.loads(v.setting or "") for v in variants]
    assert [list(each) for each in settings] == [[] if v.is_original else [v.variation] for v in variants]
    assert settings[1:3] == [{"wording": 1}, {"wording": 2}]
    assert len({v.prompt_variant_id for v in variants}) == 9
    assert [v.instruction for v in variants[3:8]] == [variants[0].instruction] * 5
    assert variants[8].instruction == "Bewerte das Essen."
    assert [v.repetitions for v in variants] == [(1, 2), *[(1,)] * 8]


def test_crossed_every_combination_is_asked_once(tmp_path: Path) -> None:
    cards = write(
        tmp_path,
        "rephraser: rules, variants: 3, crossed: true, kinds: [wording, label_order, system], variants_of: {system: 2}",
    )
    _, _, variants = made(tmp_path / "audit.duckdb", cards)
    combinations = {
        tuple(json.loads(v.setting or "").get(kind) for kind in ("wording", "label_order", "system")) for v in variants
    }
    system = "You are a helpful assistant."
    assert combinations == set(product((None, 1, 2), (None, "gold_first", "gold_last"), (None, system)))
    assert [v.variant_index for v in variants] == sorted({v.variant_index for v in variants}) == list(range(18))
    for variant in variants:
        kinds = json.loads(variant.setting or "")
        assert variant.variation == ("original" if not kinds else next(iter(kinds)) if len(kinds) == 1 else "crossed")
        worded = [v for v in variants if v.setting == json.dumps({"wording": kinds.get("wording")})] or variants[:1]
        assert variant.instruction == worded[0].instruction


def test_templates_are_varied_from_the_first_one(tmp_path: Path) -> None:
    cards = write(tmp_path, "kinds: [option_order, format], variants: 3", tasks="asked")
    _, _, variants = made(tmp_path / "audit.duckdb", cards)
    assert [(v.variant_index, v.variation) for v in variants] == [
        (0, "original"),
        (1, "template"),
        (2, "option_order"),
        (3, "option_order"),
        (4, "format"),
        (5, "format"),
    ]
    assert [v.template for v in variants[2:4]] == [variants[0].template] * 2
    assert all(v.template not in (variants[0].template, variants[1].template) for v in variants[4:])
    rows = query(
        tmp_path / "audit.duckdb",
        "select prompt_variant_id, sample_id, option_order from raw.option_orders order by all",
    )
    # gold first leaves a third of the samples as they are, gold last another
    assert len(rows) == 2 * 8
    assert {variant for variant, _, _ in rows} == {v.prompt_variant_id for v in variants[2:4]}


def requests_of(warehouse: Path, run: str, design: Design, variants: list[Variant]) -> list[Any]:
    return list(missing_requests(CellsInWarehouse(Warehouse(warehouse), run), run, design, "lexical", variants))


@pytest.mark.parametrize(
    "rephrasing",
    [
        "kinds: [format, label_order, input_noise, system, language], variants: 3",
        "rephraser: rules, variants: 2, crossed: true, kinds: [wording, format, input_noise, label_order]",
    ],
)
def test_a_run_that_goes_on_sends_the_same_from_what_has_landed(tmp_path: Path, rephrasing: str) -> None:
    warehouse = tmp_path / "audit.duckdb"
    cards = write(tmp_path, rephrasing)
    first = requests_of(warehouse, *made(warehouse, cards))
    again = requests_of(warehouse, *made(warehouse, cards))
    assert first == again
    assert len({each.prediction_id for each in first}) == len(first)
    assert len({each.prompt_variant_id for each in first}) > 8


def test_what_an_audit_varies_besides_leaves_its_wordings_as_they_were(tmp_path: Path) -> None:
    warehouse = tmp_path / "audit.duckdb"
    _, _, plain = made(warehouse, write(tmp_path, "rephraser: rules, variants: 3"))
    run, design = opened(warehouse, write(tmp_path, "rephraser: rules, variants: 3, kinds: [wording, format]"), "a")
    assert query(warehouse, "select count(*) from raw.prompt_variants")[0][0] == 3
    run = open_run(Warehouse(warehouse), design)
    varied = paraphrase(purse_of(warehouse, run, design), design).variants
    assert list(varied[:3]) == list(plain)
    keys = query(warehouse, "select variation, rephrasing_key from raw.prompt_variants where audit_run_id = ?", [run])
    assert {key for kind, key in keys if kind in ("original", "wording")} == {
        key
        for (key,) in query(
            warehouse, "select distinct rephrasing_key from raw.prompt_variants where audit_run_id != ?", [run]
        )
    }
    assert {key for kind, key in keys if kind == "format"} == {None}
    # and a night without the other kinds finds them, and them alone
    assert [v.variation for v in made(warehouse, write(tmp_path, "rephraser: rules, variants: 3"))[2]][:3] == [
        "original",
        "wording",
        "wording",
    ]


def test_plan_counts_what_is_asked(tmp_path: Path) -> None:
    for number, (rephrasing, tasks) in enumerate(
        (
            ("rephraser: rules, variants: 3, kinds: [wording, format, label_order]", "rated"),
            ("kinds: [label_order, system], variants: 4, crossed: true", "rated"),
            ("kinds: [format, option_order], variants: 4", "asked"),
            ("kinds: [format, option_order], variants: 3, crossed: true", "asked"),
        )
    ):
        folder = tmp_path / str(number)
        cards = write(folder, rephrasing, tasks)
        requests = requests_of(folder / "audit.duckdb", *made(folder / "audit.duckdb", cards))
        assert estimate_audit(load_registry([cards]), "a").total.requests == len(requests) > 0


def test_wordings_alone_are_edited_by_a_person(tmp_path: Path) -> None:
    cards = write(tmp_path, "rephraser: rules, variants: 3, kinds: [wording, format, system]")
    settings = Settings(warehouse=tmp_path / "audit.duckdb")
    file = tmp_path / "prompts.csv"
    assert export_variants(settings, load_registry([cards]), "a", file, Progress(quiet=True)) == 3
    file.write_text(file.read_text().replace("Rate the meal that is described below.", "Rate the meal.", 1))
    run, design = opened(tmp_path / "audit.duckdb", cards, "a")
    variants = paraphrase(purse_of(tmp_path / "audit.duckdb", run, design), design, prompts=file).variants
    assert [v.variation for v in variants] == ["original", "wording", "wording", *["format"] * 2, *["system"] * 2]
    assert {v.instruction for v in variants if v.variation in ("original", "format", "system")} == {"Rate the meal."}


@pytest.mark.parametrize(
    ("rephrasing", "tasks", "more", "message"),
    [
        (
            "kinds: [option_order], variants: 3",
            "rated",
            "",
            "option_order does not fit task 'rated': it is of multiple_choice",
        ),
        (
            "kinds: [label_order], variants: 3",
            "asked",
            "",
            "label_order does not fit task 'asked': it is of classification",
        ),
        (
            "kinds: [language], variants: 3",
            "asked",
            "",
            "language does not fit task 'asked': its card has no translations",
        ),
        (
            "kinds: [examples], variants: 3",
            "rated",
            "",
            "examples does not fit task 'rated': strategy one_shot shows examples",
        ),
        (
            "kinds: [examples], variants: 3",
            "asked",
            "",
            "examples does not fit task 'asked': the first of its templates shows",
        ),
        (
            "kinds: [label_order], variants: 3",
            "rated",
            "  strategies: [structured]\n",
            "label_order does not fit task 'rated'",
        ),
    ],
)
def test_a_kind_that_does_not_fit_a_task_is_an_error_of_the_card(
    tmp_path: Path, rephrasing: str, tasks: str, more: str, message: str
) -> None:
    registry = load_registry([write(tmp_path, rephrasing, tasks, more)])
    errors = [str(error) for error in check_audit(registry, "a").errors if "kinds" in str(error)]
    assert len(errors) == 1
    assert f"audits/a.yml line 4: rephrasing.kinds: {message}" in errors[0]


def test_fewer_variants_than_are_wanted_are_told(tmp_path: Path) -> None:
    registry = load_registry([write(tmp_path, "kinds: [language, system], variants: 9")])
    assert check_audit(registry, "a").notes == (
        "task 'rated': 1 of 8 variants of kind language: there are no more",
        "task 'rated': 5 of 8 variants of kind system: there are no more",
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"variants": 3}, "rephrasing needs rephraser, a rephraser card, where kinds has wording"),
        ({"variants": 3, "kinds": ["format", "format"]}, "kinds names one thing twice"),
        (
            {"variants": 3, "kinds": ["format"], "variants_of": {"system": 2}},
            "variants_of has system, which kinds has not",
        ),
        ({"variants": 3, "kinds": ["format"], "noise_rate": 0.1}, "noise_rate is of kind input_noise"),
        ({"variants": 3, "kinds": ["format"], "systems": ["Be brief."]}, "systems is of kind system"),
        (
            {"variants": 3, "kinds": ["system"], "systems": ["Be {brief}."]},
            "systems has no placeholders, found {brief}",
        ),
        ({"variants": 3, "kinds": ["format"], "templates": True}, "templates is of kind wording, which kinds has not"),
        (
            {"rephraser": "rules", "variants": 3, "kinds": ["wording", "language"], "crossed": True},
            "crossed: wording and language both change the instruction",
        ),
        (
            {"variants": 30, "kinds": ["format", "system", "input_noise"], "crossed": True},
            "crossed: 27,000 combinations, at most 10,000 are asked",
        ),
    ],
)
def test_fields_that_do_not_go_together_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("{", r"\{").replace("}", r"\}")):
        Rephrasing.model_validate(fields)


def test_a_translation_uses_what_the_instruction_uses(tmp_path: Path) -> None:
    write(tmp_path, "kinds: [language], variants: 2")
    (tmp_path / "tasks/t.yml").write_text(TASKS.replace("Bewerte das Essen.", "'Bewerte {was}.'"))
    with pytest.raises(CardError, match=r"translations\.de must use the placeholders of the instruction, and no other"):
        load_registry([tmp_path])
    (tmp_path / "tasks/t.yml").write_text(TASKS + '  translations: {de: "Frage: {question}"}\n')
    (tmp_path / "audits/a.yml").write_text((tmp_path / "audits/a.yml").read_text().replace("[rated]", "[asked]"))
    errors = [str(error) for error in check_audit(load_registry([tmp_path]), "a").errors]
    assert any(
        "translations.de must use what the first template uses: {question}, {options}" in each for each in errors
    )
