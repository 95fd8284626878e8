"""Plans a trial: its samples, its arms and its fingerprint. Asks nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from promptaudit.ask.wordings.paraphrase import make_proposals
from promptaudit.ask.wordings.variants import Proposal, earlier_proposals, rephrasing_key, rewordings
from promptaudit.cards.check_cards.models import unknown_prices
from promptaudit.plan.design import Design
from promptaudit.prompts.messages import FILLED, TRIED, dressing
from promptaudit.registry.cards import AuditCard, FormatLimits, ModelCard, TaskCard
from promptaudit.registry.errors import UsageError, raise_all
from promptaudit.registry.registry import Entry, Registry
from promptaudit.registry.samples import ChosenSamples, Sample, choose_samples, limited, load_samples
from promptaudit.system.keys import as_json, content_id, sent_by
from promptaudit.system.settings import Settings
from promptaudit.trial.arms import FILLER, Change, arms, asks_otherwise, change_of
from promptaudit.trial.base_run import EVERY, Base, PromptVariant, base_run, choose, read_base
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

ORIGIN = "trial"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """The options of `promptaudit try`."""

    audit: str
    on: str
    added: str | None = None
    edited: bool = False
    instruction: str | None = None  # tried in place of the original, the only wording asked beside it
    task: str | None = None
    model: str | None = None
    strategy: str | None = None
    filler: str | None = FILLER  # None: no control


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial before it is asked: the variants of every arm, still under the base run's id."""

    base: Base
    change: Change
    design: Design
    variants: tuple[PromptVariant, ...]
    filler: str | None
    notes: tuple[str, ...]
    asks_unchanged: bool  # whether the prompts as they were are asked again

    @property
    def models(self) -> dict[str, Entry]:
        """Maps the models that are asked to their cards, with where these stand."""
        return {name: self.design.registry.entry("models", name) for name in self.design.models}

    def refuse_unpriced(self, max_usd: float | None) -> None:
        """Raises UsageError where a budget in dollars is set, by the command or the audit, and a price is unknown."""
        limit = self.design.audit.budget.max_usd if max_usd is None else max_usd
        raise_all(unknown_prices(self.design.registry, self.models, limit))

    @property
    def strategies(self) -> tuple[str, ...]:
        """Lists the strategies of the base run that are tried."""
        return tuple(dict.fromkeys(dressing(variant.strategy) for variant in self.variants))

    @property
    def n_variants(self) -> int:
        """Counts the prompt variants in an arm, for the model and strategy that have most."""
        return max(
            count
            for model_id in self.design.models
            for count in Counter(each.strategy for each in self.variants if each.is_asked_of(model_id)).values()
        )


def plan_trial(settings: Settings, registry: Registry, options: TrialOptions) -> Trial:
    """Plans the trial of a command's options. Raises UsageError, CardError or DataError in one line."""
    if (options.added is not None) + options.edited + (options.instruction is not None) != 1:
        msg = "give one of --add TEXT and --edited: what is tried"
        raise UsageError(msg)
    warehouse = Warehouse(settings.warehouse)
    run, audit_id = base_run(warehouse, options.audit)
    task = _edited_task(warehouse, registry, run) if options.edited and options.task is None else options.task
    chosen = choose(warehouse, run, options.on, task=task, model=options.model, strategy=options.strategy)
    base = read_base(warehouse, run, audit_id, chosen)
    if chosen.n_fresh:
        base = replace(base, samples=_fresh(warehouse, registry, base, chosen.n_fresh))
    if options.instruction is not None:
        originals = {each.strategy: each for each in reversed(base.variants) if each.is_original}
        base = replace(base, variants=tuple(originals.values()))
    models = _models(registry, base, chosen.model)
    asks_unchanged = options.filler is not None or chosen.n_fresh > 0 or chosen.is_every
    if not asks_unchanged:
        _refuse_unasked(warehouse, base, models)
    # wordings that other models made for themselves are asked of no model of the trial
    base = replace(base, variants=tuple(each for each in base.variants if any(map(each.is_asked_of, models))))
    now = registry.task(base.task_id) if options.edited else base.card
    change = (
        change_of(base, now, options.added) if options.instruction is None else Change(instruction=options.instruction)
    )
    filler = None if options.filler is None else options.filler.strip()
    if filler == "":
        msg = "--filler: a text is wanted, or --no-control"
        raise UsageError(msg)
    names = arm_names(base.strategies, unchanged=asks_unchanged, filler=filler is not None)
    design = _design(registry, base, change, models, names)
    variants = arms(design, base, change, lambda: _reworded(settings, design, now), filler, unchanged=asks_unchanged)
    notes = notes_on(base, design, variants, options)
    return Trial(
        base=base,
        change=change,
        design=_fingerprinted(design, base, change, variants, filler),
        variants=tuple(variants),
        filler=filler,
        notes=notes,
        asks_unchanged=asks_unchanged,
    )


