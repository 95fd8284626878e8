"""One template of four and one wording of an extraction give nothing that can be read, nor does a judge once, and all count."""

from __future__ import annotations

import json
import re
from math import log
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.files import write_files
from tests.support.loopback import QuietHandler, completion_of, served_in_threads
from tests.support.shell import promptaudit, sql

pytestmark = pytest.mark.slow
N, FREELY, PROSE = 8, "Speak freely.", "That is hard to say."
WRONG = {"good": 0, "fair": 2, "poor": 4}  # of the eight questions, the first ones
BEFORE = ("Please do this.", FREELY, "It is urgent.")
WORDINGS = [f"{words} Extract the total and the day of the bill." for words in BEFORE]
TEMPLATES = [f"{words}\n{{question}}\n{{options}}" for words in ("Choose.", *BEFORE)]
CARDS: dict[str, Any] = {
    "tasks/t.yml": {
        "pick": {
            "kind": "multiple_choice",
            "templates": "forms",
            "scoring": ["option_letter"],
            "data": {"path": "pick.csv", "id": "id", "input": "text", "gold_label": "gold", "options": ["a", "b"]},
        },
        "bill": {
            "kind": "extraction",
            "instruction": "Extract the total and the day of the bill.",
            "output_format": "Reply with a JSON object.",
            "fields": {"total": "number", "day": "date"},
            "data": {"path": "bill.csv", "id": "id", "input": "text"},
        },
    },
    "templates/t.yml": {"forms": {"kind": "multiple_choice", "templates": TEMPLATES}},
    "judges/rater.yml": {"rater": {"model": "rater", "tasks": ["pick"], "max_asks": 1}},
    "rephrasers/own.yml": {"own": {"kind": "fixed", "variants": {"bill": WORDINGS}}},
    "audits/mine.yml": {
        "mine": {
            "tasks": ["pick", "bill"],
            "models": list(WRONG),
            "judges": ["rater"],
            "rephrasing": {
                "rephraser": "own",
                "kinds": ["wording", "system"],
                "variants": 4,
                "variants_of": {"system": 2},
            },
            "repetitions": {"original": 2, "variants": 2},
            "format": {"policy": "warn", "max_invalid_rate_at_first": 1},
            "resamples": 20,
        }
    },
}


