"""Awkward answers through import, format gate and dbt, held against the slow reference to 1e-9."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import md5
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from promptaudit.audit.formats.validate import validate
from promptaudit.audit.runs import close_run
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.transform import transform
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.registry import load_registry
from promptaudit.system.keys import prompt_variant_id
from promptaudit.warehouse import Warehouse
from tests.support.awkward_answers import Case, all_cases
from tests.support.intervals import outside_in_rows
from tests.support.slow_measures import entropy, inter, inter_model, intra, stability

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the independent reference, over 41 awkward audits

TOLERANCE = 1e-9
CASES = {case.name: case for case in all_cases()}
SMALL = [name for name, case in CASES.items() if case.is_small]
Row = dict[str, Any]


@dataclass
class Measured:
    """The marts of every case, by table and audit."""

    tables: dict[str, dict[str, list[Row]]]

    def rows(self, table: str, case: Case, **of: object) -> list[Row]:
        """Rows of one case with these values."""
        return [row for row in self.tables[table][case.name] if all(row[name] == value for name, value in of.items())]

    def row(self, table: str, case: Case, **of: object) -> Row:
        """The one row of one case with these values."""
        (row,) = self.rows(table, case, **of)
        return row


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("measures")
    warehouse = folder / "audit.duckdb"
    Warehouse(warehouse).apply_schema()
    registry = load_registry()
    runs = {}
    for case in CASES.values():
        path = folder / f"{case.name}.parquet"
        case.frame().write_parquet(path)
        options = ImportOptions(labels=case.labels, level=case.level, reader="exact", resamples=10)
        runs[case.name] = import_predictions(Warehouse(warehouse), [path], registry, options).audit_run_id
    transform(Warehouse(warehouse), list(runs.values()), "up_to_formats")
    for case in CASES.values():
        if case.max_invalid_rate is not None:
            limits = FormatLimits(policy="warn", max_invalid_rate=case.max_invalid_rate)
            assert validate(Warehouse(warehouse), runs[case.name], limits).action == "warned"
    for run in runs.values():
        close_run(Warehouse(warehouse), run, "complete")
    transform(Warehouse(warehouse), list(runs.values()), "after_formats")
    return Measured(_marts(warehouse, {run: name for name, run in runs.items()}))


def _marts(warehouse: Path, names: dict[str, str]) -> dict[str, dict[str, list[Row]]]:
    tables: dict[str, dict[str, list[Row]]] = {}
    with Warehouse(warehouse).write() as con:
        for (table,) in con.execute(
            "select table_name from information_schema.tables where table_schema = 'marts'"
        ).fetchall():
            cursor = con.execute(f"select * from marts.{table}")
            columns = [column[0] for column in cursor.description]
            tables[table] = defaultdict(list)
            for values in cursor.fetchall():
                row = dict(zip(columns, values, strict=True))
                tables[table][names[row["audit_run_id"]]].append(row)
    return tables


def close(found: float | None, wanted: float | None) -> bool:
    """Equal to 1e-9, or both undefined."""
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= TOLERANCE


def groups(case: Case) -> Iterator[tuple[dict[str, str], Any]]:
    """Each group with its columns."""
    for (model, task, strategy), group in case.groups().items():
        yield {"model_id": model, "task_id": task, "strategy": strategy}, group


@pytest.mark.parametrize("name", SMALL)
def test_p_tau(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        found = {(row["sample_id"], row["label"]): row for row in measured.rows("fct_p_tau", case, **of)}
        wanted = {(sample, c): p for sample in group.samples for c, p in group.p_tau(sample).items()}
        assert found.keys() == wanted.keys()
        for key, p in wanted.items():
            assert close(found[key]["p_tau"], p), key
            assert found[key]["n_variants"] == len(group.wordings_of(key[0]))
            assert found[key]["gold_label"] == group.gold[key[0]]


@pytest.mark.parametrize("name", SMALL)
def test_sensitivity(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        found = {row["sample_id"]: row for row in measured.rows("fct_sensitivity", case, **of)}
        assert found.keys() == set(group.samples)
        for sample, row in found.items():
            assert close(row["sensitivity"], group.sensitivity(sample))
            assert close(row["sensitivity_valid"], group.sensitivity_valid(sample))
            assert close(row["sensitivity_corrected"], group.sensitivity_corrected(sample))
            assert close(row["mean_consistency"], group.mean_consistency(sample))
            answers = [answer for answer in group.answers if answer.sample == sample]
            n_correct = sum(group.label(answer) == answer.gold for answer in answers)
            counts = (
                len(group.wordings_of(sample)),
                len(answers),
                n_correct if group.gold[sample] is not None else None,
            )
            assert (row["n_variants"], row["n_predictions"], row["n_correct"]) == counts


@pytest.mark.parametrize("name", SMALL)
def test_consistency(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        found = {row["gold_label"]: row for row in measured.rows("fct_consistency", case, **of)}
        wanted = group.consistency_by_class()
        assert found.keys() == wanted.keys()
        for gold, (consistency, distinct, n_samples) in wanted.items():
            assert close(found[gold]["consistency"], consistency)
            assert close(found[gold]["consistency_distinct"], distinct)
            assert found[gold]["n_samples"] == n_samples
        consistency, std = group.consistency()
        scorecard = measured.row("rpt_audit", case, **of)
        assert close(scorecard["consistency"], consistency)
        assert close(scorecard["consistency_std"], std)


@pytest.mark.parametrize("name", SMALL)
def test_accuracy(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        scorecard = measured.row("rpt_audit", case, **of)
        micro_f1, std = group.micro_f1()
        assert close(scorecard["micro_f1"], micro_f1)
        assert close(scorecard["micro_f1_std"], std)
        found = {row["prompt_variant_id"]: row["accuracy"] for row in measured.rows("fct_variant_accuracy", case, **of)}
        asked = {answer.key for answer in group.answers}
        ids = {key: prompt_variant_id(of["task_id"], of["strategy"], *key, group.instruction[key]) for key in asked}
        wanted = {ids[key]: accuracy for key, accuracy in group.accuracy_by_variant().items()}
        assert found.keys() == set(ids.values())
        assert all(close(accuracy, wanted.get(variant)) for variant, accuracy in found.items())


@pytest.mark.parametrize("name", SMALL)
def test_scorecard(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        scorecard = measured.row("rpt_audit", case, **of)
        figures = [f for sample in group.samples if (f := group.sensitivity(sample)) is not None]
        corrected = [f for sample in group.samples if (f := group.pseudo_value(sample)) is not None]
        is_corrected = any(len(group.wordings_of(sample)) >= 8 for sample in group.samples)
        average = sum(figures) / len(figures) if figures else None
        std = (sum((f - average) ** 2 for f in figures) / len(figures)) ** 0.5 if average is not None else None
        assert close(scorecard["sensitivity"], average)
        assert close(scorecard["sensitivity_std"], std)
        assert close(scorecard["sensitivity_corrected"], min(1, fmean(corrected)) if is_corrected else None)
        differing = group.variant_disagreement()
        assert close(scorecard["consistency_rate"], None if differing is None else 1 - differing)
        for share, figure in group.shares().items():
            assert close(scorecard[share], None if figure is None else max(-1, min(1, figure))), share
        assert close(scorecard["invalid_rate"], group.invalid_rate())


@pytest.mark.parametrize("name", SMALL)
def test_bounds_of_missing_answers(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        scorecard = measured.row("rpt_audit", case, **of)
        gold = case.golds(of["task_id"])
        n_asks = len(gold) * sum(len(repetitions) for repetitions in group.planned.values())
        for counted_as in ("na", "modal"):
            wanted: dict[str, float | None] = dict.fromkeys(("sensitivity", "consistency", "micro_f1", "invalid_rate"))
            if 0 < len(group.answers) < n_asks:
                whole = group.completed(gold, is_modal=counted_as == "modal")
                figures = [f for sample in whole.samples if (f := whole.sensitivity(sample)) is not None]
                wanted = {
                    "sensitivity": fmean(figures) if figures else None,
                    "consistency": whole.consistency()[0],
                    "micro_f1": whole.micro_f1()[0],
                    "invalid_rate": whole.invalid_rate(),
                }
            for measure, figure in wanted.items():
                assert close(scorecard[f"{measure}_if_missing_{counted_as}"], figure), (measure, counted_as)


@pytest.mark.parametrize("name", list(CASES))
def test_an_interval_holds_its_figure(measured: Measured, name: str) -> None:
    for row in measured.rows("rpt_audit", CASES[name]):
        for measure in [column.removesuffix("_low") for column in row if column.endswith("_low")]:
            low, high = row[f"{measure}_low"], row[f"{measure}_high"]
            figure = row[measure.removesuffix("_wordings")]
            if measure != "consistency" and figure is not None and low is not None and high is not None:
                assert low <= figure + TOLERANCE, measure
                assert figure <= high + TOLERANCE, measure
            if figure is None:
                assert low is high is None, measure


@pytest.mark.parametrize("name", list(CASES))
def test_counts(measured: Measured, name: str) -> None:
    case = CASES[name]
    for row in measured.rows("rpt_audit", case):
        planned = case.planned(row["task_id"], row["strategy"])
        own = [
            a
            for a in case.answers
            if (a.model, a.task, a.strategy) == (row["model_id"], row["task_id"], row["strategy"])
        ]
        n_samples = case.n_samples(row["task_id"])
        assert row["n_samples"] == len({answer.sample for answer in own})
        assert row["n_samples_planned"] == n_samples
        assert row["n_variants"] == len(planned)
        assert row["n_variants_answered"] == len({answer.key for answer in own})
        assert row["n_repetitions"] == max(len(repetitions) for repetitions in planned.values())
        assert row["n_planned"] == n_samples * sum(len(repetitions) for repetitions in planned.values())
        assert row["n_landed"] == len(own)
        assert row["n_valid"] == sum(a.completion.strip() in case.labels for a in own)
        assert row["n_error"] == 0
        formats = measured.rows(
            "fct_answer_formats", case, model_id=row["model_id"], task_id=row["task_id"], strategy=row["strategy"]
        )
        breaking = {(f["prompt_variant_id"]) for f in formats if f["is_breaking"]}
        assert len(breaking) == len(case.breaking(own, planned)) <= row["n_variants_breaking"] <= len(planned)
        assert sum(f["n_landed"] + f["n_missing"] for f in formats) == row["n_planned"]
        assert sum(f["n_empty"] for f in formats) == sum(a.is_blank for a in own)


def stabilities(case: Case) -> dict[tuple[Any, ...], Any]:
    """Every row the reference has: (model, task, strategy, scope, temperature, filter, series, k) to its figures."""
    found = {}
    by_prompt: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for (model, task, strategy), group in case.groups().items():
        by_prompt[task, strategy][model] = group
        for annotation_filter in ("verbatim", "labels_and_na", "valid"):
            of = (model, task, strategy)
            for (series, k), row in stability(group, intra(group), annotation_filter).items():
                found[(*of, "intra", None, annotation_filter, series, k)] = row
            for temperature, annotators in inter(group).items():
                for (series, k), row in stability(group, annotators, annotation_filter).items():
                    found[(*of, "inter", temperature, annotation_filter, series, k)] = row
    for (task, strategy), models in by_prompt.items():
        any_group = next(iter(models.values()))
        for annotation_filter in ("verbatim", "labels_and_na", "valid"):
            for (series, k), row in stability(any_group, inter_model(models), annotation_filter).items():
                found[(None, task, strategy, "inter_model", None, annotation_filter, series, k)] = row
    return found


@pytest.mark.parametrize("name", SMALL)
def test_prompt_stability(measured: Measured, name: str) -> None:
    case = CASES[name]
    rows = {
        (
            r["model_id"],
            r["task_id"],
            r["strategy"],
            r["scope"],
            r["paraphrase_temperature"],
            r["annotation_filter"],
            r["series"],
            r["n_annotators"],
        ): r
        for r in measured.rows("fct_prompt_stability", case)
        if r["annotation_filter"] != "valid_balanced"
    }
    wanted = stabilities(case)
    assert rows.keys() == wanted.keys()
    for key, figures in wanted.items():
        row = rows[key]
        assert close(row["pss"], figures.pss), key
        counts = (row["is_degenerate"], row["n_samples"], row["n_annotations"], row["n_distinct_wordings"])
        assert counts == (
            figures.is_degenerate,
            figures.n_samples,
            figures.n_annotations,
            figures.n_distinct_wordings,
        ), key


def by_hash(measured: Measured, case: Case, samples: Sequence[str]) -> list[str]:
    """Samples in the order in which a part of them is chosen."""
    seed = measured.row("dim_audit_runs", case)["seed"]
    return sorted(
        samples, key=lambda sample: (md5(f"{seed}:{sample}".encode(), usedforsecurity=False).hexdigest(), sample)
    )


@pytest.mark.parametrize("name", SMALL)
def test_stability_of_a_share_of_the_samples(measured: Measured, name: str) -> None:
    case = CASES[name]
    wanted: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for of, group in groups(case):
        for scope, sets in (("intra", [intra(group)]), ("inter", list(inter(group).values()))):
            answered = {
                sample
                for annotators in sets
                for one in annotators
                for asked in one.answers.values()
                for sample in asked
            }
            for share in (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1):
                part = by_hash(measured, case, sorted(answered))[: math.ceil(round(share * len(answered), 9))]
                if len(part) < 3 and share < 1:
                    continue
                for annotators in sets:
                    parted = [
                        replace(
                            one,
                            answers={
                                number: {sample: answer for sample, answer in asked.items() if sample in part}
                                for number, asked in one.answers.items()
                            },
                        )
                        for one in annotators
                    ]
                    rows = stability(group, parted, "labels_and_na")
                    wanted[(*of.values(), scope, share)] += [
                        (k, own) for (series, k), own in rows.items() if series == "all"
                    ]
    wanted = {key: rows for key, rows in wanted.items() if rows}
    found = {
        (row["model_id"], row["task_id"], row["strategy"], row["scope"], row["sample_share"]): row
        for row in measured.rows("rpt_stability_by_share", case)
    }
    assert found.keys() == wanted.keys()
    for key, rows in wanted.items():
        row, figures = found[key], [own.pss for _, own in rows if own.pss is not None]
        assert close(row["pss"], fmean(figures) if figures else None), key
        degenerate = [own.is_degenerate for _, own in rows if own.is_degenerate is not None]
        counts = (row["is_degenerate"], row["n_samples"], row["n_annotators"], row["n_annotations"])
        assert counts == (
            all(degenerate) if degenerate else None,
            max(own.n_samples for _, own in rows),
            max(k for k, _ in rows),
            sum(own.n_annotations for _, own in rows),
        ), key


@pytest.mark.parametrize("name", SMALL)
def test_measures_by_number_of_wordings(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        rows = measured.rows("rpt_measures_by_wordings", case, **of)
        scorecard = measured.row("rpt_audit", case, **of)
        if not rows:
            assert scorecard["sensitivity"] is None
            continue
        last = max(rows, key=lambda row: row["n_wordings"])
        assert close(last["sensitivity"], scorecard["sensitivity"])
        assert close(last["consistency"], scorecard["consistency"])
        several = [wordings for sample in group.samples if len(wordings := group.wordings_of(sample)) >= 2]
        for row in (row for row in rows if row["is_sensitivity_exact"]):
            figures = []
            for wordings in several:
                chosen = list(combinations(wordings, min(row["n_wordings"], len(wordings))))
                if len(chosen) > 100:  # the slow reference has its limits
                    break
                plug_ins = [
                    entropy([fmean(one[c] for one in subset) for c in group.classes], len(group.classes))
                    for subset in chosen
                ]
                figures.append(fmean(each for each in plug_ins if each is not None))
            else:
                assert row["n_samples"] == len(several)
                assert close(row["sensitivity"], fmean(figures) if figures else None), row["n_wordings"]


@pytest.mark.parametrize("name", SMALL)
def test_pairs_by_distance(measured: Measured, name: str) -> None:
    case = CASES[name]
    for of, group in groups(case):
        steps: dict[str, list[Row]] = defaultdict(list)
        for row in measured.rows("rpt_pair_distances", case, **of):
            steps[row["gold_label"]].append(row)
        wanted = {gold: distinct for gold, (_, distinct, n) in group.consistency_by_class().items() if n >= 2}
        assert steps.keys() == wanted.keys()
        for gold, rows in steps.items():
            assert sum(row["n_pairs"] for row in rows) == math.comb(len(group.members(gold)), 2)
            assert close(sum(row["pair_share"] * row["mean_similarity"] for row in rows), wanted[gold])
            alike = [group.pair(one, other) for one, other in combinations(group.members(gold), 2)]
            for end in (0, 1):
                n_exact = sum(abs(value - end) < 1e-9 for value in alike)
                assert n_exact == sum(
                    row["n_pairs"] for row in rows if row["similarity_low"] == row["similarity_high"] == end
                )


@pytest.mark.parametrize("name", SMALL)
def test_similarities_of_the_class_that_is_treated_least_alike(measured: Measured, name: str) -> None:
    case = CASES[name]
    consistencies = {
        (of["task_id"], of["model_id"], of["strategy"], gold): figure
        for of, group in groups(case)
        for gold, (figure, _, n) in group.consistency_by_class().items()
        if n >= 3
    }
    for task in {answer.task for answer in case.answers}:
        rows = measured.rows("rpt_sample_similarities", case, task_id=task, extreme="lowest")
        own = {key: figure for key, figure in consistencies.items() if key[0] == task}
        assert bool(rows) == bool(own)
        for key in {(task, row["model_id"], row["strategy"], row["gold_label"]) for row in rows}:
            assert own[key] == pytest.approx(min(own.values()), abs=TOLERANCE)
            group = case.groups()[key[1], task, key[2]]
            shown = by_hash(measured, case, group.members(key[3]))[:40]
            similar = {one: [group.pair(one, other) for other in shown if other != one] for one in shown}
            assert {row["sample_id"] for row in rows} == set(shown)
            for row in rows:
                assert close(row["mean_similarity"], fmean(similar[row["sample_id"]]))
                assert close(
                    row["mean_similarity_of_pairs"], fmean(each for pairs in similar.values() for each in pairs)
                )
                assert (row["n_samples"], row["n_pairs"]) == (len(shown), math.comb(len(shown), 2))
            of_model = {gold: own[task, *key[1:3], gold] for (*_, gold) in own if (task, *key[1:3], gold) in own}
            others = measured.rows("rpt_sample_similarities", case, task_id=task, extreme="highest")
            assert bool(others) == (len(of_model) > 1)
            for row in others:
                assert (row["model_id"], row["strategy"]) == key[1:3]
                assert of_model[row["gold_label"]] == pytest.approx(max(of_model.values()), abs=TOLERANCE)
        for row in measured.rows("rpt_sample_pairs", case, task_id=task):
            group = case.groups()[row["model_id"], task, row["strategy"]]
            assert close(row["similarity"], group.pair(row["sample_id"], row["other_sample_id"]))
            assert row["place"] < row["other_place"]


@pytest.mark.parametrize("name", SMALL)
def test_stability_on_the_scorecard(measured: Measured, name: str) -> None:
    case = CASES[name]
    wanted = stabilities(case)
    for row in measured.rows("rpt_audit", case):
        of = (row["model_id"], row["task_id"], row["strategy"])
        for scope in ("intra", "inter"):
            figures = [
                figure.pss
                for key, figure in wanted.items()
                if key[:4] == (*of, scope) and key[5:7] == ("labels_and_na", "all") and figure.pss is not None
            ]
            assert close(row[f"pss_{scope}"], sum(figures) / len(figures) if figures else None)


@pytest.mark.parametrize("name", SMALL)
def test_balanced_draws_keep_to_the_smallest(measured: Measured, name: str) -> None:
    """The draw is the project's own: with nothing to cut it is `valid`, and it never pairs more than `valid` does."""
    case = CASES[name]
    columns = ("model_id", "task_id", "strategy", "scope", "paraphrase_temperature", "series", "n_annotators")
    by_filter: dict[str, dict[tuple[Any, ...], Row]] = defaultdict(dict)
    for row in measured.rows("fct_prompt_stability", case):
        by_filter[row["annotation_filter"]][tuple(row[column] for column in columns)] = row
    assert by_filter["valid_balanced"].keys() == by_filter["valid"].keys()
    is_whole = not case.absent and all(
        row["n_missing"] == 0 and row["n_valid"] == row["n_landed"] for row in measured.rows("fct_answer_formats", case)
    )
    for key, row in by_filter["valid_balanced"].items():
        if row["scope"] != "inter":  # where other repetitions may count when labels are cut
            assert row["n_annotations"] <= by_filter["valid"][key]["n_annotations"]
            assert row["n_samples"] <= by_filter["valid"][key]["n_samples"]
        if is_whole:
            assert close(row["pss"], by_filter["valid"][key]["pss"])


