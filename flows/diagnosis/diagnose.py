"""Says what a run points to: the samples, groups, labels and formats to mend; reads the published copy alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from flows.diagnosis.confusions import Confusion, find_confusions
from flows.diagnosis.groups import Group, Groups, find_groups
from flows.diagnosis.material import Material, Task, Unit, read_material
from flows.diagnosis.samples import PointsTo, SampleFinding, sample_findings
from flows.display.figures import LONG, cut, shown
from flows.warehouse import Warehouse
from flows.warehouse.figure_names import figure_id
from flows.warehouse.run_names import resolve
from models_registry.errors import UsageError, nearest

Text = Literal["none", "excerpt", "full"]
UNREAD_RATE = 0.01
GROUPS = (
    "group of samples stands apart from its class and shares words",
    "groups of samples stand apart from their class and share words",
)
OF_KIND: dict[PointsTo, tuple[str, str]] = {
    "prompt": (
        "sample's label depends on the wording, beyond noise",
        "samples' labels depend on the wording, beyond noise",
    ),
    "prompt_or_noise": (
        "sample's label changes with the wording, or by noise: asked once",
        "samples' labels change with the wording, or by noise: asked once",
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


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sensitive sample of one model, task and strategy, with its text where that may be shown."""

    model_id: str
    task_id: str
    strategy: str
    finding: SampleFinding
    input: str | None
    figure: str  # the name `trace` follows


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """How many samples of one model, task and strategy point where."""

    model_id: str
    task_id: str
    strategy: str
    n_samples: int
    by_kind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Unread:
    """A model, task and strategy whose answers are often no label."""

    model_id: str
    task_id: str
    strategy: str
    invalid_rate: float
    statuses: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a run points to. samples: the most sensitive first; groups: the surest first; confusions: the most frequent first."""

    audit_run_id: str
    audit_id: str
    stands_out: tuple[str, ...]
    units: tuple[UnitCounts, ...]
    samples: tuple[SampleRow, ...]
    groups: tuple[Group, ...]
    n_without_words: int
    n_not_looked_at: int
    confusions: tuple[Confusion, ...]
    formats: tuple[Unread, ...]
    withheld: frozenset[str]  # tasks whose texts are not shown

    def as_dict(self, top: int) -> dict[str, Any]:
        """For --json; `top` of each list, groups all."""
        groups = [
            {
                "group": place,
                **asdict(group),
                "words": [] if group.task_id in self.withheld else [asdict(w) for w in group.words],
            }
            for place, group in enumerate(self.groups, start=1)
        ]
        return {
            "audit_run_id": self.audit_run_id,
            "audit_id": self.audit_id,
            "stands_out": list(self.stands_out),
            "units": [asdict(unit) for unit in self.units],
            "samples": [
                {name: value for name, value in {**asdict(row), **asdict(row.finding)}.items() if name != "finding"}
                for row in self.samples[:top]
            ],
            "groups": groups,
            "n_clusters_without_words": self.n_without_words,
            "n_samples_not_looked_at": self.n_not_looked_at,
            "confusions": [{**asdict(each), "stands_out": each.stands_out} for each in self.confusions[:top]],
            "formats": [{**asdict(each), "statuses": dict(each.statuses)} for each in self.formats],
        }


def diagnose(  # noqa: PLR0913 - the command's options
    warehouse: Warehouse,
    run: str = "latest",
    *,
    model: str | None = None,
    task: str | None = None,
    strategy: str | None = None,
    text: str | None = None,
) -> Diagnosis:
    """What a published run points to.

    run: as `compare` takes it. model, task, strategy: one of each; default all. text: none, excerpt or full; by default
    excerpts of inputs, and nothing of tasks whose card says `sensitive`. Raises UsageError for a name that is not there,
    MeasureError where nothing is measured, WarehouseError where nothing is published.
    """
    if text is not None and text not in get_args(Text):
        msg = f"--text {text[:80]}{nearest(text, get_args(Text))}"
        raise UsageError(msg)
    found = resolve(warehouse, run)
    (row,) = warehouse.published.read(
        "select seed from marts.dim_audit_runs where audit_run_id = $run", run=found.audit_run_id
    )
    material = read_material(warehouse, found.audit_run_id, model=model or found.model_id, task=task, strategy=strategy)
    findings = [sample_findings(unit, row["seed"]) for unit in material.units]
    groups = find_groups(material.units, material.tasks, findings, row["seed"])
    return put_together(found.audit_run_id, found.audit_id, material, findings, groups, text)


def put_together(  # noqa: PLR0913 - what it is made of
    run: str,
    audit_id: str,
    material: Material,
    findings: Sequence[Sequence[SampleFinding]],
    groups: Groups,
    text: str | None = None,
) -> Diagnosis:
    """The diagnosis of what was found in each unit."""
    units = material.units
    policy = {name: text or ("none" if task.is_sensitive else "excerpt") for name, task in material.tasks.items()}
    counts = tuple(
        UnitCounts(
            **unit.names, n_samples=len(own), by_kind=dict(Counter(f.points_to for f in own if f.points_to is not None))
        )
        for unit, own in zip(units, findings, strict=True)
    )
    samples = [
        _sample_row(run, unit, finding, material.tasks[unit.task_id], policy[unit.task_id])
        for unit, own in zip(units, findings, strict=True)
        for finding in own
        if finding.sensitivity
    ]
    samples.sort(
        key=lambda s: (
            s.finding.points_to == "noise",  # what noise alone explains comes last
            -(s.finding.sensitivity or 0),
            s.task_id,
            s.finding.sample_id,
            s.strategy,
            s.model_id,
        )
    )
    confusions = tuple(find_confusions(units))
    formats = tuple(
        Unread(**unit.names, invalid_rate=unit.invalid["invalid_rate"], statuses=_statuses(unit))
        for unit in units
        if (unit.invalid["invalid_rate_low"] or 0) > UNREAD_RATE
    )
    return Diagnosis(
        audit_run_id=run,
        audit_id=audit_id,
        stands_out=tuple(_stands_out(counts, groups.found, confusions, formats)),
        units=counts,
        samples=tuple(samples),
        groups=groups.found,
        n_without_words=groups.n_without_words,
        n_not_looked_at=groups.n_not_looked_at,
        confusions=confusions,
        formats=formats,
        withheld=frozenset(name for name, kept in policy.items() if kept == "none"),
    )


def _sample_row(run: str, unit: Unit, finding: SampleFinding, task: Task, policy: str) -> SampleRow:
    text = task.inputs.get(finding.sample_id)
    if text is not None:
        text = None if policy == "none" else cut(text, LONG) if policy == "excerpt" else shown(text)
    name = figure_id(
        "fct_sensitivity", {"audit_run_id": run, **unit.names, "sample_id": finding.sample_id}, "sensitivity"
    )
    return SampleRow(**unit.names, finding=finding, input=text, figure=name)


def _statuses(unit: Unit) -> tuple[tuple[str, int], ...]:
    return tuple((row["answer_status"], row["n"]) for row in unit.statuses)


def _stands_out(
    counts: Sequence[UnitCounts], groups: Sequence[Group], confusions: Sequence[Confusion], formats: Sequence[Unread]
) -> list[str]:
    """What stands out, a line each, the most telling first."""
    by_kind: Counter[str] = Counter()
    for unit in counts:
        by_kind.update(unit.by_kind)
    n_confused = sum(each.stands_out for each in confusions)
    said = [(len(groups), GROUPS), *((by_kind[kind], of_kind) for kind, of_kind in OF_KIND.items())]
    said += [(n_confused, CONFUSED), (len(formats), UNREAD)]
    return [f"{n} {one if n == 1 else many}" for n, (one, many) in said if n]
