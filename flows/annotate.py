"""People's verdicts: writes a blinded sheet of answers to rule on, and takes the rulings in beside those of judges."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from flows.guard import guarded
from flows.keys import content_id
from flows.progress import Progress, visible
from flows.report import report
from flows.rows import as_json, frame_of
from flows.running import find_run
from flows.settings import Settings
from flows.spool import replay
from flows.transform import transform
from flows.warehouse import apply_schema, fetch, hold, land, now, publish, read_published
from models_registry.errors import DataError, UsageError, nearest
from models_registry.tables import read_text_table

COLUMNS = ("item", "task", "question", "options", "references", "answer", "is_match", "reason")
JUDGES_DISAGREE, RULE_AND_JUDGE, RULES_DISAGREE = "judges disagree", "rule and judge disagree", "rules disagree"
UNSCORED, RIGHT, WRONG = "rule unscored", "all say right", "all say wrong"
STRATA = (RULE_AND_JUDGE, JUDGES_DISAGREE, RULES_DISAGREE, UNSCORED, RIGHT, WRONG)  # in the order they are filled from
MATCH = {
    **dict.fromkeys(("yes", "y", "true", "1", "match"), True),
    **dict.fromkeys(("no", "n", "false", "0", "no match"), False),
}

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take the beginning of a formula for
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}
MAX_CELL = 16_000  # Excel holds 32,767 UTF-16 units, up to two a character, and lets more run over into other cells
MAX_NAME = 100

TASKS = "select task_id from marts.dim_tasks where audit_run_id = {run}"
# one row an answer, as judges have it: equal answers to a sample under equal signs of its options are one
ANSWERS = """
with answers as (
    select min(predictions.prediction_id) as item
    from marts.fct_predictions as predictions
    inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
    inner join marts.dim_prompt_variants as variants
        on predictions.audit_run_id = variants.audit_run_id
        and predictions.prompt_variant_id = variants.prompt_variant_id
    where predictions.audit_run_id = {run}
        and predictions.task_id in ({tasks})
        and predictions.answer_status not in ('error', 'empty')
        and not predictions.is_quarantined
        and samples.has_key
    group by predictions.task_id, predictions.sample_id, coalesce(variants.reader, ''), md5(predictions.completion)
)

select
    answers.item,
    list(distinct is_correct) filter (is_correct is not null and not starts_with(scoring_method, 'judge:')),
    list(distinct is_correct) filter (is_correct is not null and starts_with(scoring_method, 'judge:')),
    coalesce(bool_or(score_state = 'unscored') filter (not starts_with(scoring_method, 'judge:')), true)
from answers
left join marts.fct_scores as scores on scores.audit_run_id = {run} and scores.prediction_id = answers.item
group by all
"""
TEXTS = """
select
    predictions.prediction_id as item,
    predictions.task_id as task,
    tasks.kind,
    tasks.labels,
    samples.input as question,
    samples.options,
    samples.gold_label,
    samples.reference_answers,
    variants.reader,
    predictions.completion
from marts.fct_predictions as predictions
inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
inner join marts.dim_tasks as tasks using (audit_run_id, task_id)
inner join marts.dim_prompt_variants as variants
    on predictions.audit_run_id = variants.audit_run_id and predictions.prompt_variant_id = variants.prompt_variant_id
where predictions.audit_run_id = {run} and predictions.prediction_id in ({items})
"""
RULABLE = """
select
    predictions.prediction_id,
    md5(concat_ws(chr(0), predictions.task_id, predictions.sample_id, coalesce(variants.reader, ''), predictions.completion))
        as answer
from raw.predictions as predictions
inner join raw.prompt_variants as variants using (audit_run_id, prompt_variant_id)
inner join raw.samples as samples
    on predictions.audit_run_id = samples.audit_run_id
    and predictions.task_id = samples.task_id
    and predictions.sample_id = samples.sample_id
where predictions.audit_run_id = $run
    and predictions.prediction_id in (select unnest($items))
    and regexp_matches(predictions.completion, '\\S')
    and (samples.gold_label is not null or samples.reference_answers is not null)