def _edited_task(warehouse: Warehouse, registry: Registry, run: str) -> str | None:
    # the one whose card asks otherwise now; None if there is none
    landed = warehouse.published.read(sql("trial", "tasks"), run=run)
    cards = {row["task_id"]: TaskCard.model_validate_json(row["card"]) for row in landed}
    known = [name for name in cards if registry.find("tasks", name) is not None]
    edited = [name for name in known if asks_otherwise(cards[name], registry.task(name))]
    if len(edited) > 1:
        msg = f"--task: the cards of several tasks are edited, name one: {', '.join(edited)}"
        raise UsageError(msg)
    return next(iter(edited), None)


def _fresh(warehouse: Warehouse, registry: Registry, base: Base, n: int) -> dict[str, Sample]:
    # at most n samples that the base run did not ask, chosen as the audit would
    query = "select sample_id, cluster from raw.samples where audit_run_id = $run and task_id = $task"
    asked = warehouse.published.read(query, run=base.audit_run_id, task=base.task_id)
    known, clusters = {row["sample_id"] for row in asked}, {row["cluster"] for row in asked} - {None}
    shown = set(_examples(registry, base, registry.audit(base.audit_id)).values())
    rows = [
        row
        for row in load_samples(base.task_id, base.card, registry.data_root(base.task_id))
        if row.sample_id not in known and row.cluster not in clusters and row.text not in shown
    ]
    if not rows:
        msg = f"task '{base.task_id}': run {base.audit_run_id} asked every sample of its data; none is fresh"
        raise UsageError(msg)
    chosen = registry.audit(base.audit_id).samples.of(base.task_id)
    return {row.sample_id: row for row in limited(rows, chosen.model_copy(update={"limit": n, "each_night": None}))}


def _design(
    registry: Registry, base: Base, change: Change, models: Mapping[str, ModelCard], strategies: tuple[str, ...]
) -> Design:
    audit = registry.audit(base.audit_id)
    # samples that were chosen for their answers would fail any gate: here they are counted, not left out
    limits = {"policy": "warn", "max_invalid_rate_at_first": 1.0}
    narrowed: dict[str, object] = {
        "tasks": (base.task_id,),
        "models": tuple(models),
        "strategies": strategies,
        "judges": {},
        "model_sets": {},
        "stop": None,
        "format": FormatLimits.model_validate_json(base.format_limits, extra="ignore").model_copy(update=limits),
    }
    return Design(
        audit_id=base.audit_id,
        audit=audit.model_copy(update=narrowed),
        registry=registry,
        tasks={base.task_id: base.card},
        templates={},
        models=models,
        judges={},
        samples={base.task_id: ChosenSamples(tuple(base.samples.values()), _examples(registry, base, audit))},
        fingerprint=registry.fingerprint(base.audit_id),
        plan_fingerprint="",
        origin=ORIGIN,
        tried={} if change.edited is None else {base.task_id: change.edited},
    )


def arm_names(strategies: Sequence[str], *, unchanged: bool, filler: bool) -> tuple[str, ...]:
    """Names a trial's arms: each strategy as it was, with a filler, and tried."""
    endings = (*([""] if unchanged else []), *([FILLED] if filler else []), TRIED)
    return tuple(strategy + ending for strategy in strategies for ending in endings)


def _models(registry: Registry, base: Base, only: str | None) -> dict[str, ModelCard]:
    # a perturbing model needs the model that it perturbs
    wanted = list(base.models) if only is None else [only]
    for name in wanted:
        card = registry.model(name)
        if card.engine == "recorded":
            msg = (
                f"model '{name}' is recorded: it has no answers to prompts that were never asked; name another --model"
            )
            raise UsageError(msg)
        if card.of is not None and card.of not in wanted:
            wanted.append(card.of)
    return {name: registry.model(name) for name in (*base.models, *wanted) if name in wanted}


