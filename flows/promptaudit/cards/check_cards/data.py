"""Checks whether a task's data can be read and has what its card, its strategies and its templates need."""

from __future__ import annotations

from promptaudit.cards.check_cards.cards import AuditCards, Errors
from promptaudit.cards.label_words import unlike_line, words_asked_for
from promptaudit.prompts.templates import OWN, columns_of
from promptaudit.prompts.variations.examples import MOST_ROWS
from promptaudit.registry.errors import CardError, PromptauditError, nearest, raise_all
from promptaudit.registry.extras import refused_scoring
from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.samples import ChosenSamples, choose_samples, lacking_data, panels
from promptaudit.registry.task_cards import sound_pattern
from promptaudit.registry.template_cards import OF_OPTIONS


def check_data(cards: AuditCards) -> Errors:
    """Checks that the samples of every task whose data is here can be chosen, and keeps them in `cards.samples`."""
    for name, card in cards.tasks.items():
        root = cards.registry.data_root(name)
        if card.data.hub is not None or lacking_data(name, card, root) is not None:
            continue
        try:
            cards.samples[name] = choose(cards, name)
        except PromptauditError as error:
            yield from error.at(cards.where("tasks", name, "data")).errors
            continue
        yield from _check_contents(cards, name)


def _check_contents(cards: AuditCards, task_id: str) -> Errors:
    if cards.tasks[task_id].fields:
        yield from _check_gold_values(cards, task_id)
    yield from _check_patterns(cards, task_id)


def _check_gold_values(cards: AuditCards, task_id: str) -> Errors:
    # for each field the first gold value that its rule cannot read
    from promptaudit.udfs.scoring.fields import canonical_value, is_list

    card = cards.tasks[task_id]
    columns = card.gold_columns
    for name, field in card.fields.items():
        gold = [(sample, sample.fields.get(columns[name], "")) for sample in cards.samples[task_id].samples]
        is_of_lists = not field.list and all(is_list(text) for _, text in gold if text.strip())
        wrong = [
            (sample, text)
            for sample, text in gold
            if canonical_value(text, field.reader()) is None or (is_of_lists and text.strip())
        ]
        if wrong:
            sample, text = wrong[0]
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            where = cards.where("tasks", task_id, "fields", name)
            is_wrong = "is a list: the field needs `list: true`" if is_of_lists else NOT_OF_RULE[field.rule]
            yield CardError(
                f"{where}: fields.{name}: {card.data.path or card.data.hub} sample '{sample.sample_id}', column "
                f"'{columns[name]}': {text[:80]!r} {is_wrong}{nearest(text, field.values)}{more}"
            )


def _check_patterns(cards: AuditCards, task_id: str) -> Errors:
    # the first reference that is no pattern
    card = cards.tasks[task_id]
    for sample in cards.samples[task_id].samples if "regex" in card.scoring else ():
        for text in sample.references:
            try:
                sound_pattern(text)
            except ValueError as error:
                where = f"{cards.where('tasks', task_id, 'scoring')}: {card.data.path or card.data.hub}"
                yield CardError(f"{where} sample '{sample.sample_id}': the reference {text[:80]!r} is {error}")
                return


NOT_OF_RULE = {
    "exact": "is longer than a value may be",
    "number": "is no number",
    "date": "is no date, or may be two: write YYYY-MM-DD",
    "one_of": "is none of its values",
    "token_f1": "has no words",
}
"""What is wrong with a gold value that a rule cannot read."""


def check_critical(cards: AuditCards) -> Errors:
    """Checks that every critical sample is an id of the data, or a column, once all data can be read."""
    audit, tasks = cards.audit, cards.tasks
    if not audit.critical or any(name not in cards.samples for name in tasks):
        return
    rows = [row for name in tasks for row in cards.samples[name].samples]
    known = {row.sample_id for row in rows} | {column for row in rows for column in row.fields}
    for index, name in enumerate(audit.critical):
        if name not in known:
            where = cards.where("audits", cards.audit_id, "critical", index)
            yield CardError(
                f"{where}: critical.{index}: '{name}' is no sample that the audit asks, nor a column{nearest(name, known)}"
            )


def check_panels(cards: AuditCards) -> Errors:
    """Checks that every panel of samples has enough samples or clusters to compare nights by."""
    if cards.audit.samples.each_night is None:
        return
    from promptaudit.udfs.differences.alike_nights import FEWEST_SAMPLES

    for name, chosen in cards.samples.items():
        n_panels = cards.audit.samples.of(name).n_panels(len(chosen.samples))
        parts = panels(chosen.samples, cards.audit.samples)
        least = min(
            (len({row.cluster or f" {row.sample_id}" for row in part}) for part in parts), default=FEWEST_SAMPLES
        )
        if n_panels > 1 and least < FEWEST_SAMPLES:
            where = cards.where("audits", cards.audit_id, "samples")
            yield CardError(
                f"{where}: samples.each_night is {cards.audit.samples.each_night}, and {n_panels} panels of task '{name}' have "
                f"{least} samples, or clusters of samples, each: nights need {FEWEST_SAMPLES}; ask more a night, or all"
            )


