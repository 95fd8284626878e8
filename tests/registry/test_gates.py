"""The grammar of a gate: what it reads, what it refuses and how it says so, and that its columns are the marts'."""

from __future__ import annotations

import contextlib
import functools
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from promptaudit.cards.check_cards import check_cards
from promptaudit.plan.design import design_audit
from promptaudit.registry.ages import age_of
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.errors import CardError
from promptaudit.registry.gate_columns import COMPARISONS, OF_ANSWERS, TABLES, TEMPERATURE, Columns, compared_measures
from promptaudit.registry.gate_rules import Condition, DriftRule, LostRule, Rule, ValueRule, VerdictRule
from promptaudit.registry.gates import RuleError, parse_gate, parse_rule
from promptaudit.registry.mart_columns import ABOVE, ANY
from promptaudit.registry.registry import load_registry

MARTS = Path(__file__).parents[2] / "dbt/models/marts"
USUAL = (Condition("series", "=", "all"), Condition("annotation_filter", "=", "labels_and_na"))


def value_rule(text: str) -> ValueRule:
    rule = parse_rule(text)
    assert isinstance(rule, ValueRule)
    return rule


# ---------------------------------------------------------------- what is read
@pytest.mark.parametrize(
    ("text", "table", "figure", "implied"),
    [
        ("sensitivity_corrected_high <= 0.2", "rpt_audit", "sensitivity_corrected_high", ()),
        ("sensitivity_high <= 0.2", "rpt_audit", "sensitivity_high", ()),
        ("pss_inter_low >= 0.8", "rpt_audit", "pss_inter_low", ()),
        (
            "pss_inter_low >= 0.8 at paraphrase_temperature <= 1",
            "fct_prompt_stability",
            "pss_low",
            (Condition("scope", "=", "inter"), *USUAL),
        ),
        ("pss_inter_model >= 0.5", "fct_prompt_stability", "pss", (Condition("scope", "=", "inter_model"), *USUAL)),
        ("pss >= 0.5 at scope = intra", "fct_prompt_stability", "pss", USUAL),
        (
            "pss_intra >= 0.5 at annotation_filter = verbatim",
            "fct_prompt_stability",
            "pss",
            (Condition("scope", "=", "intra"), USUAL[0]),
        ),
        ("accuracy_mean >= .7 at scoring_method = option_letter", "fct_scoring_sensitivity", "accuracy_mean", ()),
        ("mean_spearman >= 0.9 at model_set = all", "fct_ranking_consistency", "mean_spearman", ()),
        ('fleiss_kappa >= 0.6 at kind = "judge and judge"', "fct_judge_agreement", "fleiss_kappa", ()),
        ("fleiss_kappa >= 0.6", "fct_scoring_sensitivity", "fleiss_kappa", ()),
        ("n_samples >= 100", "rpt_audit", "n_samples", ()),
        ("n_samples_planned >= 100", "rpt_audit", "n_samples_planned", ()),
        ("sensitivity_if_missing_na <= 0.2", "rpt_audit", "sensitivity_if_missing_na", ()),
        (
            'accuracy_rectified_low >= 0.8 at scoring_method = "judge:j"',
            "fct_scoring_sensitivity",
            "accuracy_rectified_low",
            (),
        ),
        ("n_ruled >= 60", "fct_scoring_sensitivity", "n_ruled", ()),
        ("n_samples >= 100 at scoring_method = math_equal", "fct_scoring_sensitivity", "n_samples", ()),
    ],
)
def test_a_value_rule_reads_the_first_table_that_has_all_it_names(
    text: str, table: str, figure: str, implied: tuple[Condition, ...]
) -> None:
    rule = value_rule(text)
    assert (rule.table, rule.figure, rule.implied) == (table, figure, implied)