def answer(model: str, prompt: str) -> str:
    """`good` says nothing when it is told to speak freely, the judge nothing of one wrong answer."""
    n = int(re.findall(r"number (\d)", prompt)[-1])
    if FREELY in prompt and model == "good":
        return PROSE
    if model == "rater":
        said = prompt.split(re.findall(r"^===== [0-9a-f]{16} =====$", prompt, re.MULTILINE)[0])[-2].strip()
        return PROSE if (n, said) == (0, "B") else json.dumps({"reason": "", "match": said == "AB"[n % 2]})
    if "bill" in prompt:
        return json.dumps({"total": n, "day": f"2024-03-1{n}"})
    return "AB"[(n + (n < WRONG[model])) % 2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            asked = self.asked()
            self.send_json(completion_of(answer(asked["model"], asked["messages"][-1]["content"])))

    folder = tmp_path_factory.mktemp("breaking_kinds")
    with served_in_threads(Handler) as port:
        models = {
            name: {
                "engine": "openai_api",
                "model": name,
                "base_url": f"http://127.0.0.1:{port}/v1",
                "api_key_env": "NO_KEY",
                "price": {"input_usd_per_mtok": 0, "output_usd_per_mtok": 0},
            }
            for name in (*WRONG, "rater")
        }
        cards = {name: yaml.safe_dump(card) for name, card in (CARDS | {"models/m.yml": models}).items()}
        pick = "".join(f"p{n},What is number {n}?,ant {n},bee {n},{'AB'[n % 2]}\n" for n in range(N))
        bill = "".join(f"b{n},The bill has number {n}.,{n},2024-03-1{n}\n" for n in range(N))
        data = {"pick.csv": f"id,text,a,b,gold\n{pick}", "bill.csv": f"id,text,total,day\n{bill}"}
        write_files(folder / "registry", cards | data)
        ended = promptaudit(folder, "run", "mine", NO_KEY="none", PROMPTAUDIT_TRUST="1")
        assert ended.code == 0, ended.err + ended.out
        assert "breaks     good, pick, simple: 1 of 5 wordings breaks (2)" in ended.out
    return folder


def entropy(share: float, n_classes: int) -> float:
    return -(share * log(share) + (1 - share) * log(1 - share)) / log(n_classes)


def test_the_kind_of_a_template_that_breaks_moves_answers(folder: Path) -> None:
    query = (
        "select variation, n_variants, disagreement, effect, sensitivity, pss_inter "
        "from marts.fct_variations where model_id = 'good' and task_id = 'pick' order by 1"
    )
    system, template = sql(folder, query)
    names = ("n_variants", "disagreement", "effect", "sensitivity", "pss_inter")
    assert [system[name] for name in names] == [2, 0, 0, 0, 1]
    # 3 of the 6 pairs of templates differ on every sample, a repetition never; of 32 labels 12 are A, 12 B and 8 N/A
    alpha = 1 - 0.5 / (1 - (12 * 11 + 12 * 11 + 8 * 7) / (32 * 31))
    assert [template[name] for name in names] == pytest.approx([4, 0.5, 0.5, entropy(1 / 4, 3), alpha])
    page = (folder / "warehouse/published/report.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "good simple template not told from repeating 4 8 0.500 0.000 0.500 [" in text


def test_a_template_that_breaks_is_right_in_no_answer(folder: Path) -> None:
    accuracies = sql(
        folder,
        "select variant_index, accuracy, accuracy_scored, n_scored, n_unscored from marts.fct_variant_accuracy inner join "
        "marts.dim_prompt_variants using (audit_run_id, prompt_variant_id) "
        "where model_id = 'good' and scoring_method = 'option_letter' order by 1",
    )
    right, broken = [1, 1, 2 * N, 0], [0, None, 0, 2 * N]
    assert [list(row.values())[1:] for row in accuracies] == [right, right, broken, right, right]
    # accuracies 1, 1, 0, 1, 1: variance .8 * .2; what is scored is all right, but nothing is scored under every template
    spread = sql(
        folder,
        "select n_variants, accuracy_mean, accuracy_std, accuracy_range, accuracy_scored_mean, n_samples_scored_everywhere, "
        "perfect_agreement_rate from marts.fct_scoring_sensitivity "
        "where model_id = 'good' and scoring_method = 'option_letter'",
    )
    assert list(spread[0].values()) == [5, pytest.approx(0.8), pytest.approx(0.4), 1, 1, 0, None]
    # good, fair and poor have 1, .75, .5, but under the third template good has 0: rho -.5 in 4 of 10 pairs, 1 in 6
    ranking = sql(
        folder,
        "select scoring_method, n_variants, n_pairs, mean_spearman from marts.fct_ranking_consistency "
        "where task_id = 'pick' and model_set = 'all' order by 1",
    )
    figures = [5, 10, pytest.approx((6 - 4 * 0.5) / 10)]
    assert [list(row.values()) for row in ranking] == [["judge:rater", *figures], ["option_letter", *figures]]


def test_a_wording_under_which_no_field_can_be_read_counts_in_each_field(folder: Path) -> None:
    values = sql(
        folder,
        "select variant_index, field, count(*) as n, count(value) as n_read, count(*) filter (is_correct) as n_right "
        "from marts.fct_field_values inner join marts.dim_prompt_variants using (audit_run_id, prompt_variant_id) "
        "where model_id = 'good' group by all order by all",
    )
    wanted = [[n, field, 16, 16 * (n != 2), 16 * (n != 2)] for n in range(5) for field in ("day", "total")]
    assert [list(row.values()) for row in values] == wanted
    stability = sql(
        folder,
        "select field, n_variants, n_predictions, accuracy, unread_rate, sensitivity, pss_inter "
        "from marts.fct_field_stability where model_id = 'good' order by 1",
    )
    # 4 of 10 pairs of wordings differ on every sample; of 40 values 8 are N/A, and 4 each of the 8 bills'
    alpha = 1 - 0.4 / (1 - (8 * 7 + N * 4 * 3) / (40 * 39))
    figures = [pytest.approx(figure) for figure in (5, 80, 0.8, 0.2, entropy(1 / 5, 5), alpha)]
    assert [list(row.values()) for row in stability] == [[name, *figures] for name in ("all_fields", "day", "total")]


def test_what_a_judge_does_not_say_counts(folder: Path) -> None:
    # of 20 answers 8 are right, 4 wrong, 8 prose, which is not right for the rule nor the judge; the answer without a verdict is
    # the one that they cannot agree on
    (agreement,) = sql(
        folder, "select raters, n_rated_distinct, agreement_rate, cohen_kappa from marts.fct_judge_agreement"
    )
    assert list(agreement.values()) == ["judge:rater | option_letter", 19, 1, 1]
    accuracies = sql(
        folder,
        "select distinct model_id, accuracy, accuracy_scored, n_scored, n_unscored from marts.fct_variant_accuracy "
        "where scoring_method = 'judge:rater' order by all",
    )
    # fair and poor give the answer without a verdict to the first of 8 samples, twice under every template
    assert [list(row.values()) for row in accuracies] == [
        ["fair", 6 / 8, pytest.approx(6 / 7), 14, 2],
        ["good", 0, 0, 16, 0],
        ["good", 1, 1, 16, 0],
        ["poor", 4 / 8, pytest.approx(4 / 7), 14, 2],
    ]
