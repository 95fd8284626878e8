"""Lands the rulings of a filled-in sheet as verdicts of people, beside the verdicts of judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from promptaudit.audit.run import make_ready
from promptaudit.cards.trust.readers import trusted_readers
from promptaudit.evidence.retain import without_retired
from promptaudit.exchange.annotation.draw import of_rulable
from promptaudit.marts.publish import newest_published, publish
from promptaudit.marts.transform import own_readers, transform
from promptaudit.registry.errors import DataError, UsageError, nearest
from promptaudit.registry.tables import read_text_table
from promptaudit.report import report
from promptaudit.system.child_processes import guarded
from promptaudit.system.clock import now
from promptaudit.system.display.figures import number
from promptaudit.system.display.progress import Progress, visible
from promptaudit.system.files import file_sha256
from promptaudit.system.keys import as_json, content_id
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.run_names import resolve_id
from promptaudit.warehouse.sql import sql

MATCH = {
    **dict.fromkeys(("yes", "y", "true", "1", "match"), True),
    **dict.fromkeys(("no", "n", "false", "0", "no match"), False),
}
MAX_NAME = 100
STATE = "select state from raw.audit_runs where audit_run_id = $audit_run_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One person's ruling on one answer or rewording, and the row of the file that holds it."""

    row: int
    item: str
    annotator: str
    is_match: bool
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far people agree with the other raters of a task, or of all tasks together where `task_id` is None."""

    task_id: str | None
    raters: str
    kind: str
    cohen_kappa: float | None
    agreement_rate: float | None
    n_rated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenSheet:
    """Counts of a sheet's rulings, and the agreement after they landed. Nothing is published where nothing was new."""

    audit_run_id: str
    path: Path
    n_landed: int
    n_known: int
    n_not_ruled: int
    n_repeated: int
    annotators: tuple[str, ...]
    agreement: list[Agreement] = field(default_factory=list)
    published: Path | None = None
    report: Path | None = None

    def lines(self) -> Iterator[str]:
        """Writes how many rulings landed, with the agreement of each set of raters."""
        by = f" by {', '.join(self.annotators)}" if self.annotators else ""
        yield f"run {self.audit_run_id}: {self.n_landed} rulings{by} landed, {self.n_not_ruled} rows without one"
        if self.n_repeated:
            yield f"{self.n_repeated} rows repeat a ruling of their annotator and count once"
        if self.n_known:
            yield f"{self.path.name}: these {self.n_known} rulings are here already: nothing landed"
        for each in self.agreement:
            who = visible(f"{each.task_id or 'all tasks'}: {each.raters}")
            kappa, rate = number(each.cohen_kappa), number(each.agreement_rate)
            yield f"  {who}: kappa {kappa}, agreement {rate}, {each.n_rated} answers"
        if self.published is not None:
            yield from (f"published  {self.published}", f"report     {self.report}")