def test_conditions_are_of_their_columns_kind() -> None:
    rule = value_rule(
        "pss>=.5 at scope=inter and model_id != \"a 'b' and c\" and n_annotators>1e1 and is_degenerate==false"
    )
    assert rule.conditions == (
        Condition("scope", "=", "inter"),
        Condition("model_id", "!=", "a 'b' and c"),
        Condition("n_annotators", ">", 10.0),
        Condition("is_degenerate", "=", False),
    )
    assert value_rule("micro_f1 >= 0.8 at model_id = and").conditions == (Condition("model_id", "=", "and"),)
    # a name that looks like a number stays the text that it is
    assert value_rule("micro_f1 >= 0.8 at task_id = 010").conditions == (Condition("task_id", "=", "010"),)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("no regressed", VerdictRule("regressed", None, "last_night", ())),
        ("no regressed on micro_f1", VerdictRule("regressed", "micro_f1", "last_night", ())),
        ("no changed on answer_length", VerdictRule("changed", "answer_length", "last_night", ())),
        ("no changed on label_churn", VerdictRule("changed", "label_churn", "last_night", ())),
        (
            'no regressed on "accuracy:judge:my judge" against release-4 at strategy = simple',
            VerdictRule("regressed", "accuracy:judge:my judge", "release-4", (Condition("strategy", "=", "simple"),)),
        ),
        (
            "no regressed against baseline at cause != we_changed_the_prompt and q_value < 0.01",
            VerdictRule(
                "regressed",
                None,
                "baseline",
                (Condition("cause", "!=", "we_changed_the_prompt"), Condition("q_value", "<", 0.01)),
            ),
        ),
    ],
)
def test_a_verdict_rule(text: str, rule: VerdictRule) -> None:
    assert parse_rule(text) == rule


def test_a_rule_on_single_samples() -> None:
    rule = parse_rule("no  sample lost at task_id = refunds")
    assert isinstance(rule, LostRule)
    assert str(rule) == "no sample lost at task_id = refunds"


def test_a_rule_on_a_judge_is_about_its_nights_alone() -> None:
    rule = parse_rule('no drift of "judge:my judge" at task_id = facts')
    assert rule == DriftRule("judge:my judge", (Condition("task_id", "=", "facts"),))
    assert str(rule) == 'no drift of "judge:my judge" at task_id = facts'
    assert rule.is_of("judge:my judge")
    assert not rule.is_of("judge:other")
    assert not rule.is_about("micro_f1")
    regressed = parse_rule("no regressed")
    assert isinstance(regressed, VerdictRule)
    assert not regressed.is_of("judge:my judge")
    assert not regressed.is_about("judge_agreement")
    agreed = value_rule("judge_agreement >= 0.9 at scoring_method = judge:x")
    assert (agreed.table, agreed.columns.interval_of("judge_agreement")) == (
        "rpt_judge_anchors",
        ("judge_agreement", "judge_agreement_low", "judge_agreement_high"),
    )


def test_which_measures_a_verdict_is_about() -> None:
    def about(text: str) -> set[str]:
        rule = parse_rule(text)
        assert isinstance(rule, VerdictRule)
        measures = ("micro_f1", "accuracy:token_f1", "accuracy_std:label_match", "label_churn", *OF_ANSWERS)
        return {measure for measure in measures if rule.is_about(measure)}

    assert about("no regressed") == {"micro_f1", "accuracy:token_f1", "accuracy_std:label_match"}
    assert about("no changed") == {"label_churn", *OF_ANSWERS}
    assert about("no changed on refusal_rate") == {"refusal_rate"}
    assert about("no regressed on accuracy") == {"micro_f1", "accuracy:token_f1"}
    assert about("no regressed on accuracy_std") == {"accuracy_std:label_match"}
    assert about("no regressed on accuracy:token_f1") == {"accuracy:token_f1"}
    # which are one figure, compared under its own name alone
    assert (
        about("no regressed on accuracy:label_match") == about("no regressed on accuracy:option_letter") == {"micro_f1"}
    )


