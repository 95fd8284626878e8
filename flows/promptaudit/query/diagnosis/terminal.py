"""Draws a diagnosis for a terminal: what stands out first, then its samples, groups, labels and formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from promptaudit.query.diagnosis.confusions import LEAST_RATE, Confusion
from promptaudit.query.diagnosis.groups import Group
from promptaudit.query.diagnosis.samples import MEANS, PointsTo
from promptaudit.registry.mart_columns import ENDS, mart_columns
from promptaudit.system.display.compared import unit_of
from promptaudit.system.display.figures import (
    chance,
    count,
    cut,
    number,
    percent,
    plural,
    ranged,
    ranged_in,
    share,
    shown,
)

if TYPE_CHECKING:
    from promptaudit.query.diagnosis.diagnose import Diagnosis

NOTHING = (
    "nothing stands out: no sample's label depends on the {word} beyond noise, no group of samples, no confused labels"
)
NOISE = "no sample's label depends on the {word} beyond noise: labels change, as they do when the same is asked again"
MOST_IDS = 12
MOST_LABELS = 4
RATE = "rate"
ORDER: tuple[PointsTo, ...] = ("prompt", "prompt_or_noise", "noise", "sample_or_label", "output_format")


def lines_of(diagnosis: Diagnosis, top: int, options: str = "") -> Iterator[str]:
    """Writes the lines for a terminal, at most `top` entries of each list. Commands to try end with the options."""
    yield from (f"run {diagnosis.audit_run_id} of '{cut(diagnosis.audit_id)}'", "", *_figures(diagnosis, top), "")
    yield from _summary(diagnosis)
    sections = {
        "most sensitive samples": _samples(diagnosis, top),
        "inconsistent groups": _groups(diagnosis, top),
        "confused labels": _confusions(diagnosis.confusions, top),
        "unread answers": _formats(diagnosis),
        "readers that differ": diagnosis.read_differently,
        "refused samples": _refusals(diagnosis, top),
        "what to try": _remedies(diagnosis, options),
    }
    for title, found in sections.items():
        if lines := [f"  {line}" for line in found]:
            yield from ("", title, *lines)


def _figures(diagnosis: Diagnosis, top: int) -> Iterable[str]:
    # units that depend most on the wording come first
    units = sorted(diagnosis.units, key=lambda unit: -(unit.figures["sensitivity"] or 0))
    for unit in units[:top]:
        yield unit_of(unit)
        figures = []
        for column in mart_columns("rpt_audit").values():
            figure, low, high = (unit.figures.get(column.name + end) for end in ("", *ENDS))
            if column.label and figure is not None:
                figures.append(f"{column.label} {ranged_in(figure, low, high, column.unit)}")
        yield f"  {', '.join(figures)}"
        if unit.n_samples_changed:
            changed = f"{unit.n_samples_changed} of {unit.n_samples_compared} samples"
            yield f"  {changed} change their label with the {diagnosis.word}"
    if len(units) > top:
        yield f"and {len(units) - top} more"


def _summary(diagnosis: Diagnosis) -> Iterable[str]:
    units = diagnosis.units
    has_changed = any(unit.n_samples_changed for unit in units)
    yield from diagnosis.stands_out or [(NOISE if has_changed else NOTHING).format(word=diagnosis.word)]
    total = {kind: sum(unit.by_kind.get(kind, 0) for unit in units) for kind in ORDER}
    n = sum(unit.n_samples for unit in units)
    for kind in ORDER:
        if total[kind]:
            yield f"  {total[kind]:>5} of {n} point to {_means(kind, diagnosis)}"
    steady = n - sum(total.values())
    if steady:
        yield f"  {steady:>5} of {n} get one label in nine of ten {diagnosis.word}s or more, and are not known to be wrong"


def _means(kind: PointsTo, diagnosis: Diagnosis) -> str:
    return MEANS[kind].format(word=diagnosis.word)


def _samples(diagnosis: Diagnosis, top: int) -> Iterable[str]:
    if not diagnosis.samples:
        yield f"none: no sample's label changes with the {diagnosis.word}"
    for row in diagnosis.samples[:top]:
        whose = "" if row.wording_share is None else f", {diagnosis.word} {share(max(0.0, row.wording_share))} of it"
        p_value = "" if row.p_value is None else f" (p {chance(row.p_value)})"
        yield (
            f"{cut(row.sample_id, 60)}  sensitivity {number(row.sensitivity)}, corrected "
            f"{ranged(row.corrected, row.low, row.high)}{whose}{p_value}"
        )
        gold = "unknown" if row.gold_label is None else cut(row.gold_label, 60)
        points = "nothing" if row.points_to is None else _means(row.points_to, diagnosis).partition(":")[0]
        yield (
            f"    {unit_of(row)}; gold {gold}, says {_label(row.said)} in "
            f"{share(row.said_share)} of {row.n_variants} {diagnosis.word}s; points to {points}"
        )
        if row.input is not None:
            yield f"    {row.input}"


def _groups(diagnosis: Diagnosis, top: int) -> Iterable[str]:
    if not diagnosis.groups:
        yield "none: in no class do samples share words and answers that the rest of the class lacks"
    for group in diagnosis.groups[:top]:
        yield from _group(group, diagnosis)
    without_words, not_looked_at = diagnosis.n_clusters_without_words, diagnosis.n_samples_not_looked_at
    if without_words:
        groups = plural(without_words, "group that is", "groups that are")
        yield f"{groups} answered alike have no words of their own in common, and are not listed"
    if not_looked_at:
        yield f"of large classes only a seeded selection was looked at; {not_looked_at} samples were left out"


def _group(group: Group, diagnosis: Diagnosis) -> Iterable[str]:
    answers = ", ".join(f"{_label(label)} {share(part)}" for label, part in group.said[:MOST_LABELS])
    yield (
        f"group:{group.group}  {len(group.sample_ids)} samples of class {cut(group.gold_label, 60)}, {group.n_rest} others; "
        f"{unit_of(group)}"
    )
    words = ", ".join(
        f"{cut(w.word, 40)} ({w.n_in_group} of {len(group.sample_ids)}, else {w.n_in_rest} of {group.n_rest})"
        for w in group.words
    )
    yield f"    shared words (p {chance(group.p_value)}): {words or 'withheld'}"
    yield (
        f"    sensitivity {number(group.sensitivity)}, the others {number(group.rest_sensitivity)}; "
        f"distance {number(group.distance)}; answers {answers}"
    )
    if group.points_to is not None:
        yield f"    points to {_means(group.points_to, diagnosis)}"
    ids = ", ".join(cut(sample, 40) for sample in group.sample_ids[:MOST_IDS])
    more = len(group.sample_ids) - MOST_IDS
    yield f"    {ids}{f', {more} more' if more > 0 else ''}"


def _confusions(confusions: Sequence[Confusion], top: int) -> Iterable[str]:
    standing_out = [each for each in confusions if each.stands_out]
    if not standing_out:
        yield f"none takes more than {share(LEAST_RATE)} of a class's answers, by its interval"
    for each in standing_out[:top]:
        yield (
            f"{cut(each.gold_label, 60)} -> {_label(each.said)}  {ranged_in(each.rate, each.low, each.high, RATE)}, "
            f"{each.n_samples_with_it} of {each.n_samples} samples ({each.n_samples_mostly} mostly); "
            f"{unit_of(each)}"
        )
    if len(standing_out) > top:
        yield f"{len(standing_out) - top} more"


def _formats(diagnosis: Diagnosis) -> Iterable[str]:
    for each in diagnosis.formats:
        kinds = ", ".join(f"{n} {status}" for status, n in each.statuses.items())
        unit = unit_of(each)
        yield f"{percent(each.invalid_rate)} of answers are no label ({kinds}); {unit}"


def _refusals(diagnosis: Diagnosis, top: int) -> Iterable[str]:
    for each in diagnosis.refusals[:top]:
        original = "the original among them" if each.is_original_refused else "not the original"
        others = ", ".join(f"{_label(label)} {n}" for label, n in each.other_answers[:MOST_LABELS])
        yield (
            f"{cut(each.sample_id, 60)}  {each.n_refused} of {each.n_answers} answers are refusals, under "
            f"{each.n_variants_refused} of {each.n_variants} {diagnosis.word}s, {original}; other answers: {others or 'none'}"
        )
        yield f"    {unit_of(each)}"
        yield from (f"    {text}" for text in (each.input, each.refusal) if text is not None)
    if len(diagnosis.refusals) > top:
        yield f"{len(diagnosis.refusals) - top} more"


def _remedies(diagnosis: Diagnosis, options: str) -> Iterable[str]:
    for each in diagnosis.remedies:
        yield f"{cut(each.gold_label, 60)} -> {_label(each.said)}; {unit_of(each)}"
        yield f"  {shown(each.command + options)}"
        yield f"  asks {count(each.n_requests)} requests at most; --plan prices them"


def _label(label: str | None) -> str:
    return "(no label)" if label is None else cut(label, 60)
