"""What each section finds, in a sentence that stands as its heading, computed from the figures it prints.

Models that answer by chance, or err on purpose, count only where there is no other. A section whose figures are not there has
none, and its title stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flows.display.figures import count, cut, number, percent, ranged, usd
from flows.report.blocks.blocks import Section
from flows.report.gather import ReportData
from flows.report.sections.extremes import NAME, by_group, ends, group, known_rows, largest, smallest, who
from flows.report.sections.missing_answers import lacking, n_unanswered
from flows.report.sections.rule_against_judge import findings as of_comparisons
from flows.report.sections.run_changes import by_base, counts_of
from flows.report.sections.variations import finding as of_variations
from flows.report.summary_causes import base_of
from flows.report.variant_names import word_for
from flows.warehouse import Row

NEWS = ("regressed", "changed")


def say_findings(sections: Iterable[Section], data: ReportData) -> None:
    """Writes into each section that has figures what it finds."""
    for section in sections:
        if section.blocks and all(block.is_absent for block in section.blocks):
            section.finding = section.blocks[0].absent[0].rstrip(".")
        elif section.anchor in FINDINGS and section.blocks:
            section.finding = FINDINGS[section.anchor](data)


def scorecard(data: ReportData) -> str:
    """Returns between which two groups the corrected sensitivity lies."""
    return ends(
        "Corrected sensitivity", known_rows(data, data.scorecard, "sensitivity_corrected"), "sensitivity_corrected"
    )


def samples(data: ReportData) -> str:
    """Returns which sample depends most on the wording."""
    if not data.top:
        return ""
    first = data.top[0]
    sample = f"Sample {cut(first['sample_id'], NAME)} of {cut(first['task_id'], NAME)}"
    return f"{sample} depends most on the {word_for(data.variants)}: {number(first['sensitivity'])}"


def format_checks(data: ReportData) -> str:
    """Returns how many format checks failed, and how many variants are kept out."""
    if not data.n_checks:
        return ""
    n_failed = data.failed_checks[0]["n_failed"] if data.failed_checks else 0
    n_out = sum(bool(row["is_quarantined"]) for row in data.formats)
    checks = (
        f"{count(n_failed)} of {count(data.n_checks)} format checks failed"
        if n_failed
        else f"All {count(data.n_checks)} format checks passed"
    )
    return f"{checks}, {count(n_out)} variants are kept out" if n_out else f"{checks}, no variant is kept out"


def _verdict(data: ReportData) -> str:
    return data.summary.outcome.reason.rstrip(".")


def _changes(data: ReportData) -> str:
    own = by_base(data.changes)[0]
    return f"Against {base_of(own[0])}: {counts_of(own)}"


def _missing(data: ReportData) -> str:
    n = sum(map(n_unanswered, lacking(data.scorecard)))
    return f"{count(n)} of {count(sum(row['n_planned'] or 0 for row in data.scorecard))} asks have no answer"


def _nights(data: ReportData) -> str:
    runs, news = data.nights.runs, [row for row in data.nights.verdicts if row["verdict"] in NEWS]
    nights = {row["audit_run_id"] for row in news}
    if not news:
        return f"No figure regressed or changed over {len(runs)} nights"
    return f"Figures regressed or changed on {len(nights)} of {len(runs)} nights"


def _scoring(data: ReportData) -> str:
    if told := of_comparisons(data.judging.comparisons):
        return f"{told[0][0]}: {told[0][1]}"
    worst = largest(known_rows(data, data.judging.spreads, "accuracy_std_corrected"), "accuracy_std_corrected")
    if worst is None:
        return ""
    spread = ranged(*(worst[f"accuracy_std_corrected{end}"] for end in ("", "_low", "_high")))
    return f"Accuracy varies most between templates for {who(worst, 'model_id', 'task_id', 'scoring_method')}: {spread}"


def _scoring_across(data: ReportData) -> str:
    return ends(
        "Mean accuracy",
        known_rows(data, data.scoring_across_tasks, "accuracy_mean"),
        "accuracy_mean",
        ("model_id", "task_id", "scoring_method"),
    )


def _rankings(data: ReportData) -> str:
    return ends(
        "Templates rank the models alike by",
        known_rows(data, data.judging.rankings, "mean_spearman"),
        "mean_spearman",
        ("task_id", "scoring_method"),
    )


def _agreement(data: ReportData) -> str:
    return ends(
        "Those who ruled agree on a share",
        known_rows(data, data.judging.agreements, "agreement_rate"),
        "agreement_rate",
        ("task_id", "raters"),
    )


def _disagreements(data: ReportData) -> str:
    rulings = data.judging.rulings
    n = sum(row["n_predictions"] for row in rulings if row["rule_ruling"] != row["judge_ruling"])
    n_all = sum(row["n_predictions"] for row in rulings)
    return f"Rule and judge differ on {percent(n / n_all)} of the answers that both saw" if n_all else ""


def _across(data: ReportData) -> str:
    rows = known_rows(data, data.scorecard, "sensitivity_corrected")
    means = _means(rows, "task_id", "sensitivity_corrected")
    if len(means) < 2:  # noqa: PLR2004 - one task is the least and the most sensitive
        return ""
    least, most = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    return (
        f"{cut(most, NAME)} is the most sensitive of {len(means)} tasks, {number(means[most])} on average, "
        f"{cut(least, NAME)} the least, {number(means[least])}"
    )


def _stability_across(data: ReportData) -> str:
    return ends(f"PSS over {word_for(data.variants)}s", known_rows(data, data.scorecard, "pss_inter"), "pss_inter")


def _sensitivity(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data.sample_spreads, "n_steady") if row["n_samples"]]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: 1 - row["n_steady"] / row["n_samples"])
    n = worst["n_samples"] - worst["n_steady"]
    if not n:
        return f"No sample changes its label with the {word_for(data.variants)}"
    samples = f"{count(n)} of {count(worst['n_samples'])} samples"
    return f"{samples} change their label with the {word_for(data.variants)} for {who(worst)}"


def _classes(data: ReportData) -> str:
    worst = largest(known_rows(data, data.class_sensitivities, "sensitivity_mean"), "sensitivity_mean")
    if worst is None:
        return ""
    figure = f"{number(worst['sensitivity_mean'])} for {who(worst)}"
    return f"{_class(worst)} depends most on the {word_for(data.variants)}: {figure}"


def _telling(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data.telling, "sensitivity") if "most" in row["roles"]]
    worst = largest(rows, "sensitivity")
    if worst is None:
        return ""
    key = ("model_id", "task_id", "strategy", "sample_id")
    n = sum(row["p_tau"] > 0 for row in rows if all(row[name] == worst[name] for name in key))
    return f"Sample {cut(worst['sample_id'], NAME)} gets {n} different labels from {who(worst)}"


def _clouds(data: ReportData) -> str:
    return ends(
        "Sensitivity and consistency of samples correlate at",
        known_rows(data, data.sample_spreads, "correlation"),
        "correlation",
    )


def _consistency(data: ReportData) -> str:
    worst = smallest(known_rows(data, data.consistencies, "consistency"), "consistency")
    return (
        ""
        if worst is None
        else f"{_class(worst)} is treated least consistently: {number(worst['consistency'])} for {who(worst)}"
    )


def _alike(data: ReportData) -> str:
    return ends(
        "The median sample's consistency is",
        known_rows(data, data.sample_spreads, "mean_consistency_p50"),
        "mean_consistency_p50",
    )


def _pairs(data: ReportData) -> str:
    worst = smallest([row for row in data.pairs if row["extreme"] == "lowest"], "mean_similarity_of_pairs")
    if worst is None:
        return ""
    mean = number(worst["mean_similarity_of_pairs"])
    return f"{_class(worst)} has the pairs least alike: {mean} on average for {who(worst)}"


def _numbers(data: ReportData) -> str:
    rows = known_rows(data, data.measures_by_wordings, "sensitivity")
    worst = largest(rows, "sensitivity")
    if worst is None:
        return ""
    own = sorted((row for row in rows if group(row) == group(worst)), key=lambda row: row["n_wordings"])
    first, last = own[0], own[-1]
    would = (
        f"{first['n_wordings']} {word_for(data.variants)}s would show a sensitivity of {number(first['sensitivity'])}"
    )
    return f"{would}, {last['n_wordings']} show {number(last['sensitivity'])}, for {who(last)}"


def _repetition(data: ReportData) -> str:
    worst = smallest(known_rows(data, data.scorecard, "pss_intra"), "pss_intra")
    if worst is None:
        return "No wording is asked twice, so nothing tells how far a model agrees with itself"
    if worst["pss_intra"] == 1:
        return "Asked again in the same words, every model answers the same"
    figure = ranged(*(worst[f"pss_intra{end}"] for end in ("", "_low", "_high")))
    return f"Asked again in the same words, {who(worst)} agrees with itself least: PSS {figure}"


def _paraphrase(data: ReportData) -> str:
    rows = [
        row
        for row in data.stabilities
        if (row["scope"], row["series"], row["annotation_filter"]) == ("inter", "all", "valid")
    ]
    known = known_rows(data, rows, "pss")
    if not known:
        return "Only one prompt variant was asked, so nothing tells how far answers agree between them"
    warm = [row for row in known if row["paraphrase_temperature"] is not None]
    if warm:
        below = [row for row in warm if row["pss"] < STABLE]
        if not below:
            hottest = max(row["paraphrase_temperature"] for row in warm)
            return f"PSS stays at .8 or above at every paraphrase temperature, up to {hottest:g}"
        first = min(below, key=lambda row: (row["paraphrase_temperature"], row["pss"]))
        return f"PSS falls below .8 from temperature {first['paraphrase_temperature']:g} for {who(first)}"
    n = sum(row["pss"] < STABLE for row in known)
    if not n:
        return f"PSS over {word_for(data.variants)}s is .8 or above for {_all(len(known))}"
    worst = min(known, key=lambda row: row["pss"])
    lowest = f"lowest for {who(worst)}: {number(worst['pss'])}"
    return f"PSS over {word_for(data.variants)}s is below .8 for {n} of {len(known)} groups, {lowest}"


def _between(data: ReportData) -> str:
    rows = known_rows(data, data.scorecard, "pss_inter")
    for name in ("model_id", "strategy"):
        means = _means(rows, name, "pss_inter")
        if len(means) > 1:
            least, most = min(means, key=lambda key: means[key]), max(means, key=lambda key: means[key])
            return (
                f"PSS over {word_for(data.variants)}s is {number(means[most])} on average for {cut(most, NAME)} and "
                f"{number(means[least])} for {cut(least, NAME)}"
            )
    return ""


def _subsamples(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data.stabilities_by_share, "pss") if row.get("scope") == "inter"]
    whole = {group(row): row["pss"] for row in rows if row["sample_share"] == 1}
    apart: dict[float, float] = {}
    for row in rows:
        if group(row) in whole:
            share = row["sample_share"]
            apart[share] = max(apart.get(share, 0.0), abs(row["pss"] - whole[group(row)]))
    shares = sorted(apart)
    enough = next(
        (share for place, share in enumerate(shares) if all(apart[later] <= NEAR for later in shares[place:])), None
    )
    if enough is None or len(shares) < 2:  # noqa: PLR2004 - the whole alone
        return ""
    if enough == 1:
        return f"PSS of {percent(shares[-2])} of the samples is up to {number(apart[shares[-2]])} away from that of all"
    return (
        f"{percent(enough)} of the samples give PSS over {word_for(data.variants)}s to within {NEAR:g} of that of all"
    )


def _variety(data: ReportData) -> str:
    most = largest(known_rows(data, data.distinct_answers, "distinct_completions_mean"), "distinct_completions_mean")
    if most is None:
        return ""
    n = number(most["distinct_completions_mean"], 0)
    return f"One ask of all samples brings up to {n} different completions, for {who(most)}"


def _formats(data: ReportData) -> str:
    worst = largest(known_rows(data, data.scorecard, "invalid_rate"), "invalid_rate")
    if worst is None:
        return ""
    if not worst["invalid_rate"]:
        return "Every answer could be read"
    return f"Up to {percent(worst['invalid_rate'])} of the answers could not be read, for {who(worst)}"


def _accuracy(data: ReportData) -> str:
    widest = _widest(data)
    if widest is None:
        return ""
    rows = sorted(widest, key=lambda row: row["accuracy"])
    ends = f"{number(rows[0]['accuracy'])} to {number(rows[-1]['accuracy'])}"
    return f"Accuracy is {ends} depending on the {word_for(data.variants)}, for {who(rows[0])}"


def _wordings(data: ReportData) -> str:
    originals = {row["prompt_variant_id"] for row in data.variants if row["is_original"]}
    costly: list[tuple[int, list[Row]]] = []
    for rows in by_group(known_rows(data, data.accuracies, "accuracy")):
        base = next((row["accuracy"] for row in rows if row["prompt_variant_id"] in originals), None)
        if base is not None and len(rows) > 1:
            costly.append((sum(row["accuracy"] < base - MUCH for row in rows), rows))
    if not costly:
        return ""
    n, rows = max(costly, key=lambda each: each[0])
    if not n:
        return f"No {word_for(data.variants)} costs more than {MUCH:g} of the original's accuracy"
    cost = "costs" if n == 1 else "cost"
    which = f"{n} of {len(rows)} {word_for(data.variants)}s"
    return f"{which} {cost} {who(rows[0])} more than {MUCH:g} of the original's accuracy"


def _costs(data: ReportData) -> str:
    known = [row["cost_usd"] for row in data.answer_totals if row["cost_usd"] is not None]
    slowest = largest(known_rows(data, data.answer_totals, "latency_p50_ms"), "latency_p50_ms")
    took = (
        ""
        if slowest is None
        else f", the slowest median answer took {slowest['latency_p50_ms']:,.0f} ms ({who(slowest)})"
    )
    n = count(sum(row["n_answers"] or 0 for row in data.answer_totals))
    return (
        f"{n} answers cost {usd(sum(known))}{took}"
        if known
        else f"{n} answers, whose price is not known{took}"
        if data.answer_totals
        else ""
    )


def _enough(data: ReportData) -> str:
    rows = [
        row
        for row in known_rows(data, data.design_widths, "width")
        if row["is_this_run"] and row["measure"] == "sensitivity"
    ]
    widest = largest(rows, "width")
    return (
        ""
        if widest is None
        else f"Intervals of sensitivity are up to {number(widest['width'])} wide, for {who(widest)}"
    )


def _variations(data: ReportData) -> str:
    return of_variations(data.variations)


STABLE, NEAR, MUCH = 0.8, 0.05, 0.1
FINDINGS: dict[str, Callable[[ReportData], str]] = {
    "verdict": _verdict, "changes": _changes, "missing": _missing, "nights": _nights, "scoring": _scoring,
    "scoring-across": _scoring_across, "rankings": _rankings, "agreement": _agreement, "disagreements": _disagreements,
    "across": _across, "stability-across": _stability_across, "sensitivity": _sensitivity, "classes": _classes,
    "telling": _telling, "clouds": _clouds, "consistency": _consistency, "alike": _alike, "pairs": _pairs,
    "numbers": _numbers, "repetition": _repetition, "paraphrase": _paraphrase, "between": _between,
    "subsamples": _subsamples, "variety": _variety, "formats": _formats, "accuracy": _accuracy, "wordings": _wordings,
    "costs": _costs, "enough": _enough, "gate": format_checks, "variations": _variations,
}  # fmt: skip


def _widest(data: ReportData) -> list[Row] | None:
    groups = [rows for rows in by_group(known_rows(data, data.accuracies, "accuracy")) if len(rows) > 1]
    return max(
        groups,
        key=lambda rows: max(row["accuracy"] for row in rows) - min(row["accuracy"] for row in rows),
        default=None,
    )


def _means(rows: Sequence[Row], name: str, column: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(row[name], []).append(row[column])
    return {key: sum(own) / len(own) for key, own in values.items()}


def _class(row: Row) -> str:
    return f"Class {cut(row['gold_label'], NAME)}"


def _all(n: int) -> str:
    return "the one group" if n == 1 else f"all {n} groups"
