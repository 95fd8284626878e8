"""Sums a run up: passed or failed, what changed, what is worst by how much, an example of it, and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptaudit.query.choice.choose import Wording
from promptaudit.query.diagnosis.readings import read_differently
from promptaudit.registry.errors import CardError, UsageError, WarehouseError
from promptaudit.report.ask_copy import Copy
from promptaudit.report.blocks.blocks import group_of
from promptaudit.report.queries import query
from promptaudit.report.summary_breaking import breaking_in_words
from promptaudit.report.summary_causes import Cause, base_of, causes_of, last_comparable
from promptaudit.report.summary_example import Example, example_of, flips_of
from promptaudit.report.summary_unread import UnreadAnswers, unread_answers
from promptaudit.report.summary_worst import Worst, worst_of
from promptaudit.system.display.figures import cut, shown
from promptaudit.system.display.policy import Policy, Texts
from promptaudit.warehouse import Row, Warehouse, rows_as
from promptaudit.warehouse.sql import sql

if TYPE_CHECKING:
    from promptaudit.gate.outcome import GateResult, RuleResult

ID = 12  # characters of a run's id that distinguish it from others
MOST_RULES = 4  # named
NAME = 60  # characters of a name in a sentence
RULE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The gate's outcome for the run, or a comparison's, in a word and a sentence.

    `rules` are the failed ones, or else the unmeasured ones.
    """

    state: str  # passed, failed, not measured, no gate; of a comparison its gravest verdict
    reason: str
    rules: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The state with a capital letter, to begin a sentence."""
        return self.state.capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of a run at the head of its report.

    All texts are cut and safe to print, but a page must escape them.

    A group is never the worst if most of its answers could not be read and another reader would read them.
    """

    audit_run_id: str
    audit_id: str
    outcome: Outcome
    compared_with: str | None  # the last comparable run, in words; None: there is none
    causes: tuple[Cause, ...]
    unread: tuple[UnreadAnswers, ...]
    read_differently: tuple[str, ...]  # of which tasks another reader reads other labels
    breaking: tuple[str, ...]  # which wordings break, and the figures without them
    worst: Worst | None
    example: Example | None
    better: str | None  # a wording that is better than the original beyond chance, in a sentence
    next_command: str

    @property
    def first(self) -> tuple[str, ...]:
        """Sentences that must come before any figure: tasks with groups of which most answers could not be read."""
        return tuple(each.sentence for each in self.unread if each.groups)


def summary_of(warehouse: Warehouse, audit_run_id: str, text: Policy | None = None) -> Summary:
    """Sums up a published run from a few small queries. Raises WarehouseError if the run is not published."""
    with warehouse.published.connect() as con:
        copy = Copy(con, warehouse, audit_run_id, Texts(text))
        return summarise(copy, gate_of(warehouse, copy.run), {})


def gate_of(warehouse: Warehouse, run: Row) -> GateResult | None:
    """Checks a run against the gate, ignoring the run's age; None if the check cannot be made."""
    from promptaudit.gate.check import check_run

    try:
        return check_run(warehouse, run["audit_run_id"], now=run["started_at"])
    except (CardError, UsageError, WarehouseError):
        return None


def summarise(copy: Copy, gate: GateResult | None, gathered: Mapping[str, list[Row]]) -> Summary:
    """Sums up the run of an open copy. `gathered` are rows of queries that were asked already, by query name."""

    def rows(name: str) -> list[Row]:
        return gathered[name] if name in gathered else copy(query(name))

    scorecard, compared = rows("scorecard"), rows("changes")
    references = {row["model_id"] for row in rows("references")}
    own = [row for row in scorecard if row["model_id"] not in references] or scorecard
    last = last_comparable(compared)
    answers = copy(sql("query.diagnosis", "read_answers"))
    unread = unread_answers(answers, copy.run["origin"], copy.texts)
    unmeasured = {group for each in unread for group in each.groups}
    own = [row for row in own if group_of(row) not in unmeasured]
    worst = worst_of(copy, own, last)
    return Summary(
        audit_run_id=copy.run["audit_run_id"],
        audit_id=copy.run["audit_id"],
        outcome=_outcome(copy.run, gate, scorecard),
        compared_with=base_of(last[0]) if last else None,
        causes=tuple(causes_of(copy, compared, gate)),
        unread=unread,
        read_differently=read_differently(answers, copy.texts),
        breaking=breaking_in_words(own, copy(query("breaking_wordings"))),
        worst=worst,
        example=None
        if worst is None
        else _flip(copy, worst, last)
        or example_of(copy, worst.model_id, worst.task_id, _strategies(worst, own), worst.field),
        better=_better(copy, own),
        next_command=_next_command(copy.run, gate, worst, last),
    )