"""
PUBLISHED = "select count(*) from marts.fct_verdicts where audit_run_id = {run} and verdict_id in ({verdicts})"
AGREEMENT = """
select task_id, raters, kind, cohen_kappa, agreement_rate, n_rated
from marts.fct_judge_agreement
where audit_run_id = {run} and kind in ('judge and person', 'person and rule')
order by task_id, kind, raters
"""


# ---------------------------------------------------------------- the sheet
@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that was written: how many of the answers of each stratum stand in it."""

    audit_run_id: str
    path: Path
    n_rows: int
    n_answers: int
    strata: Mapping[str, tuple[int, int]]  # written, there

    def as_dict(self) -> dict[str, object]:
        """For --json."""
        strata = {name: {"n_rows": n_rows, "n_answers": n} for name, (n_rows, n) in self.strata.items()}
        return {**asdict(self), "path": str(self.path), "strata": strata}

    def lines(self) -> list[str]:
        """For people; whoever fills the sheet in had better not see them."""
        head = f"{self.path}: {self.n_rows} of the {self.n_answers} distinct answers of run {self.audit_run_id}"
        return [head, *(f"  {n_rows} of {n}  {name}" for name, (n_rows, n) in self.strata.items())]


def write_sheet(  # noqa: PLR0913 - one option each
    settings: Settings, run: str | None, path: Path, *, n: int = 100, seed: int = 42, task: str | None = None,
    force: bool = False,
) -> Sheet:  # fmt: skip
    """Writes n distinct answers of a published run (the newest) for people to rule on, equally many of every stratum.

    Nothing in it tells model, template, rule or judge; `item` is a hash. Blank and quarantined answers and samples
    without a key are left out. The same run, n, seed and task give the same bytes. Cells that a spreadsheet would take
    for a formula begin with an apostrophe, control characters are written out, of a longer text than a cell holds the
    middle is left out. Raises UsageError for a file that is there (unless `force`), that is no .csv, or an unknown task.
    """
    if path.suffix.lower() != ".csv":
        msg = f"--sheet {path}: a .csv file is written"
        raise UsageError(msg)
    if path.exists() and not force:
        raise UsageError(_is_there(path))
    audit_run_id = find_run(settings.warehouse, run)
    run_ = _quoted([audit_run_id])
    _, rows = read_published(settings.warehouse, TASKS.format(run=run_))
    tasks = [row[0] for row in rows]
    if task is not None and task not in tasks:
        msg = f"--task {task}: run {audit_run_id} has no such task{nearest(task, tasks)}"
        raise UsageError(msg)
    found = ANSWERS.format(run=run_, tasks=_quoted(tasks if task is None else [task]))
    _, answers = read_published(settings.warehouse, found)
    if not answers:
        msg = f"run {audit_run_id} has no answer to rule on: all are blank, quarantined or of samples without a key"
        raise DataError(msg)
    strata = {item: stratum_of(rules or (), judges or (), is_unscored) for item, rules, judges, is_unscored in answers}
    items = choose(strata, n, seed)
    names, rows = read_published(settings.warehouse, TEXTS.format(run=run_, items=_quoted(items)))
    texts = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
    _write(path, [sheet_row(texts[item]) for item in items], force=force)
    there, written = Counter(strata.values()), Counter(strata[item] for item in items)
    counts = {name: (written[name], there[name]) for name in STRATA if there[name]}
    return Sheet(audit_run_id, path, len(items), len(answers), counts)


def stratum_of(rules: Iterable[bool], judges: Iterable[bool], is_unscored: bool) -> str:  # noqa: FBT001
    """The stratum of an answer, by the distinct verdicts of rules and of judges on it, and whether a rule could not score it.

    Judges who differ among themselves come first, then judges of one mind against a rule.
    """
    by_rules, by_judges = set(rules), set(judges)
    if len(by_judges) > 1:
        return JUDGES_DISAGREE
    if len(by_rules | by_judges) > 1:
        return RULE_AND_JUDGE if by_judges else RULES_DISAGREE
    if not by_rules and (is_unscored or not by_judges):
        return UNSCORED
    return RIGHT if True in by_rules | by_judges else WRONG


