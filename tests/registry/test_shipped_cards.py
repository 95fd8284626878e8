"""What ships can run: every audit resolves, its data holds together, its instructions can be reworded."""

from __future__ import annotations

import asyncio
import csv
from collections import Counter
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from promptaudit.cards.prices import price_of, usd_of
from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.by_rules import RulesRephraser
from promptaudit.prompts.rephrasers.refusals import why_refused
from promptaudit.registry.cards import RephraserCard, TaskCard
from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.registry import SHIPPED, Entry, load_registry
from promptaudit.registry.samples import load_samples
from promptaudit.udfs.scoring.verdict import read_verdict

REGISTRY = load_registry()
AUDITS = sorted(REGISTRY.entries["audits"])
TASKS = sorted(REGISTRY.entries["tasks"])
OWN = [task for task in TASKS if REGISTRY.task(task).data.path and REGISTRY.task(task).data.rows is None]
REPHRASED = [task for task in TASKS if REGISTRY.task(task).kind == "classification"]
BENCHMARKS = ("arc_challenge", "openbookqa", "gpqa", "narrativeqa", "math", "simpleqa")
DATASETS = {"trec": 500, "cb": 250, "rte": 2490, "dbpedia": 2000, "wos": 2000}  # and how many of their rows are asked
OUTCOMES = (
    "tweets_rd",
    "tweets_pop",
    "news",
    "news_short",
    "manifestos",
    "manifestos_multi",
    "stance",
    "stance_long",
    "mii",
    "mii_long",
    "synth",
    "synth_short",
)


def test_what_ships() -> None:
    assert set(AUDITS) == {
        "quickstart",
        "nightly",
        "model",
        "templates",
        "paper_errica",
        "paper_barrie",
        "paper_barrie_newer",
        "paper_barrie_models",
        "paper_hua",
        "paper_hua_older",
        *(f"paper_{task}" for task in DATASETS),
        *(f"paper_pss_{outcome}" for outcome in OUTCOMES),
        *(f"paper_{task}" for task in BENCHMARKS),
    }
    assert {
        "lexical",
        "random",
        "simulated",
        "lexical_noisy",
        "gpt-4o-mini",
        "ollama",
        "vllm",
        "llama_cpp",
        "smollm2",
    } <= set(REGISTRY.entries["models"])
    assert OWN == [
        "arithmetic",
        "complaint_severity",
        "general_knowledge",
        "prompt_injection",
        "question_type",
        "reading",
        "short_facts",
        "support_team",
    ]


@pytest.mark.parametrize("audit", AUDITS)
def test_every_audit_reaches_only_cards_that_are_there(audit: str) -> None:
    used = REGISTRY.used_by(audit)
    assert used["tasks"]
    assert used["models"]
    assert bool(used["rephrasers"]) == any(task in REPHRASED for task in used["tasks"])
    assert bool(used["templates"]) == any(task not in REPHRASED for task in used["tasks"])
    assert len(REGISTRY.fingerprint(audit)) == 16


def test_every_judge_names_a_model_or_judges_that_do() -> None:
    for name in REGISTRY.entries["judges"]:
        card = REGISTRY.judge(name)
        for member in card.panel or (name,):
            REGISTRY.entry("models", REGISTRY.judge(member).model or "", member)


def test_the_judge_of_simpleqa_tells_three_grades_apart() -> None:
    card = REGISTRY.judge("simpleqa_judge")
    assert card.has_marks
    assert "{instructions}" not in card.rubric
    for grade, is_match in {"correct": True, "incorrect": False, "not attempted": False}.items():
        assert f'"{grade}"' in card.rubric
        verdict = read_verdict(f'{{"reason": "so it is", "grade": "{grade}"}}', card.reply_form)
        assert verdict == (is_match, "so it is", grade)


def test_the_quickstart_needs_no_network_and_no_key() -> None:
    used = REGISTRY.used_by("quickstart")
    assert {REGISTRY.model(name).engine for name in used["models"]} == {"embedded"}
    assert {REGISTRY.rephraser(name).kind for name in used["rephrasers"]} == {"fixed"}
    assert sorted(used["tasks"]) == ["support_team"]


