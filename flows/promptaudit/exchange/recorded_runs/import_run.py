"""Imports recorded predictions as a run: reads, checks, and lands all of them or nothing."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import polars as pl
from pydantic import BaseModel, ValidationError

from promptaudit.audit.run import RunResult, make_ready, nothing_done, result_of
from promptaudit.audit.runs import run_row
from promptaudit.audit.steps import AuditRun, derive
from promptaudit.cards.trust.readers import trusted_readers
from promptaudit.exchange.recorded_runs.check_loglikelihoods import check_loglikelihoods
from promptaudit.exchange.recorded_runs.check_rows import (
    MEASURED,
    VARIANT,
    fail,
    grid_of,
    samples_of,
    typed,
    unread_gold_values,
    variants_of,
    without_duplicates,
)
from promptaudit.exchange.recorded_runs.formats.answers import letters_of
from promptaudit.exchange.recorded_runs.infer_task import FRESH_READER, infer_task
from promptaudit.exchange.recorded_runs.number_variants import numbered
from promptaudit.exchange.recorded_runs.program_scores import Scale, Scales, differences, scales_of, verdicts_of
from promptaudit.exchange.recorded_runs.prompt_variations import check_variations, option_orders_of
from promptaudit.exchange.recorded_runs.read_files import read_recordings
from promptaudit.exchange.recorded_runs.right_answers import right_answers
from promptaudit.lineage.openlineage.emit import following
from promptaudit.marts.manifest import made_by
from promptaudit.marts.publish import is_published
from promptaudit.registry.cards import FormatLimits, JsonFieldReader, ReaderName, RegexReader, TaskCard
from promptaudit.registry.errors import DataError, UsageError, nearest, raise_all, refuse_unknown
from promptaudit.registry.extras import refused_scoring
from promptaudit.registry.registry import Registry
from promptaudit.registry.tables import ESCAPED, nearest_file
from promptaudit.registry.unpack import stem_of
from promptaudit.system.child_processes import guarded
from promptaudit.system.clock import now
from promptaudit.system.display.progress import Progress
from promptaudit.system.files import file_sha256
from promptaudit.system.keys import as_json, content_id, prediction_id
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of, label_rows, reader_json, task_row

_ROWS_A_BATCH = 100_000


READERS_OF_VALUES: Mapping[str, type[BaseModel]] = {"json_field": JsonFieldReader, "regex": RegexReader}
"""Readers that `--reader` takes with a value after `=`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Options of `promptaudit import`. They say what the columns of a file leave open."""

    task: str | None = None
    labels: tuple[str, ...] = ()
    level: str | None = None
    strategy: str = "simple"
    audit: str | None = None
    reader: str | None = None  # the card's own if None, else `label`
    mapping: str | None = None  # which columns hold what
    model: str | None = None  # for files that name none
    scale: Scale | None = None  # of a program's grades
    format_limits: FormatLimits = field(default_factory=lambda: FormatLimits(policy="warn"))
    seed: int = 20250601
    resamples: int = 1000

    def __post_init__(self) -> None:
        """Raises UsageError naming the option and the nearest right value."""
        refuse_unknown("--level", self.level, ("nominal", "ordinal", "interval"))
        if self.reader is not None:
            self.reader_of_card  # noqa: B018 - raises where there is none

    @property
    def reader_of_card(self) -> str | dict[str, str] | None:
        """Gives the reader the form that a task card has: `json_field=score` becomes {"json_field": "score"}."""
        if self.reader is None or "=" not in self.reader:
            refuse_unknown("--reader", self.reader, get_args(ReaderName))
            return self.reader
        name, _, value = self.reader.partition("=")
        if name in get_args(ReaderName):
            msg = f"--reader {name} takes no value"
            raise UsageError(msg)
        refuse_unknown("--reader", name, tuple(READERS_OF_VALUES))
        try:
            READERS_OF_VALUES[name].model_validate({name: value})
        except ValidationError as error:
            msg = f"--reader {self.reader[:200]!r}: {error.errors()[0]['msg']}"
            raise UsageError(msg) from None
        return {name: value}


def limits_of(policy: str) -> FormatLimits:
    """Makes the limits of the format gate for a policy. Raises UsageError for an unknown one, naming the nearest."""
    refuse_unknown("--policy", policy, ("warn", "quarantine", "fail"))
    return FormatLimits.model_validate({"policy": policy})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """Result of an import with its counts.

    Where the same bytes and options landed before, `n_landed` is 0 and `is_new` False.
    """

    audit_run_id: str
    audit_id: str
    is_new: bool
    n_rows: int
    n_landed: int
    n_missing: int
    n_duplicates: int
    notes: tuple[str, ...]


def import_predictions(
    warehouse: Warehouse, files: Sequence[Path], registry: Registry, options: ImportOptions
) -> ImportResult:
    """Lands files of recorded predictions as one run, in one transaction. Raises DataError naming file and row."""
    digests = {str(path): _sha256(path) for path in files}
    tasks_known = {name: entry.card for name, entry in registry.entries.get("tasks", {}).items()}
    audit_id = options.audit or stem_of(files[0])
    scale = options.scale and list(options.scale[:2])
    said = {"map": options.mapping, "model": options.model, "scale": scale}
    source: dict[str, Any] = {
        "files": sorted(digests.values()),
        "options": {
            "task": options.task,
            "labels": list(options.labels),
            "level": options.level,
            "strategy": options.strategy,
            "reader": options.reader,
            "format": json.loads(options.format_limits.canonical_json()),
            "seed": options.seed,
            "resamples": options.resamples,
            **{name: value for name, value in said.items() if value is not None},
        },
    }
    files, again = _without_copies(files, digests)
    recordings = read_recordings(files, mapping=options.mapping, model=options.model, task=options.task)
    frame, right = right_answers(recordings.frame)
    frame, named = numbered(frame)
    notes = [*options.format_limits.notes, *again, *recordings.notes, *named, *right]
    digests |= {str(path): _sha256(path) for path in recordings.beside}
    source["files"] = sorted(digests.values())
    task_ids = _task_ids(frame, options, files[0])
    cards = {}
    for task_id in task_ids:
        registry.find("tasks", task_id)  # raises if the card is wrong
        rows = frame.filter(pl.col("task") == task_id) if "task" in frame.columns else frame
        cards[task_id] = _task_card(task_id, tasks_known, options, rows, notes)
    refused = {task_id: refused_scoring(card.scoring_methods) for task_id, card in cards.items()}
    raise_all(error.at(f"task '{task_id}'") for task_id, error in refused.items() if error is not None)
    trusted_readers({reader_json(card): f"task '{task_id}'" for task_id, card in cards.items()})
    fingerprint = content_id(as_json(source), *(cards[task_id].canonical_json() for task_id in sorted(cards)))
    source["files"] = [{"name": Path(name).name, "sha256": digest} for name, digest in digests.items()]
    audit_run_id = content_id("import", audit_id, fingerprint)
    known = warehouse.read(
        "select state from raw.audit_runs where audit_run_id = $audit_run_id", audit_run_id=audit_run_id
    )
    if known:
        return ImportResult(
            audit_run_id=audit_run_id,
            audit_id=audit_id,
            is_new=False,
            n_rows=frame.height,
            n_landed=0,
            n_missing=0,
            n_duplicates=0,
            notes=(),
        )

    frame = typed(frame, options.strategy, task_ids[0] if "task" not in frame.columns else None)
    samples = samples_of(frame, cards)
    frame, n_duplicates = without_duplicates(frame)
    variants = variants_of(frame)
    grid, n_planned = grid_of(frame, variants[0], dict(samples.group_by("task_id").len().iter_rows()))
    notes += unread_gold_values(samples, cards)
    check_variations(variants[0])
    check_loglikelihoods(frame, cards)
    missing = frame.filter(pl.col("completion").is_null()).height
    frame = frame.filter(pl.col("completion").is_not_null())
    scales, graded = scales_of(frame, options.scale)
    notes += graded
    option_orders, own_orders = option_orders_of(audit_run_id, frame, variants[0])
    ids = variants[0].select(*VARIANT, "prompt_variant_id", pl.col("instruction").alias("own_instruction"))
    frame = frame.with_columns(own_orders)
    reordered = frame.filter(pl.col("option_order").is_not_null())
    models = frame_of(
        "models",
        [
            {
                "audit_run_id": audit_run_id,
                "model_id": model,
                "engine": "recorded",
                "model": model,
                "card": "{}",
                "fingerprint": content_id(model)[:16],
            }
            for model in variants[1]
        ],
    )
    run = run_row(
        audit_run_id=audit_run_id,
        audit_id=audit_id,
        origin="import",
        fingerprint=fingerprint[:16],
        plan_fingerprint=fingerprint[:16],
        card="{}",
        format_limits=options.format_limits.model_dump_json(),
        seed=options.seed,
        n_resamples=options.resamples,
        source=source,
        manifest={"data": {"files": source["files"]}, **made_by()},
    )
    warehouse.land(
        itertools.chain(
            [
                ("audit_runs", run),
                ("models", models),
                ("tasks", _tasks(audit_run_id, cards)),
                ("task_labels", _labels(audit_run_id, cards)),
                ("samples", samples.with_columns(pl.lit(audit_run_id).alias("audit_run_id"))),
                ("prompt_variants", _variant_rows(audit_run_id, variants, _with_ids(reordered, ids), option_orders)),
                ("option_orders", option_orders),
                ("grid", grid.with_columns(pl.lit(audit_run_id).alias("audit_run_id"))),
            ],
            _answers(audit_run_id, frame, ids, source["files"], scales),
        )
    )
    return ImportResult(
        audit_run_id=audit_run_id,
        audit_id=audit_id,
        is_new=True,
        n_rows=frame.height + missing + n_duplicates,
        n_landed=frame.height,
        n_missing=n_planned - frame.height,
        n_duplicates=n_duplicates,
        notes=tuple(notes),
    )


def _without_copies(files: Sequence[Path], digests: Mapping[str, str]) -> tuple[list[Path], list[str]]:
    first: dict[str, Path] = {}
    notes = []
    for path in files:
        known = first.setdefault(digests[str(path)], path)
        if known is not path:
            notes.append(f"{path} holds the same bytes as {known} and is read once")
    return list(first.values()), notes


def _task_card(
    task_id: str, known: Mapping[str, object], options: ImportOptions, rows: pl.DataFrame, notes: list[str]
) -> TaskCard:
    changes: dict[str, object] = {}
    if options.labels:
        changes["labels"] = list(options.labels)
    if options.level:
        changes["level"] = options.level
    if options.reader:
        changes["reader"] = options.reader_of_card
    card = known.get(task_id)
    if isinstance(card, TaskCard):
        if options.labels:
            changes["examples"] = None
        fields = {**card.model_dump(), **changes}
        if "program" in rows.columns:
            notes.append(f"task '{task_id}' is read by the task card of that name; --task OTHER names it otherwise")
    elif options.labels:
        fields = {"instruction": "(recorded)", "data": {"path": "(recorded)"}, "reader": FRESH_READER, **changes}
    elif (inferred := infer_task(task_id, rows)) is not None:
        fields = {**inferred.fields, **changes}
        notes.append(inferred.note)
    else:
        msg = (
            f"task '{task_id}' has no card, and its rows have neither gold labels nor options, so its labels are needed: "
            f"--labels a,b{nearest(task_id, known)}"
        )
        raise UsageError(msg)
    try:
        return TaskCard.model_validate(fields)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        given = " ".join(f"--{name} {_shown(value)}" for name, value in changes.items() if value)
        msg = f"{given or f'the columns about task {task_id!r}'}: {reason}"
        raise UsageError(msg) from None


def _shown(value: object) -> str:
    return (",".join(value) if isinstance(value, list) else str(value))[:80]


def _answers(
    audit_run_id: str, frame: pl.DataFrame, ids: pl.DataFrame, files: Sequence[Mapping[str, str]], scales: Scales
) -> Iterator[tuple[str, pl.DataFrame]]:
    # some rows at a time: their ids take several times the answers' memory
    landed_at = now()
    for batch in frame.iter_slices(_ROWS_A_BATCH):
        rows = _with_ids(batch, ids)
        predictions = _predictions(audit_run_id, rows, landed_at)
        yield "predictions", predictions
        yield (
            "verdicts",
            verdicts_of(audit_run_id, rows.with_columns(predictions["prediction_id"]), files, landed_at, scales),
        )


def _with_ids(frame: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    return frame.join(ids, on=list(VARIANT), how="left", nulls_equal=True, maintain_order="left")


def _predictions(audit_run_id: str, frame: pl.DataFrame, landed_at: datetime) -> pl.DataFrame:
    hashes: dict[tuple[str | None, ...], str] = {}
    prediction_ids, requests = [], []
    wanted = ("model", "prompt_variant_id", "sample_id", "repetition", "own_instruction", "input", "choices")
    for model, variant, sample, repetition, *sent in frame.select(wanted).iter_rows():
        request = tuple(sent)
        if request not in hashes:
            hashes[request] = hashlib.sha256(content_id("recorded", *request).encode()).hexdigest()
        requests.append(hashes[request])
        prediction_ids.append(prediction_id(audit_run_id, model, variant, sample, repetition, hashes[request]))
    return frame.select(
        pl.lit(audit_run_id).alias("audit_run_id"),
        pl.Series("prediction_id", prediction_ids, dtype=pl.String),
        pl.col("model").alias("model_id"),
        pl.col("task").alias("task_id"),
        "prompt_variant_id",
        "sample_id",
        "repetition",
        "completion",
        pl.col(ESCAPED).alias("is_completion_escaped"),
        "finish_reason",
        "option_loglikelihoods",
        "option_order",
        *MEASURED,
        pl.col("is_refused").str.to_lowercase().is_in(["true", "1"]).fill_null(False).alias("is_refused"),  # noqa: FBT003
        pl.lit(1, dtype=pl.Int32).alias("n_attempts"),
        pl.Series("request_sha256", requests, dtype=pl.String),
        pl.lit(landed_at).cast(pl.Datetime("us")).alias("landed_at"),
    )


def _variant_rows(
    audit_run_id: str, variants: tuple[pl.DataFrame, list[str]], reordered: pl.DataFrame, option_orders: pl.DataFrame
) -> pl.DataFrame:
    orders = pl.concat([each.select("prompt_variant_id", "option_order") for each in (reordered, option_orders)])
    orders = orders.with_columns(pl.col("option_order").list.len())
    n_options = dict(orders.group_by("prompt_variant_id").max().iter_rows())
    rows = [
        {
            "audit_run_id": audit_run_id,
            "task_id": row["task"],
            "is_edited": False,
            "reader": _reader_of(row["signs"], n_options.get(row["prompt_variant_id"])),
            "model_ids": row["model_ids"] if len(row["model_ids"]) < len(variants[1]) else None,
            **{
                name: row[name]
                for name in (
                    "prompt_variant_id",
                    "strategy",
                    "paraphrase_temperature",
                    "variant_index",
                    "is_original",
                    "instruction",
                    "repetitions",
                    "variation",
                    "setting",
                )
            },
        }
        for row in variants[0].iter_rows(named=True)
    ]
    return frame_of("prompt_variants", rows)


def _reader_of(signs: Sequence[str], n_reordered: int | None) -> str | None:
    # a variant has a reader of its own where its options have own signs (the longest list counts) or are reordered
    lists: list[list[str]] = [json.loads(each) for each in signs]
    longest: list[str] = max(lists, key=len, default=[])
    if n_reordered and not longest:
        longest = letters_of(n_reordered)
    is_own = longest != letters_of(len(longest)) or n_reordered is not None
    return as_json({"option_letter": longest}) if longest and is_own else None


def _tasks(audit_run_id: str, cards: dict[str, TaskCard]) -> pl.DataFrame:
    return frame_of("tasks", [task_row(audit_run_id, task_id, card) for task_id, card in cards.items()])


def _labels(audit_run_id: str, cards: dict[str, TaskCard]) -> pl.DataFrame:
    return frame_of(
        "task_labels", [row for task_id, card in cards.items() for row in label_rows(audit_run_id, task_id, card)]
    )


def _task_ids(frame: pl.DataFrame, options: ImportOptions, first: Path) -> list[str]:
    if "task" not in frame.columns:
        return [options.task or stem_of(first)]
    own = frame.filter(pl.col("program").is_null()) if "program" in frame.columns else frame
    if options.task is not None and (own["task"] != options.task).any():
        msg = "--task names the task of files without a 'task' column; this file has one"
        raise UsageError(msg)
    fail(frame, pl.col("task").is_null() | (pl.col("task") == ""), "task", "a task's name is wanted")
    return frame["task"].unique(maintain_order=True).to_list()


def _sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except FileNotFoundError:
        msg = f"{path}: no such file{nearest_file(path)}"
        raise DataError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise DataError(msg) from None


def run_import(
    settings: Settings, registry: Registry, files: Sequence[Path], options: ImportOptions, progress: Progress
) -> RunResult:
    """Lands recorded predictions as a run and derives it.

    Does nothing where the same bytes and options were imported before.
    """
    warehouse = Warehouse(settings.warehouse)
    with guarded(), warehouse.hold(settings.lock_wait_s, progress.say, by="an import"):
        make_ready(warehouse, progress, settings)
        imported = import_predictions(warehouse, files, registry, options)
        audit_run_id = imported.audit_run_id
        if not imported.is_new and is_published(warehouse, audit_run_id):
            headline = f"run {audit_run_id}: this import is here already: nothing done"
            return nothing_done(warehouse, audit_run_id, imported.audit_id, headline)
        run, notes = AuditRun(warehouse=warehouse, audit_run_id=audit_run_id, progress=progress), list(imported.notes)
        if imported.n_duplicates:
            notes.append(f"{imported.n_duplicates} rows said the same cell twice and count once")
        if imported.n_missing:
            notes.append(f"{imported.n_missing} cells of the file's grid have no answer")
        with following(warehouse, audit_run_id, progress.warn):
            outcome = derive(run)
        notes += [*outcome.notes, *differences(warehouse, audit_run_id)]
    headline = f"run {audit_run_id} of '{imported.audit_id}': {imported.n_landed} answers imported"
    return result_of(run, imported.audit_id, headline, replace(outcome, notes=tuple(notes)))