def choose(strata: Mapping[str, str], n: int, seed: int) -> list[str]:
    """N items of a mapping of item to stratum, or all: equally many a stratum, in an order that tells nothing of strata.

    What does not divide evenly, and what a stratum lacks, is taken from the others in the order of STRATA. Within a
    stratum the smallest seeded hashes are taken, so that further answers disturb few; another hash shuffles.
    """
    ranked = {name: sorted(item for item in strata if strata[item] == name) for name in STRATA}
    ranked = {
        name: sorted(items, key=lambda item: _rank("take", seed, item)) for name, items in ranked.items() if items
    }
    share, over = divmod(n, len(ranked))
    taken = {name: items[: share + (place < over)] for place, (name, items) in enumerate(ranked.items())}
    lacking = n - sum(len(items) for items in taken.values())
    for name, items in ranked.items():
        more = items[len(taken[name]) :][:lacking]
        taken[name] += more
        lacking -= len(more)
    return sorted((item for items in taken.values() for item in items), key=lambda item: _rank("shuffle", seed, item))


def _rank(what: str, seed: int, item: str) -> str:
    return content_id("annotate", what, str(seed), item)


def sheet_row(text: Mapping[str, Any]) -> dict[str, str]:
    """A row of the sheet from a row of TEXTS: options under the signs that the model saw, and what is right of them."""
    labels, gold = list(text["labels"] or ()), text["gold_label"]
    reader = json.loads(text["reader"]) if text["reader"] else None
    signs = (reader.get("option_letter") if isinstance(reader, dict) else None) or labels
    shown = [f"{sign}. {option}" for sign, option in zip(signs, text["options"] or (), strict=False)]
    right = list(text["reference_answers"] or ())
    if not right and gold is not None:
        right = [shown[labels.index(gold)] if gold in labels[: len(shown)] else gold]
    offered = shown or (labels if text["kind"] == "classification" else [])
    cells = {
        "item": text["item"], "task": text["task"], "question": text["question"] or "", "options": "\n".join(offered),
        "references": "\n".join(right), "answer": text["completion"], "is_match": "", "reason": "",
    }  # fmt: skip
    return {name: cell_of(value) for name, value in cells.items()}


def cell_of(text: str) -> str:
    r"""A text as a spreadsheet can show it: no formula, control characters as \x00, no more than a cell holds."""
    text = text.translate(CONTROLS)
    if len(text) > MAX_CELL:
        half = MAX_CELL // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters are left out here …\n{text[-half:]}"
    return f"'{text}" if text.startswith(FORMULA) else text


def _write(path: Path, rows: Sequence[Mapping[str, str]], *, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except FileExistsError:
        raise UsageError(_is_there(path)) from None
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror}"
        raise UsageError(msg) from None


def _is_there(path: Path) -> str:
    return f"--sheet {path} is there already and may hold rulings; --force writes over it"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