def test_the_quickstart_is_as_large_as_it_says() -> None:
    audit = REGISTRY.audit("quickstart")
    assert audit.rephrasing is not None
    assert audit.rephrasing.variants is not None
    asked = audit.repetitions.original + (audit.rephrasing.variants - 1) * audit.repetitions.variants
    task = REGISTRY.task("support_team")
    n_samples = len(load_samples("support_team", task, REGISTRY.data_root("support_team")))
    # 4 x (10 + 11 x 2) x 60
    assert len(audit.models) * len(audit.strategies) * asked * n_samples == 7_680
    assert "7,680" in (SHIPPED / "audits/quickstart.yml").read_text("utf-8")


@pytest.mark.parametrize("task", [task for task in OWN if REGISTRY.task(task).kind != "open_ended"])
def test_own_data_is_balanced_over_the_labels_and_has_no_doubles(task: str) -> None:
    entry = REGISTRY.entry("tasks", task)
    samples = load_samples(task, REGISTRY.task(task), entry.root)
    counts = Counter(sample.gold_label for sample in samples)
    assert set(counts) == set(REGISTRY.task(task).label_names)
    assert len(set(counts.values())) == 1
    assert len({sample.sample_id for sample in samples}) == len(samples)
    assert len({sample.text.casefold() for sample in samples}) == len(samples)


