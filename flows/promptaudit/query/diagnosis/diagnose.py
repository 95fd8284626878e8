"""Diagnoses a published run: the samples, groups of samples, labels and formats to mend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from promptaudit.query.diagnosis.confusions import Confusion, find_confusions
from promptaudit.query.diagnosis.groups import Group, Groups, find_groups
from promptaudit.query.diagnosis.material import Material, read_material
from promptaudit.query.diagnosis.readings import read_differently
from promptaudit.query.diagnosis.refusals import RefusedSample, find_refusals
from promptaudit.query.diagnosis.remedies import Remedy, TrialOfUnit, find_remedies
from promptaudit.query.diagnosis.samples import PointsTo, SampleFinding, sample_findings
from promptaudit.registry.mart_columns import ENDS, mart_columns
from promptaudit.system.display.compared import OfUnit, names_of
from promptaudit.system.display.encode import NOT_ENCODED
from promptaudit.system.display.policy import policy_of
from promptaudit.warehouse import Row, Warehouse, rows_as
from promptaudit.warehouse.figure_names import figure_id
from promptaudit.warehouse.run_names import resolve
from promptaudit.warehouse.sql import sql

UNREAD_RATE = 0.01
ID = 12  # as many characters of a run's id as distinguish it from any other
GROUPS = (
    "group of samples stands apart from its class and shares words",
    "groups of samples stand apart from their class and share words",
)
OF_KIND: dict[PointsTo, tuple[str, str]] = {
    "prompt": (
        "sample's label depends on the {word}, beyond noise",
        "samples' labels depend on the {word}, beyond noise",
    ),
    "prompt_or_noise": (
        "sample's label changes with the {word}, or by noise: asked once",
        "samples' labels change with the {word}, or by noise: asked once",
    ),
    "sample_or_label": (
        "sample is steadily answered with another label than its gold label",
        "samples are steadily answered with another label than their gold label",
    ),
}
CONFUSED = ("pair of labels is confused", "pairs of labels are confused")
UNREAD = (
    "model, task and strategy has answers that are no label",
    "models, tasks and strategies have answers that are no label",
)

REFUSED = ("sample is refused at least once", "samples are refused at least once")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRow(SampleFinding):
    """A sensitive sample with its text, where that may be shown."""

    input: str | None
    figure: str  # the name `trace` follows


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCounts(OfUnit):
    """Counts of the samples of one model, task and strategy by what they point to, and its figures on the scorecard.

    n_samples_changed: samples with more than one label, of the n_samples_compared that have answers to two wordings.
    figures: the columns of rpt_audit as they are printed, with the ends of their intervals.
    """

    n_samples: int
    n_samples_changed: int
    n_samples_compared: int
    by_kind: Mapping[str, int]
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadAnswers(OfUnit):
    """A model, task and strategy whose answers are often no label, with the number of answers of each other status."""

    invalid_rate: float
    statuses: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a run points to: samples by sensitivity, groups by certainty, confusions by frequency, each largest first.

    read_differently: tasks of which another reader reads other labels, with examples. remedies: what to try; empty for
    an import, whose prompts nobody can ask, and for tasks without labels in their prompts.
    """

    audit_run_id: str
    audit_id: str
    stands_out: tuple[str, ...]
    units: tuple[UnitCounts, ...]
    samples: tuple[SampleRow, ...]
    groups: tuple[Group, ...]
    n_clusters_without_words: int
    n_samples_not_looked_at: int
    confusions: tuple[Confusion, ...]
    formats: tuple[UnreadAnswers, ...]
    refusals: tuple[RefusedSample, ...] = ()
    read_differently: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    word: str = field(default="wording", metadata=NOT_ENCODED)  # what the run's variants are called