# ---------------------------------------------------------------- the rulings
@dataclass(frozen=True, slots=True)
class Ruling:
    """One person's ruling on one answer, and the row of the file that holds it."""

    row: int
    item: str
    annotator: str
    is_match: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken in; nothing is published where nothing was new."""

    audit_run_id: str
    path: Path
    n_landed: int
    n_known: int
    n_not_ruled: int
    n_repeated: int
    annotators: tuple[str, ...]
    agreement: list[dict[str, Any]] = field(default_factory=list)
    published: Path | None = None
    report: Path | None = None

    def as_dict(self) -> dict[str, object]:
        """For --json."""
        paths = {"path": self.path, "published": self.published, "report": self.report}
        return asdict(self) | {name: None if path is None else str(path) for name, path in paths.items()}

    def lines(self) -> list[str]:
        """For people."""
        by = f" by {', '.join(self.annotators)}" if self.annotators else ""
        said = [f"run {self.audit_run_id}: {self.n_landed} rulings{by} landed, {self.n_not_ruled} rows without one"]
        if self.n_repeated:
            said.append(f"{self.n_repeated} rows repeat a ruling of their annotator and count once")
        if self.n_known:
            said.append(f"{self.path.name}: these {self.n_known} rulings are here already: nothing landed")
        for row in self.agreement:
            kappa, rate = (
                "–" if row[name] is None else f"{row[name]:.3f}" for name in ("cohen_kappa", "agreement_rate")
            )
            who = visible(f"{row['task_id']}: {row['raters']}")
            said.append(f"  {who}: kappa {kappa}, agreement {rate}, {row['n_rated']} answers")
        if self.published is not None:
            said += [f"published  {self.published}", f"report     {self.report}"]
        return said


def take_sheet(settings: Settings, run: str | None, path: Path, annotator: str | None, progress: Progress) -> Taken:
    """Lands the rulings of a filled-in sheet as verdicts of a published run (the newest), and derives the run again.

    All or nothing: raises DataError naming file, row and column, and UsageError where the annotator is named twice or
    not at all. The same bytes again land nothing; what a later file says of the same answer replaces it.
    """
    rulings, n_not_ruled = read_rulings(path, annotator)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    warehouse, audit_run_id = settings.warehouse, find_run(settings.warehouse, run)
    with guarded(), hold(warehouse, settings.lock_wait_s, progress.say):
        apply_schema(warehouse)
        replay(warehouse)
        kept = without_repeats(path, rulings, _answers_of(warehouse, audit_run_id, path, rulings))
        rows = [verdict_row(audit_run_id, ruling, path.name, sha256) for ruling in kept]
        n_landed = land(warehouse, [("verdicts", frame_of("verdicts", rows))])
        taken = Taken(
            audit_run_id, path, n_landed, len(rows) - n_landed, n_not_ruled, len(rulings) - len(kept),
            tuple(sorted({ruling.annotator for ruling in kept})),
        )  # fmt: skip
        # what is known may still be unpublished: whoever landed it was stopped
        if not n_landed and _are_published(warehouse, audit_run_id, [row["verdict_id"] for row in rows]):
            return replace(taken, agreement=_agreement(warehouse, audit_run_id))
        progress.say("deriving measures")
        transform(warehouse, [audit_run_id], "up_to_formats")
        transform(warehouse, [audit_run_id], "after_formats")
        progress.say("publishing")
        published = publish(warehouse, [audit_run_id])
        page = report(warehouse, audit_run_id)
    return replace(taken, agreement=_agreement(warehouse, audit_run_id), published=published, report=page)


def read_rulings(path: Path, annotator: str | None) -> tuple[list[Ruling], int]:
    """The rulings of a file, and how many rows hold none; raises DataError or UsageError in one line.

    The columns item and is_match are needed, reason and annotator may be there; every other is left unread.
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
    for number, row in enumerate(frame.select(wanted_columns).iter_rows(named=True), start=1):
        said = " ".join((row["is_match"] or "").casefold().split())
        if not said:
            n_not_ruled += 1
            continue
        if said not in MATCH:
            raise _bad(path, number, "is_match", "yes, no or nothing is wanted", row["is_match"], nearest(said, MATCH))
        name = row.get("annotator", annotator) or ""
        if wanted := _wanted_of_name(name):
            raise _bad(path, number, "annotator", wanted, name)
        reason = row.get("reason") or ""
        rulings.append(
            Ruling(number, (row["item"] or "").strip(), name.strip(), MATCH[said], reason if reason.strip() else None)
        )
    return rulings, n_not_ruled


def _wanted_of_name(name: str) -> str | None:
    """What is wanted of a name that none can be; `|` stands between raters in marts."""
    name = name.strip()
    if not name:
        return "a name is wanted"
    if len(name) > MAX_NAME:
        return f"a name of at most {MAX_NAME} characters is wanted"
    return None if name.isprintable() and "|" not in name else "a name of printable characters without '|' is wanted"