def _refuse_unasked(warehouse: Warehouse, base: Base, models: Iterable[str]) -> None:
    # answers stand for the unchanged prompts only where every sample was asked under all wordings
    variants = [variant.prompt_variant_id for variant in base.variants]
    rows = warehouse.published.read(sql("trial", "wordings_asked"), run=base.audit_run_id, variants=variants)
    asked = {(row["model_id"], row["sample_id"]): row["n_wordings"] for row in rows}
    for model_id in models:
        n_wordings = sum(variant.is_asked_of(model_id) for variant in base.variants)
        for sample_id in base.samples:
            n_asked = asked.get((model_id, sample_id), 0)
            if n_asked < n_wordings:
                msg = (
                    f"--no-control: run {base.audit_run_id} asked model '{model_id}' sample {sample_id[:80]!r} under {n_asked} "
                    f"of {n_wordings} wordings, which does not stand for the unchanged prompts; leave it out"
                )
                raise UsageError(msg)


def _examples(registry: Registry, base: Base, audit: AuditCard) -> dict[str, str]:
    if "one_shot" not in base.strategies:
        return {}
    root = registry.data_root(base.task_id)
    return dict(
        choose_samples(base.task_id, base.card, root, audit.samples.of(base.task_id), with_examples=True).examples
    )


def _reworded(settings: Settings, design: Design, now: TaskCard) -> list[Proposal]:
    # wordings of an earlier run, else of the rephraser, which asks nobody
    (task_id,) = design.tasks
    # all models of the audit decide who rewords, not only the tried ones
    models = {name: design.registry.model(name) for name in design.registry.models_of(design.audit_id)}
    edited = replace(design, tasks={task_id: now}, models=models)
    warehouse, proposals = Warehouse(settings.warehouse), []
    for rewording in rewordings(edited, task_id):
        if rewording.model_ids is not None and design.models.keys().isdisjoint(rewording.model_ids):
            continue
        earlier = earlier_proposals(warehouse, rephrasing_key(edited, task_id, rewording))
        if earlier is None and rewording.card is not None and not rewording.card.asks_nobody:
            rephrasing = design.audit.rephrasing
            name = "" if rephrasing is None else rephrasing.rephraser
            msg = (
                f"task '{task_id}': its instruction is edited and rephraser '{name}' has to be asked for wordings: "
                f"`promptaudit run {design.audit_id}` asks it, or give what is new with --add"
            )
            raise UsageError(msg)
        proposals += make_proposals(edited, task_id, rewording) if earlier is None else earlier
    return proposals


def _fingerprinted(
    design: Design, base: Base, change: Change, variants: Sequence[PromptVariant], filler: str | None
) -> Design:
    # the same trial again has the same fingerprint
    source = {
        "base_run_id": base.audit_run_id,
        "task_id": base.task_id,
        "sample_ids": list(base.samples),
        "filler": filler,
        "added": change.added,
        "instruction": change.instruction,
        "edited": None if change.edited is None else change.edited.canonical_json(),
    }
    fingerprint = content_id(
        "trial",
        as_json(source),
        *(as_json([name, sent_by(card)]) for name, card in design.models.items()),
        *(as_json([each.prompt_variant_id, each.prompt, list(each.repetitions)]) for each in variants),
    )
    return replace(design, source=source, plan_fingerprint=fingerprint)


def notes_on(base: Base, design: Design, variants: Sequence[PromptVariant], options: TrialOptions) -> tuple[str, ...]:
    """Writes what a reader of a trial has to know about how it was asked."""
    notes = []
    if base.has_other_kinds:
        notes.append(
            "the base run has prompts that differ in another respect than their wording: its figures, which samples are chosen "
            "by, are over all of them, and the trial asks the wordings alone"
        )
    for name, card in design.models.items():
        landed = base.models.get(name)
        if landed is not None and sent_by(ModelCard.model_validate_json(landed)) != sent_by(card):
            notes.append(f"model '{name}' is asked by another card than in the base run")
    n_left_out = len(base.variants) - sum(variant.strategy.endswith(TRIED) for variant in variants)
    if n_left_out:
        notes.append(f"{n_left_out} prompt variants have no counterpart in the edited card and are in no arm")
    if options.filler is None and not (options.on.startswith("fresh:") or options.on == EVERY):
        notes.append(
            "without a control the base run's answers stand in for the unchanged prompts: samples that were chosen because "
            "they were worst get better by being asked again, and that counts as an effect of the change"
        )
    return tuple(notes)