def test_intervals_belong_to_the_figure_they_are_of() -> None:
    audit, stability = TABLES[0], TABLES[1]
    assert audit.interval_of("micro_f1_low") == ("micro_f1", "micro_f1_low", "micro_f1_high")
    assert audit.interval_of("sensitivity") == ("sensitivity", "sensitivity_low", "sensitivity_high")
    of_corrected = ("sensitivity_corrected", "sensitivity_corrected_low", "sensitivity_corrected_high")
    assert audit.interval_of("sensitivity_corrected") == audit.interval_of("sensitivity_corrected_high") == of_corrected
    assert audit.interval_of("cost_usd") is None
    assert stability.interval_of("pss_boot_low") == ("pss", "pss_boot_low", "pss_boot_high")


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sensitivityhigh <= 0.2", "character 1: no column 'sensitivityhigh'; nearest: sensitivity_high"),
        ("cost_usd_high <= 1", "character 1: cost_usd has no interval, and so no 'cost_usd_high'"),
        ("strategy <= 1", "character 1: 'strategy' tells rows apart: it is for a condition, after 'at'"),
        ("audit_run_id <= 1", "character 1: no column 'audit_run_id'"),
        ("invalid_rate <= 10", "character 17: a limit on invalid_rate is between 0 and 1, not 10"),
        ("n_samples >= -1", "character 14: a limit on n_samples is at least 0, not -1"),
        ("micro_f1 >= 1e999", "character 13: a finite number is wanted, not 1e999"),
        ("micro_f1 >= nan", "character 13: a number is wanted"),
        ("micro_f1 >= 80%", "character 13: a number is wanted"),
        ("micro_f1 == 0.8", "character 10: one of <= < >= > is wanted"),
        ("micro_f1 >= 0.8 or 1", "character 17: 'at' or the end is wanted"),
        ("micro_f1 >= 0.8 at", "character 19: a name is wanted, the rule ends"),
        (
            "accuracy >= 0.8 at field = total amount",
            "character 34: 'and' or the end is wanted; a name of several words stands in \"quotes\"",
        ),
        ("micro_f1 >= 0.8 at model = m", "character 20: 'model' is no condition on micro_f1; nearest: model_id"),
        (
            "sensitivity <= 0.2 at paraphrase_temperature <= 1",
            "character 23: 'paraphrase_temperature' is no condition on",
        ),
        ("pss >= 0.8 at scope = intr", "character 23: no scope 'intr'; nearest: intra"),
        ("pss >= 0.8 at n_annotators > x", "character 30: n_annotators is compared with a finite number, not 'x'"),
        ("pss >= 0.8 at paraphrase_temperature < inf", "a finite number, not 'inf'"),
        ("pss >= 0.8 at is_degenerate = no", "character 31: is_degenerate is true or false, not 'no'"),
        ("micro_f1 >= 0.8 at model_id > m", "character 29: model_id is compared by = or !=, not >"),
        ('micro_f1 >= 0.8 at model_id = "m', 'character 31: a name or a name in "quotes" is wanted'),
        (
            "fleiss_kappa >= 0.6 at kind = people and scoring_method = math_equal",
            "no table has fleiss_kappa with kind, scoring_method together",
        ),
        ("", "character 1: 'no' or 'same' or a name is wanted, the rule ends"),
        ("no", "character 3: 'drift' or 'worse' or 'sample' or a name is wanted, the rule ends"),
        ("no drift", "character 9: 'of' is wanted, the rule ends"),
        ("no sample", "character 10: 'lost' is wanted, the rule ends"),
        ("no sample lost at measure = micro_f1", "character 19: 'measure' is no condition on lost samples"),
        ("no drift of matcher", "character 13: a judge is written judge:<card>, not 'matcher'"),
        ("no drift of judge:m at model_id = m", "character 24: 'model_id' is no condition on a judge's drift"),
        ("no regresed", "character 4: no verdict 'regresed'; nearest: regressed"),
        ("no improved", "character 4: no verdict 'improved'"),
        (
            "no regressed against: baseline",
            "character 14: 'on' or 'against' or 'at' or the end is wanted; nearest: against",
        ),
        ("no regressed onmicro_f1", "character 14: 'on' or 'against' or 'at' or the end is wanted"),
        ("noregressed", "character 12: one of <= < >= > is wanted, the rule ends"),
        ("no regressed on micro_f", "character 17: no measure 'micro_f'; nearest: micro_f1"),
        ("no regressed on accuracy:", "character 17: no measure 'accuracy:'; nearest: accuracy"),
        ("no regressed on micro_f1:label_match", "character 17: no measure 'micro_f1:label_match'"),
        ("no changed on micro_f1", "character 15: micro_f1 is never 'changed'"),
        ("no regressed on refusal_rate", "character 17: refusal_rate is never 'regressed'"),
        ("no changed on refusal_rat", "character 15: no measure 'refusal_rat'; nearest: refusal_rate"),
        ("no changed on answer_length against pin", "character 37: answer_length is held against normal nights"),
        ("no regressed on label_churn", "character 17: label_churn is never 'regressed'"),
        ("no regressed at verdict = improved", "character 17: 'verdict' is no condition on a comparison"),
        ("micro_f1 >= 0.8; drop table marts.rpt_audit", "character 13: a number is wanted"),
        ("micro_f1 >= 0.8\x00", "character 13: a number is wanted"),
        ("micro_f1 >= 0." + "0" * 1000, "a rule has at most 1000 characters"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(text: str, said: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_rule(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    with contextlib.suppress(RuleError):
        rule = parse_rule(text)
        assert parse_rule(str(rule)) == rule


NAMES = st.text(
    st.characters(exclude_characters='"', exclude_categories=("C", "Z")) | st.just(" "), min_size=1, max_size=20
)


def conditions(columns: Columns) -> st.SearchStrategy[tuple[Condition, ...]]:
    texts = st.builds(
        Condition, st.sampled_from(["model_id", "task_id", "strategy"]), st.sampled_from(["=", "!="]), NAMES
    )
    numbers = st.builds(
        Condition,
        st.sampled_from([*columns.figures, *columns.temperatures]),
        st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
        st.integers(-1000, 1000).map(lambda n: n / 8),
    )
    return st.lists(texts | numbers, max_size=3).map(tuple)


VERDICT_RULES = st.builds(
    VerdictRule,
    st.just("regressed"),
    st.none()
    | st.sampled_from([m for m in compared_measures() if m != "label_churn"])
    | NAMES.map(lambda name: f"accuracy:{name}"),
    NAMES,
    conditions(COMPARISONS),
)
VALUE_RULES = st.builds(
    lambda op, limit, found: ValueRule(
        column="n_samples", op=op, limit=limit, conditions=found, columns=TABLES[0], figure="n_samples", implied=()
    ),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.integers(0, 1000).map(lambda n: n / 8),
    conditions(TABLES[0]),
)


DRIFT_RULES = st.builds(
    DriftRule,
    NAMES.map(lambda name: f"judge:{name}"),
    st.lists(st.builds(Condition, st.just("task_id"), st.sampled_from(["=", "!="]), NAMES), max_size=2).map(tuple),
)


@given(VERDICT_RULES | VALUE_RULES | DRIFT_RULES)
def test_a_rule_is_written_as_it_is_read(rule: Rule) -> None:
    assert parse_rule(str(rule)) == rule


def test_rules_that_mean_the_same_are_written_the_same() -> None:
    texts = ("micro_f1>=0.80 at model_id==m", '  micro_f1  >=  .8   at model_id = "m" ')
    assert {str(parse_rule(text)) for text in texts} == {"micro_f1 >= 0.8 at model_id = m"}


# ---------------------------------------------------------------- the table of columns
@functools.cache
def models() -> list[dict[str, Any]]:
    """Every mart with its columns and their types, as dbt promises them."""
    return [model for path in MARTS.glob("**/*.yml") for model in yaml.safe_load(path.read_text())["models"]]


OF_TABLE = {
    "rpt_audit": {"audit_id", "audit_run_id", "measure_version"},
    "rpt_run_comparisons": {
        "audit_id",
        "base_model_id",
        "base_run_id",
        "base_strategy",
        "candidate_run_id",
        "comparison_id",
        "measure",
        "reason",
        "verdict",
        "moved_gold_label",
        "moved_label",
        "measure_version",
    },
    "fct_scoring_sensitivity": {"audit_run_id", "judge_state", "measure_version"},
    "fct_ranking_consistency": {"audit_run_id", "rule", "measure_version"},
}


@pytest.mark.parametrize("columns", [*TABLES, COMPARISONS], ids=lambda columns: columns.table)
def test_the_known_columns_are_the_contracts(columns: Columns) -> None:
    (model,) = (model for model in models() if model["name"] == columns.table)
    contract = {column["name"]: column["data_type"] for column in model["columns"]}
    numbers = {name for name, data_type in contract.items() if data_type in ("double", "integer", "bigint")}
    # every figure has a unit, and whatever else tells rows apart can be named in a rule
    assert set(contract) - set(columns.names) == OF_TABLE.get(columns.table, {"audit_run_id", "measure_version"})
    assert set(columns.flags) == {"is_degenerate", "is_of_few_models"} & set(contract)
    for kind, names in (("varchar", columns.keys), ("boolean", columns.flags)):
        assert {contract[name] for name in names} <= {kind}
    assert {*columns.figures, *columns.temperatures} <= numbers


def test_limits_are_the_contracts_ranges() -> None:
    """A figure that dbt holds within a range takes no limit outside, and a count none below 0."""
    for table in TABLES:
        for name, limits in table.figures.items():
            assert limits != ANY, name
            assert limits == ABOVE or not name.startswith("n_"), name
    assert [table.table for table in TABLES if TEMPERATURE in table.names] == ["fct_prompt_stability"]


# ---------------------------------------------------------------- cards
CARD = "own:\n  tasks: [question_type]\n  models: [lexical, random]\n  strategies: [simple]\n"


def registry_of(folder: Path, more: str = "") -> Path:
    (folder / "audits").mkdir(parents=True)
    (folder / "audits/own.yml").write_text(CARD + more)
    return folder


def test_a_card_says_which_rule_where(tmp_path: Path) -> None:
    more = "  gate:\n    - sensitivity_high <= 0.2\n    - micro_f1 >= 0.8 at modelid = lexical\n"
    with pytest.raises(CardError) as caught:
        load_registry([registry_of(tmp_path, more)])
    assert str(caught.value) == (
        "CardError: audits/own.yml line 7: gate.1: character 20: 'modelid' is no condition on micro_f1; nearest: model_id, "
        "found 'micro_f1 >= 0.8 at modelid = lexical'"
    )


def test_a_gate_given_by_hand_names_its_rule() -> None:
    with pytest.raises(CardError, match=r"^CardError: gate\.1: character 1: no column 'f1'.*, found 'f1 >= 0'$"):
        parse_gate(["micro_f1 >= 0", "f1 >= 0"])


def test_one_rule_alone_is_a_gate(tmp_path: Path) -> None:
    registry = load_registry([registry_of(tmp_path, "  gate: no regressed\n")])
    assert registry.audit("own").gate == ("no regressed",)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("micro_f1 >= 0 at model_id = lexicl", "audit 'own' has no model_id 'lexicl'; nearest: lexical"),
        ("micro_f1 >= 0 at task_id != question", "audit 'own' has no task_id 'question'; nearest: question_type"),
        ("no regressed at strategy = detail", "audit 'own' has no strategy 'detail'; known: simple"),
        ("accuracy_mean >= 0 at scoring_method = math_equal", "has no scoring_method 'math_equal'; "),
        ("no drift of judge:matcher", "audit 'own' has no judge 'judge:matcher'"),
        ("no regressed against :lexicl", "audit 'own' has no model_id 'lexicl'; nearest: lexical"),
        ("no worse than :lexical:detail", "audit 'own' has no strategy 'detail'; known: simple"),
        ("mean_spearman >= 0 at model_set = few", "audit 'own' has no model_set 'few'; known: all"),
    ],
)
def test_validate_knows_what_the_audit_asks(tmp_path: Path, rule: str, said: str) -> None:
    registry = load_registry([registry_of(tmp_path, f"  gate: [no changed, {rule}]\n")])
    with pytest.raises(CardError) as caught:
        check_cards(registry, "own")
    assert str(caught.value).startswith("CardError: audits/own.yml line 5: gate.1: ")
    assert said in str(caught.value)


def test_validate_passes_what_the_audit_asks(tmp_path: Path) -> None:
    gate = (
        "  gate: [micro_f1 >= 0 at model_id = random and task_id = question_type, no regressed at strategy = simple]\n"
    )
    check_cards(load_registry([registry_of(tmp_path, gate)]), "own")


def test_what_is_held_against_a_run_asks_nothing_again(tmp_path: Path) -> None:
    """Neither a gate nor a threshold is part of what decides requests."""
    more = (
        "  gate: [no regressed]\n  max_age: 2d\n  min_effect: 0.1\n  max_cost_increase: 0.25\n  max_latency_increase: 1\n"
        "  retention: {raw_nights: 30}\n"
    )
    plain, held = (
        design_audit(load_registry([folder]), "own")
        for folder in (registry_of(tmp_path / "a"), registry_of(tmp_path / "b", more))
    )
    assert plain.audit != held.audit
    assert plain.plan_fingerprint == held.plan_fingerprint
    assert (held.audit.min_effect, held.audit.max_cost_increase, held.audit.max_latency_increase) == (0.1, 0.25, 1)
    assert held.audit.retention.raw_nights == 30


def test_defaults() -> None:
    card = AuditCard(tasks=("t",), models=("m",))
    assert (card.gate, card.max_age, card.min_effect) == ((), "36h", 0.02)
    assert (card.max_cost_increase, card.max_latency_increase, card.retention.raw_nights) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("36h", timedelta(hours=36)),
        ("2d", timedelta(days=2)),
        (" 90 m ", timedelta(minutes=90)),
        ("1w", timedelta(weeks=1)),
    ],
)
def test_an_age(text: str, age: timedelta) -> None:
    assert age_of(text) == age


@pytest.mark.parametrize("text", ["", "36", "h", "-1h", "0h", "1.5h", "1y", "999999d", "36h 2d", "³h"])
def test_no_age(text: str) -> None:
    with pytest.raises(ValueError, match="an age is a whole number with m, h, d or w, such as 36h or 2d"):
        age_of(text)
    with pytest.raises(ValidationError, match="an age is a whole number"):
        AuditCard(tasks=("t",), models=("m",), max_age=text)