def _bad(path: Path, row: int, column: str, wanted: str, found: str | None, hint: str = "") -> DataError:  # noqa: PLR0913
    shown = repr(found[:80]) if found else "nothing"
    return DataError(f"{path} row {row}: {column}: {wanted}, found {shown}{hint}")


def _answers_of(warehouse: Path, audit_run_id: str, path: Path, rulings: Sequence[Ruling]) -> dict[str, str]:
    """The answer of every item; raises DataError for the first that is none of the run's."""
    items = sorted({ruling.item for ruling in rulings})
    rows = fetch(warehouse, RULABLE, {"run": audit_run_id, "items": items})
    answers = {row["prediction_id"]: row["answer"] for row in rows}
    for ruling in rulings:
        if ruling.item not in answers:
            hint = _hint(warehouse, audit_run_id, ruling.item)
            raise _bad(path, ruling.row, "item", f"an answer of run {audit_run_id} is wanted", ruling.item, hint)
    return answers


def _hint(warehouse: Path, audit_run_id: str, item: str) -> str:
    """Where an item that is none of the run's may be from."""
    others = fetch(warehouse, "select audit_run_id from raw.predictions where prediction_id = ?", [item])
    if others:
        other = others[0]["audit_run_id"]
        return "; it is blank or has no key" if other == audit_run_id else f"; it is one of run {other}"
    close = fetch(
        warehouse,
        "select prediction_id from raw.predictions where audit_run_id = $run "
        "and levenshtein(prediction_id, $item) <= 8 order by levenshtein(prediction_id, $item), prediction_id limit 1",
        {"run": audit_run_id, "item": item[:MAX_NAME]},
    )
    return f"; nearest: {close[0]['prediction_id']}" if close else "; take it as the sheet wrote it"


def without_repeats(path: Path, rulings: Sequence[Ruling], answers: Mapping[str, str]) -> list[Ruling]:
    """The first ruling of every annotator on every answer; raises DataError where a later one says otherwise."""
    first: dict[tuple[str, str], Ruling] = {}
    for ruling in rulings:
        known = first.setdefault((ruling.annotator, answers[ruling.item]), ruling)
        if known.is_match != ruling.is_match:
            said = "yes" if known.is_match else "no"
            wanted = f"'{said}', which {ruling.annotator} says of the same answer in row {known.row}, is wanted"
            raise _bad(path, ruling.row, "is_match", wanted, "yes" if ruling.is_match else "no")
    return list(first.values())


def verdict_row(audit_run_id: str, ruling: Ruling, file: str, sha256: str) -> dict[str, Any]:
    """The row of raw.verdicts for a person's ruling; its id holds the file's bytes, so that these land once."""
    judge_id = f"person:{ruling.annotator}"
    verdict_id = content_id(
        "verdict", audit_run_id, judge_id, ruling.item, str(ruling.is_match), ruling.reason, sha256
    )  # fmt: skip
    return {
        "audit_run_id": audit_run_id, "verdict_id": verdict_id, "prediction_id": ruling.item, "judge_id": judge_id,
        "repetition": 1, "ask": 1, "is_settled": True, "is_match": ruling.is_match, "reason": ruling.reason,
        "is_completion_escaped": False, "n_attempts": 1, "source": as_json({"name": file, "sha256": sha256}),
        "landed_at": now(),
    }  # fmt: skip


def _are_published(warehouse: Path, audit_run_id: str, verdict_ids: Sequence[str]) -> bool:
    if not verdict_ids:
        return True
    query = PUBLISHED.format(run=_quoted([audit_run_id]), verdicts=_quoted(verdict_ids))
    return read_published(warehouse, query)[1] == [(len(verdict_ids),)]


def _agreement(warehouse: Path, audit_run_id: str) -> list[dict[str, Any]]:
    names, rows = read_published(warehouse, AGREEMENT.format(run=_quoted([audit_run_id])))
    return [dict(zip(names, row, strict=True)) for row in rows]
