"""Decides how much of other people's texts a report holds: none, excerpts, or whole texts up to a cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from promptaudit.registry.errors import refuse_unknown
from promptaudit.system.display.figures import LONG, listed

Row = dict[str, Any]
Policy = Literal["none", "excerpt", "full"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
MOST = 20_000  # characters a text, in full
MOST_IN_ALL = 2_000_000  # characters a report, of what full texts have more than excerpts
LEFT_OUT = "[left out]"
# by these names, whichever query gives them: inputs, completions, prompts, reference answers
TEXTS = {
    "input",
    "completion",
    "completions",
    "reasoning",
    "instruction",
    "output_format",
    "gold_option",
    "reference_answers",
    "references",
    "options",
    "request",
    "template",
    "wording",
    "meaning_reason",
}
SIDES = ("base", "candidate")  # of a row of rpt_run_changes, whose `what` says what they are
RULED = {"reason", "label"}  # of an answer that scoring methods ruled on: a judge's words, what a rule read
NAMED = 8  # tasks


def sides_of(row: Row) -> tuple[str, ...]:
    """Lists the columns in which a row holds a text that two runs recorded differently; none for other rows."""
    return SIDES if row.get("what") in TEXTS else ()


@dataclass(slots=True)
class Texts:
    """The policy of one report: what was chosen, or each task's default. It counts the room that full texts take."""

    chosen: Policy | None = None
    sensitive: frozenset[str] = frozenset()
    n_cut: int = 0  # texts cut to an excerpt because others took the room
    _n_more: int = field(default=0, repr=False)

    def of(self, task_id: str) -> Policy:
        """Gives the policy for one task: as chosen, else none for a card marked sensitive and excerpts for others."""
        return self.chosen or ("none" if task_id in self.sensitive else "excerpt")

    @property
    def long(self) -> int:
        """Gives the number of characters of a long text."""
        return MOST if self.chosen == "full" else LONG

    @property
    def summary(self) -> str:
        """Describes the policy in a sentence."""
        if self.chosen == "none":
            return "left out"
        if self.chosen == "full":
            room = f"in full, up to {MOST:,} characters each and {MOST_IN_ALL // 1_000_000} MB in all"
            return room + (
                f"; {self.n_cut:,} are cut to {LONG} characters, for which there was no room" if self.n_cut else ""
            )
        some = f"excerpts of {LONG} characters"
        if self.chosen is None and self.sensitive:
            some += f"; left out for tasks marked sensitive: {listed(sorted(self.sensitive), NAMED, 60)}"
        return some

    def kept(self, rows: Sequence[Row]) -> list[Row]:
        """Applies the policy to the texts in rows of a query.

        It finds them by the columns' names, and their task by `task_id`.
        """
        if not rows or not (TEXTS | {"ruling", "what"}) & rows[0].keys():
            return list(rows)
        names = [name for name in rows[0] if name in TEXTS or (name in RULED and "ruling" in rows[0])]
        return [{**row, **{name: self._kept(row, name) for name in (*names, *sides_of(row))}} for row in rows]

    def unquoted(self, measures: Sequence[Row], recorded: Sequence[Row]) -> list[Row]:
        """Removes quoted texts from the reasons in rows of rpt_run_comparisons if the policy leaves those texts out.

        `recorded` are the rows of rpt_run_changes of the same comparison, unchanged.
        """
        quoted = [row for row in recorded if sides_of(row) and self.of(row["task_id"] or "") == "none"]
        return [{**row, "reason": _unquoted(row, quoted)} for row in measures]

    def _kept(self, row: Row, name: str) -> Any:
        value, policy = row[name], self.of(row.get("task_id") or "")
        if value is None:
            return None
        if policy == "none":
            return [LEFT_OUT for _ in value] if isinstance(value, list) else LEFT_OUT
        if policy == "full":
            return [self._whole(each) for each in value] if isinstance(value, list) else self._whole(value)
        return value

    def _whole(self, text: Any) -> Any:
        more = len(text) - LONG if isinstance(text, str) else 0
        if more <= 0:
            return text
        if self._n_more + more > MOST_IN_ALL:
            self.n_cut += 1
            return text[:LONG] + "…"
        self._n_more += more
        return text


def _unquoted(measure: Row, quoted: Sequence[Row]) -> str | None:
    reason: str | None = measure["reason"]
    for row in quoted:
        if reason and row["task_id"] == measure["task_id"]:
            reason = reason.replace(
                f"{row['what']} {row['base']} -> {row['candidate']}", f"{row['what']} {LEFT_OUT} -> {LEFT_OUT}"
            )
    return reason


def policy_of(text: str | None) -> Policy | None:
    """Checks the name of a policy; raises UsageError for another word."""
    refuse_unknown("--text", text, POLICIES)
    return cast("Policy | None", text)