def _better(copy: Copy, scorecard: Sequence[Row]) -> str | None:
    # the surest wording of a group that is audited and can be read
    known = set(map(group_of, scorecard))
    better = (wording for wording in rows_as(Wording, copy(sql("query.choice", "wordings"))) if wording.is_better)
    for wording in sorted(better, key=lambda each: -each.gain_low):
        group = (wording.model_id, wording.task_id, wording.strategy)
        if group in known:
            return f"{', '.join(cut(name, NAME) for name in group)}: {wording.better_in_words}"
    return None


def _flip(copy: Copy, worst: Worst, last: Sequence[Row]) -> Example | None:
    # what regressed most, or else the labels of the worst group
    wanted = (worst.model_id, worst.task_id, worst.strategy)
    verdict = "changed" if worst.before is None else "regressed"
    of_group = [row for row in last if row["verdict"] == verdict and group_of(row) == wanted]
    row = next((row for row in of_group if worst.before is None or row["measure"] == worst.measure), None)
    if row is None or (copy.texts.chosen is None and row["task_id"] in copy.sensitive_of(row["base_run_id"])):
        return None
    return next(iter(flips_of(copy, row, ("before", "now"))), None)


def _strategies(worst: Worst, scorecard: Sequence[Row]) -> list[str]:
    if worst.strategy is not None:
        return [worst.strategy]
    group = (worst.model_id, worst.task_id)
    return sorted(row["strategy"] for row in scorecard if (row["model_id"], row["task_id"]) == group)


def _outcome(run: Row, gate: GateResult | None, scorecard: Sequence[Row]) -> Outcome:
    if run["state"] != "complete":
        return outcome("not measured", f"The run is {cut(run['state'], 20)}, not complete.")
    if not scorecard:
        return outcome("not measured", "Nothing of this run could be measured.")
    rules = () if gate is None else gate.rules
    if not rules:
        return outcome("no gate", "No rules are set that this run could pass or fail.")
    failed, unmeasured, waived = (
        [rule for rule in rules if rule.outcome == kind] for kind in ("failed", "unmeasured", "waived")
    )
    of = f"of {len(rules)} {'rule' if len(rules) == 1 else 'rules'}"
    if failed:
        return outcome("failed", f"{len(failed)} {of} {'fails' if len(failed) == 1 else 'fail'}.", failed)
    if unmeasured:
        return outcome("not measured", f"{len(unmeasured)} {of} could not be measured.", unmeasured)
    accepted = f", {len(waived)} of them because a person accepted what fails" if waived else ""
    all_of_them = "The one rule of the gate holds" if len(rules) == 1 else f"All {len(rules)} rules of the gate hold"
    return outcome("passed", f"{all_of_them}{accepted}.")


def outcome(state: str, reason: str, rules: Sequence[RuleResult] = ()) -> Outcome:
    """Makes an outcome that names the first of these rules."""
    named = [f"{cut(rule.rule, RULE)}: {cut(_reason(rule), RULE)}" for rule in rules[:MOST_RULES]]
    more = [f"and {len(rules) - MOST_RULES} more"] if len(rules) > MOST_RULES else []
    return Outcome(state=state, reason=reason, rules=(*named, *more))


def _reason(rule: RuleResult) -> str:
    # a run's id is cut to as many characters as distinguish it from others
    return rule.reason if rule.base_run_id is None else rule.reason.replace(rule.base_run_id, rule.base_run_id[:ID])


def _next_command(run: Row, gate: GateResult | None, worst: Worst | None, last: Sequence[Row]) -> str:
    # go on with the run, measure what was not measured, or see what made the worst group so
    name = run["audit_run_id"][:ID]
    if run["state"] != "complete":
        return command("run", run["audit_id"]) if run["origin"] == "run" else command("report", name)
    rules = () if gate is None else gate.rules
    helps = [rule.look_closer[0] for rule in rules if rule.outcome == "unmeasured" and rule.look_closer]
    if helps and not any(rule.outcome == "failed" for rule in rules):
        is_query = helps[0].startswith("promptaudit sql")
        return command("check", name) if is_query else helps[0].replace(" pin RUN ", f" pin {name} ")
    if worst is None:
        return command("check", name)
    if worst.before is not None and last:  # the figure, and how far it moved, are that comparison's
        return command("compare", last[0]["base_run_id"][:ID], name)
    if not worst.is_of_labels:
        return command("trace", worst.figure_id)
    return diagnosis_of(name, worst.model_id, worst.task_id, worst.strategy)


def diagnosis_of(run: str, model_id: str, task_id: str, strategy: str | None) -> str:
    """Writes the command that diagnoses a group of a run. A name that is not printed as it is typed is left out."""
    options = (("--model", model_id), ("--task", task_id), ("--strategy", strategy))
    typed = [(option, name) for option, name in options if name is not None and shown(name) == name]
    return command("diagnose", run, *(part for option in typed for part in option))


def command(verb: str, *parts: str) -> str:
    """Writes a command as it is typed."""
    return " ".join(["promptaudit", verb, *map(shlex.quote, parts)])
