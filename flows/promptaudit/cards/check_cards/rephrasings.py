"""Checks whether rules know a task's language, a card's own list every task, and which of its rephrasings are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from promptaudit.cards.check_cards.cards import AuditCards, Errors
from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.languages import REWORDED, language_of, unknown_language
from promptaudit.prompts.rephrasers.protected_spans import protected_words
from promptaudit.prompts.rephrasers.refusals import shortfall, why_wording_refused
from promptaudit.prompts.rephrasers.templates import wording_of
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.errors import CardError, nearest
from promptaudit.registry.tables import escape


def check_rephrasings(cards: AuditCards) -> Errors:
    """Checks that a list of rephrasings has some for every rephrased task, and that templates to rephrase exist."""
    rephrasing = cards.audit.rephrasing
    if rephrasing is not None and rephrasing.templates and not any(task.templates for task in cards.tasks.values()):
        where = cards.where("audits", cards.audit_id, "rephrasing", "templates")
        yield CardError(f"{where}: rephrasing.templates: no task of audit '{cards.audit_id}' has templates")
    for task_id, _, listed in _listed(cards):
        if listed is None:
            (name,) = cards.used["rephrasers"]
            known = cards.registry.rephraser(name).variants or {}
            where = cards.where("rephrasers", name, "variants")
            yield CardError(f"{where}: variants: none of task '{task_id}'{nearest(task_id, known)}")


def check_languages(cards: AuditCards) -> Errors:
    """Checks that what is reworded by rules is in a language that they know, or in one that cannot be made out."""
    rephraser, rephrasing = cards.rephraser, cards.audit.rephrasing
    if rephraser is None or rephraser.kind != "rules" or rephrasing is None or not rephrasing.wanted:
        return
    for task_id, task in cards.tasks.items():
        wording = _wording(cards, task_id, task)
        if wording is None or (task.templates is not None and not rephrasing.templates):
            continue
        language = language_of(wording.instruction, wording.protected)
        if language is not None and language not in REWORDED:
            where = f"{cards.where('tasks', task_id, 'instruction')}: instruction"
            if task.templates is not None:
                where = f"{cards.where('templates', task.templates, 'templates', 0)}: templates.0"
            (name,) = cards.used["rephrasers"]
            yield CardError(f"{where}: {unknown_language(language, name)} of audit '{cards.audit_id}'")


def refused_rephrasings(cards: AuditCards) -> list[str]:
    """Notes which rephrasings of a list are refused and why, and how many are left, as a run says it."""
    rephrasing, notes = cards.audit.rephrasing, list[str]()
    for task_id, task, listed in _listed(cards):
        wording = _wording(cards, task_id, task)
        if rephrasing is None or listed is None or wording is None:
            continue
        refused, n_kept = _refused(wording, _of_templates(cards, task), listed, rephrasing.wanted)
        notes += _notes(cards, task_id, refused)
        if n_kept < rephrasing.wanted:
            groups = rephrasing.temperatures or (None,)
            notes += [shortfall(task_id, n_kept, rephrasing.wanted, len(refused), each) for each in groups]
    return notes


def _notes(cards: AuditCards, listed_as: str, refused: Mapping[int, str]) -> Iterator[str]:
    (name,) = cards.used["rephrasers"]
    for index, reason in refused.items():
        where = cards.where("rephrasers", name, "variants", listed_as, index)
        yield f"{where}: variants.{listed_as}.{index} is refused: {reason}"


def unreworded_templates(cards: AuditCards) -> list[str]:
    """Notes which tasks are not reworded although the audit rephrases: their prompts are templates."""
    rephrasing = cards.audit.rephrasing
    if rephrasing is None or rephrasing.templates or not rephrasing.has_wording:
        return []
    tasks = [name for name, task in cards.tasks.items() if task.templates is not None]
    wanted = "rephrasing.templates: true has the first of them reworded"
    return [f"task '{name}': its templates are asked as they stand; {wanted}" for name in tasks]


def _wording(cards: AuditCards, task_id: str, task: TaskCard) -> Wording | None:
    # a person rewords a task's instruction, or its first template
    if task.templates is None:
        protected = protected_words(task, cards.rephraser, is_given=True)
        return Wording(task_id, task.instruction, protected, is_given=True)
    templates = cards.templates_of(task)
    return None if templates is None else wording_of(task_id, task, templates.templates[0], is_given=True)


def _of_templates(cards: AuditCards, task: TaskCard) -> tuple[str, ...]:
    templates = cards.templates_of(task)
    return () if templates is None else tuple(template.text for template in templates.templates)


def _refused(wording: Wording, known: Sequence[str], listed: Sequence[str], wanted: int) -> tuple[dict[int, str], int]:
    # by place in the list; it ends once as many are kept as are wanted
    seen, n_kept = {" ".join(text.split()) for text in (wording.instruction, *known)}, 0
    refused: dict[int, str] = {}
    for index, each in enumerate(listed):
        text = escape(each)[0]
        folded = " ".join(text.split())
        if n_kept == wanted or folded in seen:
            continue
        seen.add(folded)
        reason = why_wording_refused(wording, text)
        if reason is None:
            n_kept += 1
        else:
            refused[index] = reason
    return refused, n_kept


def _listed(cards: AuditCards) -> Iterator[tuple[str, TaskCard, tuple[str, ...] | None]]:
    # only where rephrasings stand in a card; None for a task that the card leaves out
    rephraser, rephrasing = cards.rephraser, cards.audit.rephrasing
    if rephraser is None or rephraser.variants is None or rephrasing is None or not rephrasing.wanted:
        return
    for task_id, task in cards.tasks.items():
        if task.templates is None or rephrasing.templates:
            yield task_id, task, rephraser.variants.get(task_id)
