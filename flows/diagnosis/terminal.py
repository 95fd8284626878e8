"""A diagnosis for people: what stands out first, then what it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flows.diagnosis.confusions import LEAST_RATE, Confusion
from flows.diagnosis.groups import Group
from flows.diagnosis.samples import MEANS, PointsTo
from flows.display.figures import cut, interval, number, percent, ranged, share

if TYPE_CHECKING:
    from flows.diagnosis.diagnose import Diagnosis, UnitCounts

NOTHING = (
    "nothing stands out: no sample's label depends on the wording beyond noise, no group of samples, no confused labels"
)
MOST_IDS = 12
MOST_LABELS = 4
ORDER: tuple[PointsTo, ...] = ("prompt", "prompt_or_noise", "noise", "sample_or_label", "output_format")


def lines_of(found: Diagnosis, top: int) -> list[str]:
    """Everything a terminal shows."""
    lines = [f"run {found.audit_run_id} of '{cut(found.audit_id)}'", "", *_summary(found), ""]
    lines += ["most sensitive samples", *_samples(found, top), ""]
    lines += ["inconsistent groups", *_groups(found, top), ""]
    lines += ["confused labels", *_confusions(found.confusions, top)]
    if found.formats:
        lines += ["", "unread answers", *(_indented(_formats(found)))]
    return lines


def _summary(found: Diagnosis) -> list[str]:
    if not found.stands_out:
        return [NOTHING, *_counted(found.units)]
    return [*found.stands_out, *_counted(found.units)]


def _counted(units: Sequence[UnitCounts]) -> Iterable[str]:
    total = {kind: sum(unit.by_kind.get(kind, 0) for unit in units) for kind in ORDER}
    n = sum(unit.n_samples for unit in units)
    for kind in ORDER:
        if total[kind]:
            yield f"  {total[kind]:>5} of {n} point to {MEANS[kind]}"
    steady = n - sum(total.values())
    if steady:
        yield f"  {steady:>5} of {n} are answered alike under the wordings, and not known to be wrong"


def _samples(found: Diagnosis, top: int) -> Iterable[str]:
    if not found.samples:
        yield "  none: no sample's label changes with the wording"
    for row in found.samples[:top]:
        sample = row.finding
        whose = "" if sample.wording_share is None else f", wording {share(max(0.0, sample.wording_share))} of it"
        p_value = "" if sample.p_value is None else f" (p {number(sample.p_value, 4)})"
        yield (
            f"  {cut(sample.sample_id, 60)}  sensitivity {number(sample.sensitivity)}, corrected "
            f"{ranged(sample.corrected, sample.low, sample.high)}{whose}{p_value}"
        )
        gold = "unknown" if sample.gold_label is None else cut(sample.gold_label, 60)
        points = "nothing" if sample.points_to is None else MEANS[sample.points_to].partition(":")[0]
        yield (
            f"      {_unit(row.model_id, row.task_id, row.strategy)}; gold {gold}, says {_label(sample.said)} in "
            f"{share(sample.said_share)} of {sample.n_variants} wordings; points to {points}"
        )
        if row.input is not None:
            yield f"      {row.input}"


def _groups(found: Diagnosis, top: int) -> Iterable[str]:
    if not found.groups:
        yield "  none: no samples of a class are answered alike, unlike the rest of their class, and share words"
    for number_, group in enumerate(found.groups[:top], start=1):
        yield from _group(number_, group, withheld=group.task_id in found.withheld)
    if found.n_without_words:
        yield f"  {found.n_without_words} clusters share no words that the rest of their class lacks, and are not told"
    if found.n_not_looked_at:
        yield f"  of large classes a seeded choice was looked at, {found.n_not_looked_at} samples were not"


def _group(place: int, group: Group, *, withheld: bool) -> Iterable[str]:
    said = ", ".join(f"{_label(label)} {share(part)}" for label, part in group.said[:MOST_LABELS])
    yield (
        f"  group:{place}  {len(group.sample_ids)} samples of class {cut(group.gold_label, 60)}, {group.n_rest} others; "
        f"{_unit(group.model_id, group.task_id, group.strategy)}"
    )
    words = ", ".join(
        f"{cut(w.word, 40)} ({w.n_in_group} of {len(group.sample_ids)}, else {w.n_in_rest} of {group.n_rest})"
        for w in group.words
    )
    yield f"      shared words (p {number(group.p_value, 4)}): {'withheld' if withheld else words}"
    yield (
        f"      sensitivity {number(group.sensitivity)}, the others {number(group.rest_sensitivity)}; "
        f"distance {number(group.distance)}; answers {said}"
    )
    if group.points_to is not None:
        yield f"      points to {MEANS[group.points_to]}"
    ids = ", ".join(cut(sample, 40) for sample in group.sample_ids[:MOST_IDS])
    more = len(group.sample_ids) - MOST_IDS
    yield f"      {ids}{f', {more} more' if more > 0 else ''}"


def _confusions(confusions: Sequence[Confusion], top: int) -> Iterable[str]:
    telling = [each for each in confusions if each.stands_out]
    if not telling:
        yield f"  none takes more than {share(LEAST_RATE)} of a class's answers, by its interval"
    for each in telling[:top]:
        yield (
            f"  {cut(each.gold_label, 60)} -> {_label(each.said)}  {percent(each.rate)} {interval(each.low, each.high)}, "
            f"{each.n_samples_with_it} of {each.n_samples} samples ({each.n_samples_mostly} mostly); "
            f"{_unit(each.model_id, each.task_id, each.strategy)}"
        )
    if len(telling) > top:
        yield f"  {len(telling) - top} more"


def _formats(found: Diagnosis) -> Iterable[str]:
    for each in found.formats:
        kinds = ", ".join(f"{n} {status}" for status, n in each.statuses)
        unit = _unit(each.model_id, each.task_id, each.strategy)
        yield f"{percent(each.invalid_rate)} of answers are no label ({kinds}); {unit}"


def _indented(lines: Iterable[str]) -> Iterable[str]:
    return (f"  {line}" for line in lines)


def _unit(model: str, task: str, strategy: str) -> str:
    return f"{cut(model, 60)}, {cut(task, 60)}, {cut(strategy, 60)}"


def _label(label: str | None) -> str:
    return "(no label)" if label is None else cut(label, 60)