def choose(cards: AuditCards, task_id: str) -> ChosenSamples:
    """Chooses the samples of a task that the audit asks, and its examples. Fetches data of a hub."""
    card, audit = cards.tasks[task_id], cards.audit
    with_examples = "one_shot" in audit.strategies and card.templates is None
    root = cards.registry.data_root(task_id)
    shows_others = with_examples and audit.rephrasing is not None and "examples" in audit.rephrasing.kinds
    n_spare = MOST_ROWS if shows_others else 0
    return choose_samples(task_id, card, root, audit.samples.of(task_id), with_examples=with_examples, n_spare=n_spare)


def fetch_samples(cards: AuditCards) -> dict[str, ChosenSamples]:
    """Collects the samples of every task. Data of hubs is fetched and checked now; raises what is wrong with it."""
    hubs = [name for name in cards.audit.tasks if name not in cards.samples]
    cards.samples.update({name: choose(cards, name) for name in hubs})
    if hubs:
        raise_all([*check_templates(cards), *(error for name in hubs for error in _check_contents(cards, name))])
    return {name: cards.samples[name] for name in cards.audit.tasks}


def check_templates(cards: AuditCards) -> Errors:
    """Checks that a template's placeholders are columns of the data, and that it has a sign for every option."""
    for task_id, task in cards.tasks.items():
        templates = cards.templates_of(task)
        if templates is None or task.templates is None or task_id not in cards.samples:
            continue
        samples = cards.samples[task_id].samples
        columns = {column for sample in samples for column in sample.fields}
        most = max(len(sample.options) for sample in samples)
        for index, each in enumerate(templates.templates):
            where = cards.where("templates", task.templates, "templates", index)
            options = set(OF_OPTIONS) if task.kind == "multiple_choice" else set()
            for column in sorted(columns_of(each) - columns - options):
                yield CardError(
                    f"{where}: no column of task '{task_id}' is {{{column}}}{nearest(column, columns | OWN)}"
                )
            if len(each.signs) < most:
                yield CardError(
                    f"{where}: template {index + 1} has {len(each.signs)} enumerators, task '{task_id}' has {most} options"
                )


def altered_templates(cards: AuditCards) -> list[str]:
    """Notes where templates that name single options do not fit a question's, or name examples that are not given."""
    notes = []
    for task_id, task in cards.tasks.items():
        templates = cards.templates_of(task)
        counts = [
            len(sample.options) for sample in (cards.samples[task_id].samples if task_id in cards.samples else ())
        ]
        for index, each in enumerate(templates.templates if templates is not None else ()):
            where = f"{cards.where('templates', task.templates or '', 'templates', index)}: template {index + 1}"
            n_named = 0 if each.has_options else len(each.named_options)
            if "examples" in placeholders(each.text) and not each.examples:
                notes.append(f"{where} uses {{examples}} and has none; nothing stands there")
            of_task = f"of {len(counts)} questions of task '{task_id}' have"
            if n_named and (n_more := sum(count > n_named for count in counts)):
                notes.append(f"{where} names {n_named} options; {n_more} {of_task} more, which are not shown")
            if n_named and (n_fewer := sum(count < n_named for count in counts)):
                notes.append(f"{where} names {n_named} options; {n_fewer} {of_task} fewer, and blanks stand there")
    return notes


def unlike_labels(cards: AuditCards) -> list[str]:
    """Notes tasks whose prompt asks for words that are no labels, as yes or no where the labels are TRUE and FALSE."""
    notes = []
    for name, task in cards.tasks.items():
        turns = [message.content for message in task.messages if message.role != "assistant"]
        text = "\n".join((task.instruction, task.output_format, *turns))
        words = words_asked_for(text, task.label_names) if task.kind == "classification" else ()
        if words:
            where = cards.where("tasks", name, "labels")
            notes.append(f"{where}: {unlike_line(words, task.label_names, 'the card')}")
    return notes


def data_lacking(cards: AuditCards) -> Errors:
    """Yields why a task's data is missing on this machine: a file that does not ship, an extra not installed."""
    for name, card in cards.tasks.items():
        error = lacking_data(name, card, cards.registry.data_root(name))
        if error is not None:
            yield error.at(cards.where("tasks", name, "data"))


def lacking_extras(cards: AuditCards) -> Errors:
    """Yields an error for each task that is scored by a method whose library this machine lacks."""
    for name, card in cards.tasks.items():
        error = refused_scoring(card.scoring_methods)
        if error is not None:
            yield error.at(cards.where("tasks", name, "scoring"))


def unread_data(cards: AuditCards) -> list[str]:
    """Notes which data these checks have not read: rows counted by the card, and hubs, which are read at the run."""
    notes = []
    for name, card in cards.tasks.items():
        where = card.data.path or card.data.hub
        is_here = card.data.path is not None and (cards.registry.data_root(name) / card.data.path).exists()
        if not is_here and card.data.rows is not None:
            count = min(card.data.rows, cards.audit.samples.of(name).limit or card.data.rows)
            notes.append(f"task '{name}': {where} is not here; counted {count} rows as the card says")
        elif card.data.hub is not None:
            notes.append(f"task '{name}': {where} is looked at when it is run")
    return notes