def take_sheet(
    settings: Settings, run: str | None, path: Path, annotator: str | None, progress: Progress
) -> TakenSheet:
    """Lands the rulings of a filled-in sheet as verdicts of a published run (the newest), and derives the run again.

    All land or none: raises DataError naming file, row and column, UsageError where the annotator is named twice or not
    at all, and UntrustedCard or ChangedCode where the run's answers cannot be read again. The same bytes land nothing a
    second time. A later file's ruling on the same answer replaces the earlier one.
    """
    rulings, n_not_ruled = read_rulings(path, annotator)
    sha256 = file_sha256(path)
    warehouse, audit_run_id = Warehouse(settings.warehouse), resolve_id(Warehouse(settings.warehouse), run)
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say):
        make_ready(warehouse, progress, settings)
        (run_row,) = warehouse.read(STATE, audit_run_id=audit_run_id)
        if run_row["state"] != "complete":
            msg = f"run {audit_run_id} is {run_row['state']}: `promptaudit run` finishes it first"
            raise UsageError(msg)
        without_retired(warehouse, [audit_run_id])
        trusted_readers(own_readers(warehouse, [audit_run_id]))
        answers, wordings = _answers_of(warehouse, audit_run_id, path, rulings)
        kept = without_repeats(path, rulings, answers)
        rows = [
            verdict_row(audit_run_id, ruling, path.name, sha256, is_wording=ruling.item in wordings) for ruling in kept
        ]
        n_landed = warehouse.land([("verdicts", frame_of("verdicts", rows))])
        taken = TakenSheet(
            audit_run_id=audit_run_id,
            path=path,
            n_landed=n_landed,
            n_known=len(rows) - n_landed,
            n_not_ruled=n_not_ruled,
            n_repeated=len(rulings) - len(kept),
            annotators=tuple(sorted({ruling.annotator for ruling in kept})),
        )
        # known rulings may still be unpublished: the command that landed it was stopped
        if not n_landed and _are_published(warehouse, audit_run_id, [row["verdict_id"] for row in rows]):
            return replace(taken, agreement=_agreement(warehouse, audit_run_id))
        progress.say("deriving measures")
        transform(warehouse, [audit_run_id], "up_to_formats")
        transform(warehouse, [audit_run_id], "after_formats")
        progress.say("publishing")
        published = publish(warehouse, [audit_run_id])
        page = report(warehouse, audit_run_id, warn=progress.warn)
    return replace(taken, agreement=_agreement(warehouse, audit_run_id), published=published, report=page)


def read_rulings(path: Path, annotator: str | None) -> tuple[list[Ruling], int]:
    """Reads the rulings of a file and counts the rows without one. Raises DataError or UsageError in one line.

    The columns item and is_match are needed, reason and annotator are optional, and every other column is not read.
    """
    frame = read_text_table(path)
    for column in ("item", "is_match"):
        if column not in frame.columns:
            msg = f"{path}: no column '{column}'{nearest(column, frame.columns)}"
            raise DataError(msg)
    if "annotator" in frame.columns and annotator is not None:
        msg = f"--annotator {annotator}: {path} has a column 'annotator' already; give one of the two"
        raise UsageError(msg)
    if "annotator" not in frame.columns and annotator is None:
        msg = f"--annotator is missing: who ruled in {path}, which has no column 'annotator' either?"
        raise UsageError(msg)
    if annotator is not None and (wanted := _wanted_of_name(annotator)):
        msg = f"--annotator {annotator[:80]!r}: {wanted}"
        raise UsageError(msg)
    rulings, n_not_ruled = [], 0
    wanted_columns = [c for c in ("item", "is_match", "reason", "annotator") if c in frame.columns]
    for place, row in enumerate(frame.select(wanted_columns).iter_rows(named=True), start=1):
        answer = " ".join((row["is_match"] or "").casefold().split())
        if not answer:
            n_not_ruled += 1
            continue
        if answer not in MATCH:
            hint = nearest(answer, MATCH)
            raise _bad(path, place, "is_match", "yes, no or nothing is wanted", row["is_match"], hint)
        name = row.get("annotator", annotator) or ""
        if wanted := _wanted_of_name(name):
            raise _bad(path, place, "annotator", wanted, name)
        reason = row.get("reason") or ""
        rulings.append(
            Ruling(
                row=place,
                item=(row["item"] or "").strip(),
                annotator=name.strip(),
                is_match=MATCH[answer],
                reason=reason if reason.strip() else None,
            )
        )
    return rulings, n_not_ruled


def _wanted_of_name(name: str) -> str | None:
    # `|` stands between raters in marts
    name = name.strip()
    if not name:
        return "a name is wanted"
    if len(name) > MAX_NAME:
        return f"a name of at most {MAX_NAME} characters is wanted"
    return None if name.isprintable() and "|" not in name else "a name of printable characters without '|' is wanted"


def _bad(path: Path, row: int, column: str, wanted: str, value: str | None, hint: str = "") -> DataError:
    shown = repr(value[:80]) if value else "nothing"
    return DataError(f"{path} row {row}: {column}: {wanted}, found {shown}{hint}")


