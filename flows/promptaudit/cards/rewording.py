"""Decides who rewords an audit's prompts and which models are asked the rewordings, and counts the variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from promptaudit.prompts.variations import settings
from promptaudit.prompts.variations.original import original_of
from promptaudit.registry.cards import AuditCard, ModelCard, RephraserCard, TaskCard, TemplateCard
from promptaudit.registry.samples import ChosenSamples


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewording:
    """The wordings of every task that one rephraser makes and that the same models are asked.

    Attributes:
        card: the rephraser, with the model that it asks; None: there are no rewordings, but the original alone.
        has_original: whether the original wording is one of them.
        model_ids: the models that are asked, the one that rewords its own prompts first; None: every model of the run.
    """

    card: RephraserCard | None
    has_original: bool = True
    model_ids: tuple[str, ...] | None = None

    @property
    def own_of(self) -> str | None:
        """Names the model that rewords its own prompts. None where the wordings are for every model."""
        return self.model_ids[0] if self.model_ids else None


def rewordings_of(rephraser: RephraserCard | None, models: Mapping[str, ModelCard]) -> list[Rewording]:
    """Decides who rewords the prompts of these audited models: one rephraser for all, or each model its own."""
    if rephraser is None or not rephraser.is_self:
        return [Rewording(card=rephraser)]
    asked: dict[str, list[str]] = {}
    for model_id, owner in owners_of(models).items():
        asked.setdefault(owner, []).append(model_id)
    own = [
        Rewording(
            card=rephraser.by(owner),
            has_original=False,
            model_ids=(owner, *(each for each in model_ids if each != owner)),
        )
        for owner, model_ids in asked.items()
    ]
    return [Rewording(card=None), *own]


def owners_of(models: Mapping[str, ModelCard]) -> dict[str, str]:
    """Maps each model to the one whose rewordings it is asked. Empty where none of them can reword.

    A model that can reword is asked its own. One that perturbs another's answers needs the other's prompts. Any other
    (an embedded annotator, recorded answers, a function) is asked the rewordings of the first model that can.
    """
    rewords = [name for name, card in models.items() if not card.is_in_process]
    if not rewords:
        return {}

    def owner(name: str) -> str:
        for _ in models:  # a circle of models that perturb each other, which is an error, ends too
            if name in rewords:
                return name
            name = models[name].of or rewords[0]
            if name not in models:
                break
        return name if name in rewords else rewords[0]

    return {name: owner(name) for name in models}


def n_wordings_wanted(audit: AuditCard, templates: TemplateCard | None) -> int:
    """Counts the wordings of a task under one strategy, if the rephraser finds as many as are wanted.

    Args:
        audit: its card.
        templates: of the task, where it has some.
    """
    rephrasing = audit.rephrasing
    n_own = 1 if templates is None else len(templates.templates)
    if rephrasing is None or (templates is not None and not rephrasing.templates):
        return n_own
    return n_own + len(rephrasing.temperatures or (None,)) * rephrasing.wanted


def n_variants(
    audit: AuditCard, task: TaskCard, strategy: str, templates: TemplateCard | None, chosen: ChosenSamples
) -> int:
    """Counts the variants of a task under a strategy, if the rephraser finds as many as are wanted."""
    n_wordings = n_wordings_wanted(audit, templates)
    n_settings = sum(
        1 for _ in settings(audit.rephrasing, original_of(task, strategy, templates, chosen, audit.rephrasing))
    )
    if audit.rephrasing is None or not audit.rephrasing.crossed:
        return n_wordings + n_settings
    n_of_card = 0 if templates is None else len(templates.templates) - 1
    return n_wordings + (n_wordings - n_of_card) * n_settings
