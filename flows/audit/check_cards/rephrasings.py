"""Whether the rephrasings that stand in a card are there for every task, and which of them are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flows.audit.check_cards.cards import AuditCards, Errors
from flows.rephrasers.protected_spans import protected_words
from flows.rephrasers.refusals import shortfall, why_refused
from models_registry.cards import TaskCard
from models_registry.errors import CardError, nearest
from models_registry.tables import escape


def check_rephrasings(cards: AuditCards) -> Errors:
    """Yields an error unless a list of rephrasings has some for every task that is rephrased."""
    for task_id, _, listed in _listed(cards):
        if listed is None:
            (name,) = cards.used["rephrasers"]
            known = cards.registry.rephraser(name).variants or {}
            where = cards.where("rephrasers", name, "variants")
            yield CardError(f"{where}: variants: none of task '{task_id}'{nearest(task_id, known)}")


def refused_rephrasings(cards: AuditCards) -> list[str]:
    """Returns which rephrasings of a list are refused and why, and how many are left, as a run says it."""
    rephrasing, notes = cards.audit.rephrasing, []
    for task_id, task, listed in _listed(cards):
        if rephrasing is None or listed is None:
            continue
        protected = protected_words(task, cards.rephraser, is_given=True)
        refused, n_kept = _refused(task, listed, protected, rephrasing.wanted)
        (name,) = cards.used["rephrasers"]
        for index, reason in refused.items():
            where = cards.where("rephrasers", name, "variants", task_id, index)
            notes.append(f"{where}: variants.{task_id}.{index} is refused: {reason}")
        if n_kept < rephrasing.wanted:
            groups = rephrasing.temperatures or (None,)
            notes += [shortfall(task_id, n_kept, rephrasing.wanted, len(refused), each) for each in groups]
    return notes


def _refused(
    task: TaskCard, listed: Sequence[str], protected: tuple[str, ...], wanted: int
) -> tuple[dict[int, str], int]:
    """Why rephrasings are refused, by their place in the list, and how many are kept, until as many are as wanted."""
    seen, n_kept = {" ".join(task.instruction.split())}, 0
    refused: dict[int, str] = {}
    for index, text in enumerate(listed):
        wording = escape(text)[0]
        folded = " ".join(wording.split())
        if n_kept == wanted or folded in seen:
            continue
        seen.add(folded)
        reason = why_refused(task.instruction, wording, protected, is_given=True)
        if reason is None:
            n_kept += 1
        else:
            refused[index] = reason
    return refused, n_kept


def _listed(cards: AuditCards) -> Iterator[tuple[str, TaskCard, tuple[str, ...] | None]]:
    """The rephrased tasks with their rephrasings, where these stand in a card; None for a task the card leaves out."""
    rephraser, rephrasing = cards.rephraser, cards.audit.rephrasing
    if rephraser is None or rephraser.variants is None or rephrasing is None or not rephrasing.wanted:
        return
    for task_id, task in cards.tasks.items():
        if task.templates is None:
            yield task_id, task, rephraser.variants.get(task_id)
