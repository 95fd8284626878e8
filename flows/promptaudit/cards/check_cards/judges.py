"""Checks whether an audit's judges can rule on its answers, and notes what is added to their rubrics."""

from __future__ import annotations

from collections.abc import Collection

from promptaudit.cards.check_cards.cards import AuditCards, Errors
from promptaudit.registry.cards import JudgeCard
from promptaudit.registry.errors import CardError, nearest


def check_judges(cards: AuditCards) -> Errors:
    """Checks that a judge's id is no other rater's, its model gives verdicts, and its instructions name known tasks."""
    known = cards.registry.names("tasks")
    for name, card in cards.judges.items():
        if ":" in name or "|" in name:
            where = cards.where("judges", name)
            yield CardError(f"{where}: judge '{name}': its id holds no ':' and no '|', which stand between raters")
        model = cards.used["models"].get(card.model or "")
        rules = None if model is None else cards.registry.model(card.model or "")
        if rules is not None and rules.engine == "embedded" and rules.model != "matcher":
            where = cards.where("judges", name, "model")
            yield CardError(f"{where}: '{card.model}' gives no verdicts; of the embedded models `matcher` does")
        yield from _check_tasks_of_judge(cards, name, card, known)
        rules_on_others = name in cards.audit.judges or card.against is not None
        if name == cards.meaning_judge and (card.panel or rules_on_others):
            where = cards.registry.entry("audits", cards.audit_id).where(cards.audit_id, "rephrasing", "meaning")
            what = "is a panel" if card.panel else "rules on the answers of this audit"
            yield CardError(f"{where}: '{name}' {what}; rewordings are put before a judge of their own with a model")
        yield from _check_pairs(cards, name, card)
        for index, member in enumerate(card.panel):
            where = cards.where("judges", name, "panel", index)
            if member not in cards.used["judges"]:
                continue
            if cards.registry.judge(member).panel:
                yield CardError(f"{where}: '{member}' is a panel itself; a panel is of judges with a model")
            if cards.registry.judge(member).against is not None or member == cards.meaning_judge:
                yield CardError(f"{where}: '{member}' rules on no single answers, so it has no vote in a panel")


def check_unscored(cards: AuditCards) -> Errors:
    """Checks that a judge rules on the answers to open questions without references, which no rule can score."""
    for name, task in cards.tasks.items():
        judges = [card for card in cards.judges.values() if card.rules_on(name) and not card.needs_key]
        if task.kind == "open_ended" and task.data.references is None and not judges:
            where = cards.where("tasks", name, "data")
            yield CardError(
                f"{where}: data names no references, so no rule scores the answers: name their columns, or let audit "
                f"'{cards.audit_id}' name a judge with `references: none`"
            )


def _check_pairs(cards: AuditCards, name: str, card: JudgeCard) -> Errors:
    # a judge of pairs compares open answers with an asked model's, and has a model that can
    if card.against is None:
        return
    asked = cards.registry.models_of(cards.audit_id)
    where = cards.where("judges", name, "against")
    if card.against not in asked or len(asked) < 2:  # noqa: PLR2004 - one and another
        yield CardError(
            f"{where}: '{card.against}' and another model are wanted among the audit's{nearest(card.against, asked)}"
        )
    closed = [task_id for task_id, task in cards.tasks.items() if card.rules_on(task_id) and task.kind != "open_ended"]
    if closed:
        yield CardError(
            f"{where}: pairs are of open answers, and task '{closed[0]}' is {cards.tasks[closed[0]].kind}; name `tasks`"
        )
    model = None if card.model not in cards.used["models"] else cards.registry.model(card.model or "")
    if model is not None and model.engine == "embedded":
        yield CardError(f"{where}: '{card.model}' compares no answers; name a judge with a model that does")


def _check_tasks_of_judge(cards: AuditCards, name: str, card: JudgeCard, known: Collection[str]) -> Errors:
    # the tasks that a judge names exist, it rules on one of the audit's, and a panel's members rule where it does
    named = {task_id: ("instructions", task_id) for task_id in card.instructions}
    for task_id, place in (named | {task_id: ("tasks", index) for index, task_id in enumerate(card.tasks)}).items():
        if task_id not in known:
            where = cards.where("judges", name, *place)
            yield CardError(f"{where}: no task '{task_id}'{nearest(task_id, known)}")
    ruled = [task_id for task_id in cards.audit.tasks if card.rules_on(task_id)]
    if not ruled and name in cards.audit.judges:
        where = cards.where("judges", name, "tasks")
        yield CardError(f"{where}: judge '{name}' rules on no task of audit '{cards.audit_id}'")
    for index, member in enumerate(card.panel):
        unruled = [
            task_id
            for task_id in ruled
            if member in cards.used["judges"] and not cards.registry.judge(member).rules_on(task_id)
        ]
        if unruled:
            where = cards.where("judges", name, "panel", index)
            yield CardError(f"{where}: '{member}' does not rule on task '{unruled[0]}'; name the panel's `tasks` too")


def altered_rubrics(cards: AuditCards) -> list[str]:
    """Notes what is put around the parts of a rubric without marks, and where its replies may be no verdicts."""
    notes = []
    for name, card in cards.judges.items():
        if card.panel or card.has_marks:
            continue
        where = f"{cards.where('judges', name, 'rubric')}: judge '{name}'"
        if card.marks == "around":
            notes.append(
                f"{where}: marks go around each completion, since the rubric has no {{mark}}; `marks: none` adds none"
            )
        if card.references == "listed":
            notes.append(f"{where}: each reference gets '- ' and options a heading; `references: plain` adds nothing")
        if card.reply is None and "match" not in card.rubric:
            notes.append(
                f'{where}: the rubric never says "match"; a reply of another form than {{"match": true}} needs `reply`'
            )
    return notes