@pytest.mark.parametrize("name", list(CASES))
def test_every_prediction_is_there_with_its_status(measured: Measured, name: str) -> None:
    case = CASES[name]
    rows = measured.rows("fct_predictions", case)
    columns = ("model_id", "task_id", "strategy", "sample_id", "paraphrase_temperature", "variant_index", "repetition")
    found = {tuple(row[column] for column in columns): row for row in rows}
    assert len(found) == len(rows) == len(case.answers)
    for answer in case.answers:
        row = found[answer.model, answer.task, answer.strategy, answer.sample, *answer.key, answer.repetition]
        label = text if (text := answer.completion.strip()) in case.labels else None
        status = "valid" if label is not None else "empty" if answer.is_blank else "unparsed"
        is_correct = None if answer.gold is None else label == answer.gold
        assert (row["completion"], row["label"], row["answer_status"]) == (answer.completion, label, status)
        assert row["is_correct"] is is_correct


def test_duplicated_variants_change_alpha_alone(measured: Measured) -> None:
    base, twice = (measured.row("rpt_audit", CASES[name]) for name in ("base", "duplicated"))
    same = ["sensitivity", "sensitivity_std", "sensitivity_valid", "consistency", "consistency_std"]
    for unchanged in (*same, "micro_f1", "micro_f1_std", "invalid_rate"):
        assert close(base[unchanged], twice[unchanged]), unchanged
    assert abs(base["pss_inter"] - twice["pss_inter"]) > 0.001