def _answers_of(
    warehouse: Warehouse, audit_run_id: str, path: Path, rulings: Sequence[Ruling]
) -> tuple[dict[str, str], set[str]]:
    items = sorted({ruling.item for ruling in rulings})
    rows = warehouse.read(of_rulable("rulable_answers"), run=audit_run_id, items=items)
    answers = {row["item"]: row["answer"] for row in rows}
    for ruling in rulings:
        if ruling.item not in answers:
            hint = _hint(warehouse, audit_run_id, ruling.item)
            raise _bad(path, ruling.row, "item", f"an answer of run {audit_run_id} is wanted", ruling.item, hint)
    return answers, {row["item"] for row in rows if row["is_wording"]}


def _hint(warehouse: Warehouse, audit_run_id: str, item: str) -> str:
    others = warehouse.read("select audit_run_id from raw.predictions where prediction_id = $item", item=item)
    if others:
        other = others[0]["audit_run_id"]
        return "; it is blank or has no key" if other == audit_run_id else f"; it is one of run {other}"
    close = warehouse.read(
        "select prediction_id from raw.predictions where audit_run_id = $run "
        "and levenshtein(prediction_id, $item) <= 8 order by levenshtein(prediction_id, $item), prediction_id limit 1",
        run=audit_run_id,
        item=item[:MAX_NAME],
    )
    return f"; nearest: {close[0]['prediction_id']}" if close else "; take it as the sheet wrote it"


def without_repeats(path: Path, rulings: Sequence[Ruling], answers: Mapping[str, str]) -> list[Ruling]:
    """Keeps the first ruling of each annotator on each answer. Raises DataError where a later one contradicts it."""
    first: dict[tuple[str, str], Ruling] = {}
    for ruling in rulings:
        known = first.setdefault((ruling.annotator, answers[ruling.item]), ruling)
        if known.is_match != ruling.is_match:
            first_answer = "yes" if known.is_match else "no"
            wanted = f"'{first_answer}', which {ruling.annotator} says of the same answer in row {known.row}, is wanted"
            raise _bad(path, ruling.row, "is_match", wanted, "yes" if ruling.is_match else "no")
    return list(first.values())


def verdict_row(
    audit_run_id: str, ruling: Ruling, file: str, sha256: str, *, is_wording: bool = False
) -> dict[str, Any]:
    """Makes the row of raw.verdicts for a person's ruling. Its id covers the file's bytes: these land once."""
    judge_id = f"person:{ruling.annotator}"
    verdict_id = content_id("verdict", audit_run_id, judge_id, ruling.item, str(ruling.is_match), ruling.reason, sha256)
    return {
        "audit_run_id": audit_run_id,
        "verdict_id": verdict_id,
        "prediction_id": None if is_wording else ruling.item,
        "prompt_variant_id": ruling.item if is_wording else None,
        "judge_id": judge_id,
        "repetition": 1,
        "ask": 1,
        "is_settled": True,
        "is_match": ruling.is_match,
        "reason": ruling.reason,
        "is_completion_escaped": False,
        "n_attempts": 1,
        "source": as_json({"name": file, "sha256": sha256}),
        "landed_at": now(),
    }


def _are_published(warehouse: Warehouse, audit_run_id: str, verdict_ids: Sequence[str]) -> bool:
    if not verdict_ids:
        return True
    query = sql("exchange.annotation", "published_verdicts")
    (counts,) = warehouse.published.read(query, run=audit_run_id, verdicts=list(verdict_ids))
    sealed = newest_published(warehouse, audit_run_id)  # marts without a seal come from a derivation that was cut short
    mart = None if sealed is None else sealed.entries["marts"].get("fct_verdicts")
    return (counts["n_published"], counts["n_rows"]) == (len(verdict_ids), mart and mart["n_rows"])


def _agreement(warehouse: Warehouse, audit_run_id: str) -> list[Agreement]:
    return rows_as(Agreement, warehouse.published.read(sql("exchange.annotation", "agreement"), run=audit_run_id))
