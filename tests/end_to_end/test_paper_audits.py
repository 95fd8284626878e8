"""The three papers' audits run whole, by name, on small data of their shape: every section of each report is filled."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptaudit.report.chart_files import FIGURES
from tests.support.openai_server import RunningServer
from tests.support.paper_runs import BARRIE, ERRICA, HUA, PEOPLE, Paper, have_people_rule, run_paper
from tests.support.paper_server import running_papers
from tests.support.report_sections import sections_of
from tests.support.shell import promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ASKED_ONCE = "No original wording was asked twice, so there are no repetitions to compare."
OPEN = "An open-ended task has no labels to measure this by."
NONE_BREAKS = "No variant breaks its format."
ALL_READ = "Every answer was read."
TOO_FEW = "There are fewer than 20 samples, or no wording beside the original."
FEW = "No gold label of this task has 3 samples, so there are no pairs to show."
NEVER_ABSENT = {
    "Scorecard",
    "Sensitivity by sample",
    "Labels of a few telling samples",
    "PSS by model",
    "Distinct answers",
    "Prompts, worst first",
    "Cost, tokens, latency and retries",
    "Most sensitive samples",
    "Run",
    "How to read this",
}
RIGHTLY_ABSENT = {  # what an audit of this design has nothing for
    "paper_errica": {NONE_BREAKS, ASKED_ONCE, FEW, ALL_READ, TOO_FEW},
    "paper_barrie": {
        NONE_BREAKS,
        FEW,
        "No sample of this task has a gold label, so there are no classes.",
        "No sample of this task has a gold label, so there are no classes to compare.",
        "No two samples of this task share a gold label, so no sample has others of its class.",
        "No sample has both figures: they need two prompt variants, and two samples of one gold label.",
        "No sample of this task has a gold label, so no answer can be called right or wrong.",
    },
    "paper_hua": {
        NONE_BREAKS,
        ASKED_ONCE,
        OPEN,
        FEW,
        ALL_READ,
        TOO_FEW,
        "No two raters, be they judges, people or rules, ruled on the same answer.",
    },
}
ANSWERS = "Answers"  # a grid, which a script draws
EMPTY = {  # sections of which nothing is there
    "paper_errica": {"PSS by repetition", "PSS by share of the samples", "Format checks"},
    "paper_barrie": {
        "Sensitivity by class",
        "Sensitivity against consistency",
        "Consistency by class",
        "Consistency by sample",
        "Pairs of samples of one class",
        "Accuracy by variant",
        "Which wording to ship",
        "Format checks",
    },
    "paper_hua": {"PSS by repetition", "PSS by share of the samples", "Format checks", "Which wording to ship"},
}


@pytest.fixture(scope="module")
def models() -> Iterator[RunningServer]:
    with running_papers() as server:
        yield server


def check_report(folder: Path, paper: Paper) -> None:
    """Every section has a chart or a table, but for those that this design has nothing for, which say why."""
    pages = [page for page in (folder / "warehouse/published/reports").glob("*.html") if ".formats." not in page.name]
    held = sections_of(pages)
    assert set(held) >= NEVER_ABSENT
    assert "All figures" in held  # a fold of other sections
    empty = {name for name, section in held.items() if section.n_charts + section.n_tables == 0} - {
        ANSWERS,
        "All figures",
    }
    assert empty <= EMPTY[paper.audit_id]
    said = {sentence for name, section in held.items() if name != ANSWERS for sentence in section.absent}
    assert said <= RIGHTLY_ABSENT[paper.audit_id]
    assert all(held[name].absent for name in empty)


def check_charts(folder: Path) -> set[str]:
    """Every chart is a drawing, two pictures and its data, every table across tasks two texts; returns the charts' names."""
    ended = promptaudit(folder, "report", "--charts", "charts")
    assert ended.code == 0, ended.err
    files = sorted((folder / "charts").iterdir())
    tables = {file.stem for file in files if file.stem.startswith("table-")}
    names = {file.stem for file in files} - tables
    assert tables
    assert len(files) == 4 * len(names) + 2 * len(tables)
    assert all(file.stat().st_size > 10 for file in files)
    return names