def test_noise_alone_leaves_wording_no_share(measured: Measured) -> None:
    scorecard = measured.row("rpt_audit", CASES["noise_alone"])
    assert scorecard["wording_share"] == pytest.approx(0, abs=0.01)
    assert scorecard["sensitivity"] > 0.3
    assert scorecard["noise_share"] > 0.3
    shares = [scorecard[f"{share}_share"] for share in ("wording", "noise", "item")]
    assert sum(shares) == pytest.approx(1)


def test_consistency_by_class_pools_to_the_scorecard(measured: Measured) -> None:
    for case in CASES.values():
        for row in measured.rows("rpt_audit", case):
            of = {column: row[column] for column in ("model_id", "task_id", "strategy")}
            classes = measured.rows("fct_consistency", case, **of)
            n_pairs = sum(c["n_samples"] ** 2 for c in classes)
            pooled = sum(c["consistency"] * c["n_samples"] ** 2 for c in classes) / n_pairs if n_pairs else None
            assert close(row["consistency"], pooled)


def test_every_figure_lies_in_its_interval(measured: Measured) -> None:
    assert [
        each
        for table, cases in measured.tables.items()
        for each in outside_in_rows(table, [row for rows in cases.values() for row in rows])
    ] == []


def compare(measure: str, scorecard: list[dict[str, Any]]) -> bool:
    """Sensitivities of other numbers of wordings do not."""
    numbers = {row["n_variants_answered"] for row in scorecard}
    return len(numbers) < 2 or not (
        measure == "sensitivity" or (measure == "sensitivity_corrected" and min(numbers) < 12)
    )


