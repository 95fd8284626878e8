"""The templates of a task that a run asks: those of its card, and rewordings of the first one where the audit wants them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flows.audit.design import Design
from flows.audit.variants import Proposal
from flows.rephrasers import Wording
from flows.rephrasers.templates import wording_of
from flows.system.keys import as_json, content_id, sent_by
from models_registry.cards import Template


def rewords_templates(design: Design) -> bool:
    """Returns whether the audit's rephraser rewords templates."""
    rephrasing = design.audit.rephrasing
    return rephrasing is not None and rephrasing.templates and bool(design.templates)


def key_of_templates(design: Design, task_id: str) -> str:
    """Returns the id of what decides which templates of a task are asked: its card, and how the first is reworded."""
    decides: list[str | None] = [task_id, design.templates[task_id].canonical_json()]
    rephrasing = design.audit.rephrasing
    if rephrasing is None or not rephrasing.templates:
        return content_id("templates", *decides)
    card = design.registry.rephraser(rephrasing.rephraser)
    model = None if card.model is None else as_json(sent_by(design.registry.model(card.model)))
    decides += [as_json(design.tasks[task_id].protected), rephrasing.canonical_json(), card.canonical_json(), model]
    return content_id("reworded templates", *decides)


def template_wording(design: Design, task_id: str, *, is_given: bool) -> Wording:
    """Returns what a rephraser rewords of a task, its first template; `is_given` where a person rewords."""
    return wording_of(task_id, design.tasks[task_id], design.templates[task_id].templates[0], is_given=is_given)


def templates_of_card(design: Design, task_id: str, rewordings: Iterable[Proposal] = ()) -> list[Proposal]:
    """Returns the card's templates, the original first, then rewordings of it, numbered on; refused ones from -1 down."""
    proposals = [
        Proposal(paraphrase_temperature=None, variant_index=index, instruction=template.text)
        for index, template in enumerate(design.templates[task_id].templates)
    ]
    n_kept, n_refused = len(proposals), 0
    for rewording in rewordings:
        is_refused = rewording.refused_because is not None
        proposals.append(replace(rewording, variant_index=-n_refused - 1 if is_refused else n_kept))
        n_refused += is_refused
        n_kept += not is_refused
    return proposals


def is_of_card(design: Design, task_id: str, proposal: Proposal) -> bool:
    """Returns whether a proposal is a template of the card, and no rewording."""
    return 0 <= proposal.variant_index < len(design.templates[task_id].templates)


def template_for(design: Design, task_id: str, proposal: Proposal) -> Template:
    """Returns the template of a proposal: the card's own, else the first with the proposal's text."""
    templates = design.templates[task_id].templates
    if is_of_card(design, task_id, proposal):
        return templates[proposal.variant_index]
    return templates[0].model_copy(update={"text": proposal.instruction})