@pytest.mark.soak
def test_errica_et_al(tmp_path: Path, models: RunningServer) -> None:
    run_paper(tmp_path, models.base_url, ERRICA)
    check_report(tmp_path, ERRICA)
    card = sql(tmp_path, "select * from marts.rpt_audit")
    # five tasks under three strategies, of four models, one by chance and one that errs on purpose
    assert len({(row["task_id"], row["strategy"], row["model_id"]) for row in card}) == len(card) == 5 * 3 * 6
    assert {(row["task_id"], row["n_samples"]) for row in card} == {
        ("trec", 60),
        ("cb", 30),
        ("rte", 20),
        ("dbpedia", 28),
        ("wos", 14),
    }
    assert {row["n_variants"] for row in card} == {4}
    assert {row["n_landed"] - row["n_planned"] for row in card} == {0}
    # each model rewords its own prompts; those who cannot are asked another's
    own = sql(tmp_path, "select distinct array_to_string(model_ids, ' ') as who from marts.dim_prompt_variants")
    who = [set(row["who"].split()) for row in own if row["who"]]
    cannot = {"llama-3-70b_half_noisy", "random_or_invalid"}
    assert all(each - cannot for each in who)
    assert set().union(*who) == {row["model_id"] for row in card}

    def mean(model: str, measure: str) -> float:
        values = [row[measure] for row in card if row["model_id"] == model]
        assert len(values) == 15
        return sum(values) / len(values)

    # the better a model knows the labels, the less the wording moves it; noise makes it as sensitive as chance nearly does
    order = ["gpt-4o", "gpt-3.5-turbo", "mixtral-8x7b-instruct", "llama-3-70b_half_noisy", "random_or_invalid"]
    assert all(mean(a, "sensitivity") < mean(b, "sensitivity") for a, b in itertools.pairwise(order))
    assert mean("gpt-4o", "consistency") > mean("random_or_invalid", "consistency")
    assert (
        mean("gpt-4o", "micro_f1") > mean("mixtral-8x7b-instruct", "micro_f1") > mean("random_or_invalid", "micro_f1")
    )


@pytest.mark.soak
def test_barrie_et_al(tmp_path: Path, models: RunningServer) -> None:
    run_paper(tmp_path, models.base_url, BARRIE)
    check_report(tmp_path, BARRIE)
    stability = sql(
        tmp_path,
        "select task_id, paraphrase_temperature as temperature, pss, n_annotators from marts.fct_prompt_stability "
        "where scope = 'inter' and series = 'all' and annotation_filter = 'valid'",
    )
    # the original and three rewordings of each temperature
    assert {row["n_annotators"] for row in stability} == {4}
    by_temperature: dict[float, list[float]] = {}
    for row in stability:
        by_temperature.setdefault(row["temperature"], []).append(row["pss"])
    assert sorted(by_temperature) == [0.1, 1, 2, 3.5, 5]
    assert {len(values) for values in by_temperature.values()} == {12}
    # the more freely a rephraser may reword, the less the wordings agree
    means = [sum(by_temperature[at]) / 12 for at in sorted(by_temperature)]
    assert all(cool > warm for cool, warm in itertools.pairwise(means))
    assert means[0] > means[-1] + 0.2
    card = sql(tmp_path, "select pss_intra, pss_inter, consistency, micro_f1, wording_share from marts.rpt_audit")
    assert len(card) == 12
    assert all(row["pss_intra"] > row["pss_inter"] for row in card)  # the same asked again agrees better
    assert all(row["wording_share"] > 0 and row["consistency"] is row["micro_f1"] is None for row in card)
    wordings = sql(
        tmp_path,
        "select paraphrase_temperature as temperature, count(*) as n, count(distinct instruction) as n_distinct "
        "from marts.dim_prompt_variants where not is_original group by all",
    )
    assert {(row["n"], row["n_distinct"]) for row in wordings} == {(12 * 3, 12 * 3)}
    names = check_charts(tmp_path)
    assert all(name.startswith(tuple(FIGURES.values())) for name in names)
    assert sum(name.startswith(FIGURES["stability_by_wording"]) for name in names) == 12