def test_places_across_tasks_are_those_of_the_scorecard(measured: Measured) -> None:
    better = {
        "sensitivity": min,
        "sensitivity_corrected": min,
        "consistency": max,
        "micro_f1": max,
        "pss_intra": max,
        "pss_inter": max,
    }
    for case in CASES.values():
        scorecard = measured.rows("rpt_audit", case)
        found = measured.rows("rpt_measures_across_tasks", case)
        assert len(found) == len(better) * len(scorecard)
        value_of = {(row["task_id"], row["strategy"], row["model_id"]): row for row in scorecard}
        for row in found:
            own, measure = value_of[row["task_id"], row["strategy"], row["model_id"]], row["measure"]
            assert row["value"] == own[measure]
            assert (row["value_low"], row["value_std"]) == (own.get(f"{measure}_low"), own.get(f"{measure}_std"))
            of_task = [
                other for other in scorecard if other["task_id"] == row["task_id"] and other[measure] is not None
            ]
            of_row = [other for other in of_task if other["strategy"] == row["strategy"]]
            assert row["n_ranked"] == (len(of_row) if compare(measure, of_row) else 0)
            are_compared = row["value"] is not None and len(of_task) > 1 and compare(measure, of_task)
            best = better[measure](other[measure] for other in of_task) if are_compared else None
            assert row["is_best"] == (are_compared and close(row["value"], best))
        cells = [row for row in scorecard if (row["sensitivity"] or 0) >= 0.05 and row["consistency"] is not None]
        (of_run,) = measured.rows("rpt_sensitivity_against_consistency", case)
        assert of_run["n_cells"] == len(cells)
        pairs = np.array([(row["sensitivity"], row["consistency"]) for row in cells]).reshape(-1, 2)
        if len(cells) < 3 or (np.ptp(pairs, axis=0) < 1e-9).any():
            assert of_run["pearson"] is None
        else:
            assert close(of_run["pearson"], float(np.corrcoef(pairs.T)[0, 1]))


def test_k_counts_up(measured: Measured) -> None:
    for case in CASES.values():
        series = defaultdict(list)
        for row in measured.rows("fct_prompt_stability", case):
            if row["series"] != "all":
                key = [row[c] for c in ("model_id", "task_id", "strategy", "scope", "paraphrase_temperature", "series")]
                series[(*key, row["annotation_filter"])].append(row["n_annotators"])
        for ks in series.values():
            assert min(ks) == 2
            assert all(after - before == 1 for before, after in pairwise(sorted(ks)))
