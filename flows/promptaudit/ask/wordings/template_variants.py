"""Lists the templates of a task that a run asks: the card's, and rewordings of the first if the audit wants them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from promptaudit.ask.wordings.variants import Proposal, rephraser_parts, rephrasing_key
from promptaudit.cards.rewording import Rewording
from promptaudit.plan.design import Design
from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.templates import wording_of
from promptaudit.registry.cards import SELF, Template
from promptaudit.system.keys import as_json, content_id


def rewords_templates(design: Design) -> bool:
    """Checks whether the audit's rephraser rewords templates."""
    rephrasing = design.audit.rephrasing
    return rephrasing is not None and rephrasing.templates and bool(design.templates)


def variants_key(design: Design, task_id: str, rewording: Rewording) -> str:
    """Hashes what decides a task's variants: its instruction, or its templates and how the first is reworded."""
    if task_id not in design.templates:
        return rephrasing_key(design, task_id, rewording)
    decides: list[str | None] = [task_id, design.templates[task_id].canonical_json()]
    by_rephraser = rephraser_parts(design, rewording)
    if not by_rephraser:
        return content_id("templates", *decides)
    owner = [] if rewording.own_of is None else [SELF]
    protected = as_json(design.tasks[task_id].protected)
    return content_id("reworded templates", *decides, protected, *by_rephraser, *owner)


def template_wording(design: Design, task_id: str, *, is_given: bool) -> Wording:
    """Describes what a rephraser rewords of a task, its first template; `is_given` if a person rewords."""
    return wording_of(task_id, design.tasks[task_id], design.templates[task_id].templates[0], is_given=is_given)


def templates_of_card(
    design: Design, task_id: str, rewordings: Iterable[Proposal], *, with_card: bool
) -> list[Proposal]:
    """Lists the card's templates, the original first, then rewordings of it, numbered on; refused ones from -1 down.

    Without `with_card` only the rewordings, with the same numbers.
    """
    own = [
        Proposal(paraphrase_temperature=None, variant_index=index, instruction=template.text)
        for index, template in enumerate(design.templates[task_id].templates)
    ]
    proposals = own if with_card else []
    n_kept, n_refused = len(own), 0
    for rewording in rewordings:
        is_refused = rewording.refused_because is not None
        proposals.append(replace(rewording, variant_index=-n_refused - 1 if is_refused else n_kept))
        n_refused += is_refused
        n_kept += not is_refused
    return proposals


def is_of_card(design: Design, task_id: str, proposal: Proposal) -> bool:
    """Checks whether a proposal is a template of the card, and no rewording."""
    return 0 <= proposal.variant_index < len(design.templates[task_id].templates)


def template_for(design: Design, task_id: str, proposal: Proposal) -> Template:
    """Finds the template of a proposal: the card's own, else the first with the proposal's text."""
    templates = design.templates[task_id].templates
    if is_of_card(design, task_id, proposal):
        return templates[proposal.variant_index]
    return templates[0].model_copy(update={"text": proposal.instruction})