def diagnose(
    warehouse: Warehouse,
    run: str = "latest",
    *,
    model: str | None = None,
    task: str | None = None,
    strategy: str | None = None,
    text: str | None = None,
) -> Diagnosis:
    """Diagnoses a published run.

    run: as `compare` takes it. model, task, strategy: one of each; default all. text: none, excerpt or full; by default
    excerpts of inputs, and nothing of tasks whose card says `sensitive`.

    Raises:
        UsageError: a name that is not there.
        MeasureError: nothing is measured.
        WarehouseError: nothing is published.
    """
    policy = policy_of(text)
    named = resolve(warehouse, run)
    (row,) = warehouse.published.read(
        "select seed, origin from marts.dim_audit_runs where audit_run_id = $run", run=named.audit_run_id
    )
    names = {"model": model or named.model_id, "task": task, "strategy": strategy}
    material = read_material(warehouse, named.audit_run_id, policy, **names)
    findings = [sample_findings(unit, row["seed"]) for unit in material.units]
    groups = find_groups(material.units, material.inputs, findings, row["seed"])
    diagnosis = put_together(named.audit_run_id, named.audit_id, material, findings, groups)
    refusals = find_refusals(warehouse, named.audit_run_id, material)
    if refusals:
        line = f"{len(refusals)} {REFUSED[len(refusals) > 1]}"
        diagnosis = replace(diagnosis, refusals=refusals, stands_out=(*diagnosis.stands_out, line))
    answers = warehouse.published.read(sql("query.diagnosis", "read_answers"), run=named.audit_run_id)
    asked = [each for each in answers if each["task_id"] in material.inputs]
    diagnosis = replace(diagnosis, read_differently=read_differently(asked, material.texts))
    if row["origin"] != "run":
        return diagnosis
    labels = warehouse.published.read(sql("query.diagnosis", "described_labels"), run=named.audit_run_id)
    descriptions = {(each["task_id"], each["label"]): each["description"] or "" for each in labels}
    tried = [each for each in diagnosis.confusions if (each.task_id, each.gold_label) in descriptions]
    rows = rows_as(TrialOfUnit, warehouse.published.read(sql("query.diagnosis", "trials"), run=named.audit_run_id))
    trials = {row[:3]: row for row in rows}
    remedies = find_remedies(named.audit_run_id[:ID], material, tried, descriptions, trials)
    return replace(diagnosis, remedies=tuple(remedies))


def put_together(
    run: str,
    audit_id: str,
    material: Material,
    findings: Sequence[Sequence[SampleFinding]],
    groups: Groups,
) -> Diagnosis:
    """Puts the samples and groups of a run's units together into a diagnosis."""
    units = material.units
    counts = tuple(
        UnitCounts(
            **names_of(unit),
            n_samples=len(own),
            n_samples_changed=unit.scorecard.n_samples_changed or 0,
            n_samples_compared=unit.scorecard.n_samples_compared or 0,
            by_kind=dict(Counter(f.points_to for f in own if f.points_to is not None)),
            figures=_figures(unit.scorecard.figures),
        )
        for unit, own in zip(units, findings, strict=True)
    )
    samples = [
        SampleRow(
            **asdict(finding),
            input=material.shown_input(unit.task_id, finding.sample_id),
            figure=figure_id("fct_sensitivity", {"audit_run_id": run, **asdict(finding)}, "sensitivity"),
        )
        for unit, own in zip(units, findings, strict=True)
        for finding in own
        if finding.sensitivity
    ]
    samples.sort(
        key=lambda s: (
            s.points_to == "noise",  # what noise alone explains comes last
            -(s.sensitivity or 0),
            s.task_id,
            s.sample_id,
            s.strategy,
            s.model_id,
        )
    )
    confusions = tuple(find_confusions(units))
    formats = tuple(
        UnreadAnswers(
            **names_of(unit),
            invalid_rate=rate,
            statuses=unit.statuses,
        )
        for unit in units
        if (rate := unit.scorecard.invalid_rate) is not None and (unit.scorecard.invalid_rate_low or 0) > UNREAD_RATE
    )
    return Diagnosis(
        audit_run_id=run,
        audit_id=audit_id,
        stands_out=tuple(_stands_out(counts, groups.groups, confusions, formats, material.word)),
        units=counts,
        samples=tuple(samples),
        groups=tuple(
            replace(group, words=()) if material.is_hidden(group.task_id) else group for group in groups.groups
        ),
        n_clusters_without_words=groups.n_clusters_without_words,
        n_samples_not_looked_at=groups.n_samples_not_looked_at,
        confusions=confusions,
        formats=formats,
        word=material.word,
    )


def _figures(scorecard: Row) -> dict[str, float | None]:
    return {
        name + end: scorecard.get(name + end)
        for name, column in mart_columns("rpt_audit").items()
        if column.compared is not None
        for end in ("", *(ENDS if column.ends else ()))
    }


def _stands_out(
    counts: Sequence[UnitCounts],
    groups: Sequence[Group],
    confusions: Sequence[Confusion],
    formats: Sequence[UnreadAnswers],
    word: str,
) -> list[str]:
    by_kind: Counter[str] = Counter()
    for unit in counts:
        by_kind.update(unit.by_kind)
    n_confused = sum(each.stands_out for each in confusions)
    counted = [(len(groups), GROUPS), *((by_kind[kind], of_kind) for kind, of_kind in OF_KIND.items())]
    counted += [(n_confused, CONFUSED), (len(formats), UNREAD)]
    return [f"{n} {(one if n == 1 else many).format(word=word)}" for n, (one, many) in counted if n]