def test_own_data_is_enough_together() -> None:
    rows = 0
    for path in sorted((SHIPPED / "datasets").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += len(list(csv.DictReader(file)))
    # question_type, complaint_severity, general_knowledge, prompt_injection, reading, arithmetic, short_facts, support_team
    assert rows == 84 + 60 + 60 + 24 + 40 + 48 + 48 + 60


@pytest.mark.parametrize("task", sorted(set(TASKS) - set(OWN)))
def test_data_that_does_not_ship_says_how_much_there_is(task: str) -> None:
    data = REGISTRY.task(task).data
    assert data.rows is not None
    if data.gold_labels is not None:
        assert set(data.gold_labels.values()) == set(REGISTRY.task(task).label_names)


@pytest.mark.parametrize("task", REPHRASED)
def test_the_rules_give_thirty_kept_wordings_of_every_instruction(task: str) -> None:
    card = REGISTRY.task(task)
    names = (f"{{{name}}}" for name in placeholders(card.instruction))
    wording = Wording(task, card.instruction, (*card.label_names, *names, *card.protected))
    rephraser = RulesRephraser(RephraserCard.model_validate(REGISTRY.rephraser("rules").model_dump()))
    for temperature in (None, 0.1, 5.0):
        wordings = asyncio.run(rephraser.rephrase(wording, 30, temperature, 0))
        assert len(set(wordings)) == 30
        assert {why_refused(card.instruction, text, wording.protected) for text in wordings} == {None}


@pytest.mark.parametrize("task", REPHRASED)
def test_an_instruction_names_no_format_and_protects_what_it_holds(task: str) -> None:
    card = REGISTRY.task(task)
    assert card.output_format
    assert all(word in card.instruction for word in card.protected)


@pytest.mark.parametrize("audit", [f"paper_pss_{outcome}" for outcome in OUTCOMES])
def test_the_design_of_barrie_et_al(audit: str) -> None:
    card = REGISTRY.audit(audit)
    assert card.rephrasing is not None
    assert card.rephrasing.temperatures is not None
    assert len(card.rephrasing.temperatures) == 25
    assert (min(card.rephrasing.temperatures), max(card.rephrasing.temperatures)) == (0.1, 5.0)
    assert card.rephrasing.variants_per_temperature == 10
    assert (card.repetitions.original, card.repetitions.variants) == (30, 3)
    assert card.samples.limit == 500
    (model,) = (REGISTRY.model(name) for name in card.models)
    assert (model.model, model.sampling.temperature) == ("gpt-3.5-turbo", 0.1)
    (task,) = card.tasks
    assert REGISTRY.task(task).level == ("interval" if task == "pss_manifestos_multi" else "nominal")
    assert REGISTRY.task(task).labels_line == "none"  # what is sent is the instruction and the format alone
    n_answers = min(500, REGISTRY.task(task).data.rows or 0) * (30 + 25 * 10 * 3)
    assert f"{n_answers:,} answers" in (SHIPPED / f"audits/papers/{task}.yml").read_text("utf-8")


def test_the_twelve_outcomes_of_barrie_et_al_in_one_audit() -> None:
    whole, one = REGISTRY.audit("paper_barrie"), REGISTRY.audit("paper_pss_mii")
    assert whole.tasks == tuple(f"pss_{outcome}" for outcome in OUTCOMES)
    assert whole.model_copy(update={"tasks": one.tasks, "budget": one.budget}) == one


@pytest.mark.parametrize(("audit", "n_answers"), [("newer", 44_400), ("models", 4_100)])
def test_barrie_et_al_under_other_models(audit: str, n_answers: int) -> None:
    card = REGISTRY.audit(f"paper_barrie_{audit}")
    assert card.rephrasing is not None
    asks = card.repetitions.original + len(card.rephrasing.temperatures or ()) * card.rephrasing.wanted
    assert (card.samples.limit or 0) * asks * len(card.tasks) * len(card.models) == n_answers
    assert f"= {n_answers:,} answers" in (SHIPPED / f"audits/papers/barrie_{audit}.yml").read_text("utf-8")


def test_the_thirteen_models_that_barrie_et_al_reckon_with_have_prices() -> None:
    # US dollars for the 306,390,955 tokens of prompt and 3,144,022 of answer of the paper's own work, as its table C.1 has them
    printed = {
        "gpt-4o-mini": 47.85,
        "gpt-4o": 797.42,
        "o1-mini": 350.86,
        "o1": 4784.51,
        "o3-mini": 350.86,
        "claude-3.5-haiku": 257.69,
        "claude-3.5-sonnet": 966.33,
        "deepseek-v3": 43.78,
        "deepseek-r1": 175.40,
        "gemini-1.5-flash": 47.85,
        "gemini-1.5-pro": 398.71,
        "mistral-small": 63.16,
        "mistral-large": 631.65,
    }
    for name, usd in printed.items():
        price = price_of(REGISTRY.model(name))
        assert price is not None
        assert usd_of(price, 306_390_955, 3_144_022) == pytest.approx(usd, abs=0.011)


@pytest.mark.parametrize("task", DATASETS)
def test_the_five_datasets_of_errica_et_al_in_one_audit(task: str) -> None:
    whole, one = REGISTRY.audit("paper_errica"), REGISTRY.audit(f"paper_{task}")
    assert whole.tasks == tuple(DATASETS)
    assert whole.samples.of(task) == one.samples
    assert whole.models == (*one.models, "random_or_invalid", "llama-3-70b_half_noisy")
    assert {name: len(models) for name, models in whole.model_sets.items()} == {"open": 2, "closed": 2}
    assert {name for models in whole.model_sets.values() for name in models} == set(one.models)
    assert REGISTRY.model("gpt-3.5-turbo").model == "gpt-3.5-turbo-0125"
    assert REGISTRY.model("llama-3-70b_half_noisy").rate == 0.5
    same = {"tasks": one.tasks, "models": one.models, "samples": one.samples, "budget": one.budget}
    assert whole.model_copy(update=same) == one


@pytest.mark.parametrize("task", DATASETS)
def test_the_design_of_errica_et_al(task: str) -> None:
    card = REGISTRY.audit(f"paper_{task}")
    n_rows = REGISTRY.task(task).data.rows or 0
    assert min(card.samples.limit or n_rows, n_rows) == DATASETS[task]
    assert card.samples.balanced == (task in ("dbpedia", "wos"))
    # where all rows are asked, none is left to be an example
    assert card.samples.limit is not None or REGISTRY.task(task).examples is not None
    assert card.rephrasing is not None
    assert card.rephrasing.variants == 30
    assert (card.repetitions.original, card.repetitions.variants) == (1, 1)
    assert card.strategies == ("simple", "detail", "one_shot")
    assert len(card.models) == 4


@pytest.mark.parametrize("task", BENCHMARKS)
def test_the_design_of_hua_et_al(task: str) -> None:
    audit = REGISTRY.audit(f"paper_{task}")
    open_models = {name for name in audit.models if REGISTRY.model(name).engine == "vllm_server"}
    assert (len(audit.models), len(open_models)) == ((4, 1) if task == "narrativeqa" else (7, 4))
    assert {name: set(members) for name, members in audit.model_sets.items()} == (
        {} if task == "narrativeqa" else {"open": open_models}
    )
    templates = REGISTRY.templates(REGISTRY.task(task).templates or "")
    assert len(templates.templates) == 12
    assert (audit.repetitions.original, audit.repetitions.variants, audit.format.policy) == (1, 1, "warn")
    assert (audit.format.max_invalid_rate, audit.format.max_invalid_rate_at_first) == (1, 1)
    both = ("gpt_judge", "gemini_judge", "both_judges")
    judges = {"arc_challenge": both, "simpleqa": ("simpleqa_judge",)}
    assert audit.judges == judges.get(task, ("gemini_judge",))
    n_samples = audit.samples.limit or REGISTRY.task(task).data.rows or 0
    answers = n_samples * len(templates.templates) * len(audit.models)
    text = (SHIPPED / f"audits/papers/{task}.yml").read_text("utf-8")
    assert (
        f"{n_samples:,} samples x {len(templates.templates)} templates x {len(audit.models)} models = {answers:,}"
        in text
    )


def test_the_whole_of_hua_et_al_is_its_six_parts() -> None:
    whole, parts = REGISTRY.audit("paper_hua"), [REGISTRY.audit(f"paper_{task}") for task in BENCHMARKS]
    assert sorted(whole.tasks) == sorted(BENCHMARKS)
    assert set(whole.models) == {name for part in parts for name in part.models}
    for part in parts:
        (task_id,) = part.tasks
        assert part.samples.of(task_id) == whole.samples.of(task_id)
        ruling = [name for name in whole.judges if REGISTRY.judge(name).rules_on(task_id)]
        assert sorted(ruling) == sorted(part.judges)


def test_the_older_models_of_hua_et_al_are_asked_what_the_others_are() -> None:
    older, whole = REGISTRY.audit("paper_hua_older"), REGISTRY.audit("paper_hua")
    served = [REGISTRY.model(name).model for name in older.models]
    assert served == ["meta-llama/Llama-2-7b-chat-hf", "mistralai/Mistral-7B-Instruct-v0.1"]
    choices = [name for name in whole.tasks if REGISTRY.task(name).kind == "multiple_choice"]
    assert list(older.tasks) == choices
    # gemma and Mistral refuse a system message
    assert all(each.system is None for each in REGISTRY.templates("multiple_choice").templates)
    n_samples = sum(REGISTRY.task(name).data.rows or 0 for name in choices)
    assert f"= {n_samples * 12 * 2:,} answers" in (SHIPPED / "audits/papers/hua_older.yml").read_text("utf-8")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["number", "persn"], "pair_classes names 'persn', which is no label; nearest: person"),
        (["number", "number"], "pair_classes names 'number' twice"),
        (["number", "person", "entity", "location"], "at most 3"),
    ],
)
def test_classes_to_show_are_labels_of_the_task_and_at_most_three(names: list[str], said: str) -> None:
    card = REGISTRY.task("question_type").model_dump()
    assert TaskCard.model_validate({**card, "pair_classes": names[0]}).pair_classes == ("number",)
    with pytest.raises(ValidationError, match=said):
        TaskCard.model_validate({**card, "pair_classes": names})


def test_a_model_of_this_machine_never_gets_a_providers_key() -> None:
    for name in REGISTRY.entries["models"]:
        card = REGISTRY.model(name)
        hosts = {urlsplit(url).hostname for url in card.base_url}
        if hosts:
            assert (card.api_key_env == "OPENAI_API_KEY") == (hosts == {"api.openai.com"})


@pytest.mark.parametrize("kind", ["audits", "tasks"])
def test_every_file_says_what_it_is_and_a_papers_design_what_it_is_unsure_of(kind: str) -> None:
    entries: dict[str, Entry] = {entry.file: entry for entry in REGISTRY.entries[kind].values()}
    for file, entry in entries.items():
        text = (entry.root / file).read_text("utf-8")
        assert text.startswith("# "), file
        if file.startswith("audits/papers/"):
            assert "# Unsure: " in text, file