@pytest.fixture(scope="module")
def hua(tmp_path_factory: pytest.TempPathFactory, models: RunningServer) -> Path:
    """A folder in which the audit of Hua et al. was run."""
    folder = tmp_path_factory.mktemp("hua")
    run_paper(folder, models.base_url, HUA)
    return folder


def test_hua_et_al(hua: Path) -> None:
    check_report(hua, HUA)
    # gemma refuses a system message, which no template has
    assert sql(hua, "select count(*) as n from marts.fct_predictions where answer_status = 'error'") == [{"n": 0}]
    spreads = sql(hua, "select model_id, task_id, scoring_method, n_variants from marts.fct_scoring_sensitivity")
    choices, open_ended = {"arc_challenge", "gpqa", "openbookqa"}, {"math", "narrativeqa", "simpleqa"}
    assert {row["task_id"] for row in spreads} == choices | open_ended
    weighed = {(row["task_id"], row["model_id"]) for row in spreads if row["scoring_method"] == "option_loglikelihood"}
    served = {"llama-3.1-8b-instruct", "ministral-8b-instruct", "qwen2-7b-instruct", "gemma-2-9b-it"}
    assert weighed == set(
        itertools.product(choices, served)
    )  # a model that weighs no options has no figure by that rule
    ranked = sql(
        hua,
        "select task_id, scoring_method, model_set, n_models from marts.fct_ranking_consistency where model_set = 'all'",
    )
    n_models = {row["scoring_method"]: row["n_models"] for row in ranked}
    assert n_models["option_loglikelihood"] == 4
    assert n_models["option_letter"] == n_models["judge:gemini_judge"] == n_models["math_boxed"] == 7
    controls = sql(hua, "select distinct task_id, scoring_method from marts.fct_judge_controls")
    judges = {row["scoring_method"] for row in controls if row["task_id"] == "arc_challenge"}
    assert judges == {"judge:gemini_judge", "judge:gpt_judge", "judge:both_judges"}
    others = {row["task_id"]: row["scoring_method"] for row in controls if row["task_id"] != "arc_challenge"}
    assert others == dict.fromkeys(("gpqa", "math", "narrativeqa", "openbookqa"), "judge:gemini_judge") | {
        "simpleqa": "judge:simpleqa_judge"
    }
    against = sql(
        hua,
        "select avg(spread_rule) as rule, avg(spread_judge) as judge from marts.rpt_rule_against_judge "
        "where rule = 'option_letter' and judge = 'judge:gemini_judge'",
    )
    assert against[0]["rule"] > 2 * against[0]["judge"]  # much of the spread is the rule's


@pytest.mark.soak
def test_three_people_rule_on_answers_of_hua_et_al(hua: Path) -> None:
    # a judge is verified from ten samples under each template on
    n_rows = have_people_rule(hua, n_questions=12)
    assert n_rows > 12 * 6
    agreement = sql(
        hua,
        "select raters, fleiss_kappa, n_rated from marts.fct_judge_agreement where task_id = 'arc_challenge' order by raters",
    )
    by_raters = {row["raters"]: row for row in agreement}
    everyone = by_raters[" | ".join(f"person:{person}" for person in PEOPLE)]
    assert 0.5 < everyone["fleiss_kappa"] < 1
    states = sql(
        hua, "select distinct judge, judge_state from marts.rpt_rule_against_judge where task_id = 'arc_challenge'"
    )
    assert {row["judge_state"] for row in states} == {"verified"}
    check_report(hua, HUA)
