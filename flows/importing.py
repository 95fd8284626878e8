"""Takes recorded predictions in as a run: reads, checks, and lands all of it or nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from flows.keys import content_id, prediction_id, prompt_variant_id
from flows.rows import SCHEMAS, frame_of
from flows.runs import run_row
from flows.warehouse import as_json, fetch, land, now
from models_registry.cards import FormatLimits, TaskCard, TaskLabel
from models_registry.errors import DataError, UsageError, nearest
from models_registry.registry import Registry
from models_registry.tables import ESCAPED, read_text_table

REQUIRED = ("model", "sample_id", "completion")
OPTIONAL = (
    "task", "strategy", "variant_index", "is_original", "instruction", "paraphrase_temperature", "repetition",
    "gold_label", "input", "choices",
)  # fmt: skip
CELL = ("model", "task", "strategy", "paraphrase_temperature", "variant_index", "sample_id", "repetition")
VARIANT = ("task", "strategy", "paraphrase_temperature", "variant_index")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the command line says of a file that its columns do not."""

    task: str | None = None
    labels: tuple[str, ...] = ()
    level: str | None = None
    strategy: str = "simple"
    audit: str | None = None
    reader: str = "exact"
    format_limits: FormatLimits = field(default_factory=lambda: FormatLimits(policy="warn"))
    seed: int = 20250601
    resamples: int = 1000


def options_of(  # noqa: PLR0913 - one option each
    *,
    labels: Sequence[str],
    level: str | None,
    task: str | None,
    strategy: str,
    audit: str | None,
    reader: str,
    policy: str,
    resamples: int,
    seed: int,
) -> ImportOptions:
    """Options as the command line gives them; raises UsageError naming the option and the nearest right value."""
    choices = {
        "--level": (level, ("nominal", "ordinal", "interval")),
        "--reader": (reader, ("exact", "first_integer", "label_in_text")),
        "--policy": (policy, ("warn", "quarantine", "fail")),
    }
    for option, (value, known) in choices.items():
        if value is not None and value not in known:
            msg = f"{option} {value}{nearest(value, known)}"
            raise UsageError(msg)
    return ImportOptions(
        task=task, labels=_split_labels(labels), level=level, strategy=strategy, audit=audit, reader=reader,
        format_limits=FormatLimits(policy=policy), seed=seed, resamples=resamples,  # type: ignore[arg-type]
    )  # fmt: skip


def _split_labels(given: Sequence[str]) -> tuple[str, ...]:
    """`a,b` or a JSON list, which may hold labels with commas; given several times, they add up."""
    labels: list[str] = []
    for text in given:
        if text.lstrip().startswith("["):
            try:
                found = json.loads(text, parse_int=str, parse_float=str)
            except ValueError as error:
                msg = f"--labels {text[:80]}: not a JSON list: {error}"
                raise UsageError(msg) from None
            labels += [str(label) for label in found]
        else:
            labels += [label.strip() for label in text.split(",")]
    return tuple(labels)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did; `n_landed` 0 and `is_new` False when the same bytes and options were there already."""

    audit_run_id: str
    audit_id: str
    is_new: bool
    n_rows: int
    n_landed: int
    n_missing: int
    n_duplicates: int
    notes: tuple[str, ...]


def import_predictions(
    warehouse: Path, files: Sequence[Path], registry: Registry, options: ImportOptions
) -> Imported:
    """Lands files of recorded predictions as one run, in one transaction; raises DataError naming file and row."""
    digests = {str(path): _sha256(path) for path in files}
    tasks_known = {name: entry.card for name, entry in registry.entries.get("tasks", {}).items()}
    audit_id = options.audit or files[0].stem
    source = {
        "files": sorted(digests.values()),
        "options": {
            "task": options.task, "labels": list(options.labels), "level": options.level, "strategy": options.strategy,
            "reader": options.reader, "format": json.loads(options.format_limits.canonical_json()),
            "seed": options.seed, "resamples": options.resamples,
        },
    }  # fmt: skip
    frame, notes = _read(files)
    task_ids = _task_ids(frame, options, files[0])
    cards = {task_id: _task_card(task_id, tasks_known, options) for task_id in task_ids}
    fingerprint = content_id(as_json(source), *(cards[task_id].canonical_json() for task_id in sorted(cards)))
    source["files"] = [{"name": path.name, "sha256": digests[str(path)]} for path in files]
    audit_run_id = content_id("import", audit_id, fingerprint)
    known = fetch(warehouse, "select state from raw.audit_runs where audit_run_id = ?", [audit_run_id])
    if known:
        return Imported(audit_run_id, audit_id, False, frame.height, 0, 0, 0, ())  # noqa: FBT003

    frame = _typed(frame, options, task_ids[0] if "task" not in frame.columns else None)
    frame, n_duplicates = _without_duplicates(frame)
    variants, samples = _variants(frame), _samples(frame, cards)
    missing = frame.filter(pl.col("completion").is_null()).height
    frame = frame.filter(pl.col("completion").is_not_null())
    predictions = _predictions(audit_run_id, frame, variants)
    models = frame_of(
        "models",
        [
            {"audit_run_id": audit_run_id, "model_id": model, "engine": "recorded", "model": model, "card": "{}",
             "fingerprint": content_id(model)[:16]}
            for model in variants[1]
        ],
    )  # fmt: skip
    n_planned = sum(
        sum(row["n"] for row in variants[0].filter(pl.col("task") == task).iter_rows(named=True)) * count * len(models)
        for task, count in samples.group_by("task_id").len().iter_rows()
    )
    run = run_row(
        audit_run_id=audit_run_id, audit_id=audit_id, origin="import", fingerprint=fingerprint[:16],
        plan_fingerprint=fingerprint[:16], card="{}", format_limits=options.format_limits.model_dump_json(),
        seed=options.seed, n_resamples=options.resamples, source=source,
    )  # fmt: skip
    land(
        warehouse,
        [
            ("audit_runs", run),
            ("models", models),
            ("tasks", _tasks(audit_run_id, cards)),
            ("task_labels", _labels(audit_run_id, cards)),
            ("samples", samples.with_columns(pl.lit(audit_run_id).alias("audit_run_id")).select(*SCHEMAS["samples"])),
            ("prompt_variants", _variant_rows(audit_run_id, variants[0])),
            ("predictions", predictions),
        ],
    )
    return Imported(
        audit_run_id, audit_id, True, frame.height + missing + n_duplicates, predictions.height,  # noqa: FBT003
        n_planned - predictions.height, n_duplicates, notes,
    )  # fmt: skip


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        msg = f"{path}: no such file"
        raise DataError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise DataError(msg) from None


def _read(files: Sequence[Path]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    frames, notes = [], []
    for path in files:
        frame = read_text_table(path, keep_floats=True)
        for column in REQUIRED:
            if column not in frame.columns:
                msg = f"{path}: no column '{column}'{nearest(column, frame.columns)}"
                raise DataError(msg)
        if frame.is_empty():
            msg = f"{path}: no rows"
            raise DataError(msg)
        if frame.schema["completion"] != pl.String:
            msg = f"{path}: column 'completion' is {frame.schema['completion']}; write answers as text, as the model gave them"
            raise DataError(msg)
        unknown = [c for c in frame.columns if c not in (*REQUIRED, *OPTIONAL, ESCAPED)]
        notes += [f"{path}: column '{c}' is not read{nearest(c, (*REQUIRED, *OPTIONAL))}" for c in unknown]
        floats = [c for c, t in frame.schema.items() if t.is_float()]
        frame = frame.with_columns(pl.col(c).cast(pl.String) for c in floats)
        frame = frame.drop(unknown).with_row_index("row", offset=1).with_columns(pl.lit(str(path)).alias("file"))
        frames.append(frame)
    return pl.concat(frames, how="diagonal"), tuple(notes)


def _fail(frame: pl.DataFrame, is_bad: pl.Expr, column: str, wanted: str) -> None:
    bad = frame.filter(is_bad).head(1)
    if not bad.is_empty():
        row = bad.row(0, named=True)
        found = "nothing" if row[column] is None else repr(row[column][:80])
        msg = f"{row['file']} row {row['row']}: {column}: {wanted}, found {found}"
        raise DataError(msg)


def _task_ids(frame: pl.DataFrame, options: ImportOptions, first: Path) -> list[str]:
    if "task" not in frame.columns:
        return [options.task or first.stem]
    if options.task is not None:
        msg = "--task names the task of files without a 'task' column; this file has one"
        raise UsageError(msg)
    _fail(frame, pl.col("task").is_null() | (pl.col("task") == ""), "task", "a task's name is wanted")
    return frame["task"].unique(maintain_order=True).to_list()


def _task_card(task_id: str, known: dict[str, object], options: ImportOptions) -> TaskCard:
    card = known.get(task_id)
    if isinstance(card, TaskCard):
        changes: dict[str, object] = {}
        if options.labels:
            changes["labels"] = tuple(TaskLabel(label=label) for label in options.labels)
        if options.level:
            changes["level"] = options.level
        return TaskCard.model_validate(card.model_copy(update=changes).model_dump())
    if not options.labels:
        msg = f"task '{task_id}' has no card, so its labels are needed: --labels a,b{nearest(task_id, known)}"
        raise UsageError(msg)
    try:
        return TaskCard.model_validate(
            {"labels": list(options.labels), "level": options.level or "nominal", "reader": options.reader,
             "instruction": "(recorded)", "data": {"path": "(recorded)"}}
        )  # fmt: skip
    except ValueError as error:
        text = getattr(error, "errors", list)()
        reason = text[0]["msg"].removeprefix("Value error, ") if text else str(error)
        msg = f"--labels {','.join(options.labels)[:80]} --level {options.level or 'nominal'}: {reason}"
        raise UsageError(msg) from None


def _typed(frame: pl.DataFrame, options: ImportOptions, task_id: str | None) -> pl.DataFrame:
    """Ids checked, numbers parsed, absent columns as the design says: simple, variant 0, repetition 1."""
    texts = {"task": task_id, "strategy": options.strategy}
    texts |= dict.fromkeys(("instruction", "gold_label", "input", "choices"))
    for column, default in texts.items():
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(default, dtype=pl.String).alias(column))
    for column in ("model", "sample_id", "strategy"):
        _fail(frame, pl.col(column).is_null() | (pl.col(column) == ""), column, "a name is wanted")
    if "variant_index" not in frame.columns and "instruction" in frame.columns:
        several = frame.group_by("task", "strategy").agg(pl.col("instruction").n_unique().alias("n")).filter(pl.col("n") > 1)
        if not several.is_empty() and "paraphrase_temperature" not in frame.columns:
            msg = f"{frame['file'][0]}: {several['n'][0]} instructions but no column 'variant_index' to tell them apart"
            raise DataError(msg)
    whole = {"variant_index": (0, 0), "repetition": (1, 1)}
    for column, (default, least) in whole.items():
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(default, dtype=pl.Int32).alias(column))
            continue
        number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
        is_whole = (number == number.floor()) & (number >= least) & (number < 2**31)
        _fail(frame, ~is_whole.fill_null(False), column, f"a whole number from {least} is wanted")  # noqa: FBT003
        frame = frame.with_columns(number.cast(pl.Int32).alias(column))
    temperature = "paraphrase_temperature"
    if temperature not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(temperature))
    else:
        blank = pl.col(temperature).is_null() | (pl.col(temperature).str.strip_chars() == "")
        number = pl.col(temperature).str.strip_chars().cast(pl.Float64, strict=False)
        is_bad = ~blank & ~(number.is_finite() & (number >= 0)).fill_null(False)  # noqa: FBT003
        _fail(frame, is_bad, temperature, "a number from 0 or nothing is wanted")
        frame = frame.with_columns(pl.when(blank).then(None).otherwise(number).alias(temperature))
    if "is_original" in frame.columns:
        said = pl.col("is_original").str.strip_chars().str.to_lowercase()
        is_yes, is_no = said.is_in(["true", "1", "t", "yes"]), said.is_in(["false", "0", "f", "no"])
        _fail(frame, ~(is_yes | is_no).fill_null(False), "is_original", "true or false is wanted")  # noqa: FBT003
        frame = frame.with_columns(is_yes.alias("is_original"))
    else:
        frame = frame.with_columns((pl.col("variant_index") == 0).alias("is_original"))
    if ESCAPED not in frame.columns:
        frame = frame.with_columns(pl.lit(False).alias(ESCAPED))  # noqa: FBT003
    return frame.with_columns(pl.col(ESCAPED).fill_null(False))  # noqa: FBT003


def _without_duplicates(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """One row a cell: rows that say the same twice are counted, rows that disagree are refused."""
    is_double = pl.struct(CELL).is_duplicated()
    doubles = frame.filter(is_double)
    if doubles.is_empty():
        return frame, 0
    differing = doubles.group_by(CELL, maintain_order=True).agg(
        pl.col("completion").n_unique().alias("n"), pl.col("row"), pl.col("file")
    ).filter(pl.col("n") > 1)  # fmt: skip
    if not differing.is_empty():
        row = differing.row(0, named=True)
        cell = f"model {row['model']!r}, sample {row['sample_id']!r}, variant {row['variant_index']}, repetition {row['repetition']}"
        msg = (
            f"{row['file'][1]} row {row['row'][1]}: {cell} has another completion in row {row['row'][0]}; "
            f"{differing.height} cells disagree (is a column 'repetition' or 'variant_index' missing?)"
        )
        raise DataError(msg)
    kept = frame.unique(subset=CELL, keep="first", maintain_order=True)
    return kept, frame.height - kept.height


def _variants(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """One row a prompt variant with its id and the repetitions asked of it, and the models in order."""
    variants = frame.group_by(VARIANT, maintain_order=True).agg(
        pl.col("instruction").drop_nulls().unique(maintain_order=True).alias("instructions"),
        pl.col("is_original").unique().alias("originals"),
        pl.col("repetition").unique().sort().alias("repetitions"),
        pl.col("row").first(),
        pl.col("file").first(),
    )
    for row in variants.iter_rows(named=True):
        named = f"{row['file']} row {row['row']}: variant {row['variant_index']} of task {row['task']!r}"
        if len(row["instructions"]) > 1:
            msg = f"{named} has {len(row['instructions'])} instructions; number them apart in 'variant_index'"
            raise DataError(msg)
        if len(row["originals"]) > 1:
            msg = f"{named} is original in some rows and not in others"
            raise DataError(msg)
    variants = variants.with_columns(
        pl.col("instructions").list.first().alias("instruction"),
        pl.col("originals").list.first().alias("is_original"),
        pl.col("repetitions").list.len().alias("n"),
    )
    ids = [
        prompt_variant_id(r["task"], r["strategy"], r["paraphrase_temperature"], r["variant_index"], r["instruction"])
        for r in variants.iter_rows(named=True)
    ]
    variants = variants.with_columns(pl.Series("prompt_variant_id", ids, dtype=pl.String))
    return variants, frame["model"].unique(maintain_order=True).to_list()


def _samples(frame: pl.DataFrame, cards: dict[str, TaskCard]) -> pl.DataFrame:
    gold = pl.col("gold_label").str.strip_chars()
    frame = frame.with_columns(pl.when(gold == "").then(None).otherwise(gold).alias("gold_label"))
    for task_id, card in cards.items():
        labels = list(card.label_names)
        rows = frame.filter(pl.col("task") == task_id)
        bad = rows.filter(pl.col("gold_label").is_not_null() & ~pl.col("gold_label").is_in(labels)).head(1)
        if not bad.is_empty():
            row = bad.row(0, named=True)
            found = row["gold_label"][:80]
            msg = f"{row['file']} row {row['row']}: gold label {found!r} is not one of the labels{nearest(found, labels)}"
            raise DataError(msg)
    samples = frame.group_by("task", "sample_id", maintain_order=True).agg(
        pl.col("gold_label").drop_nulls().unique(maintain_order=True).alias("golds"),
        pl.col("input").drop_nulls().first(),
        pl.col("choices").drop_nulls().first(),
        pl.col("row").first(),
        pl.col("file").first(),
    )
    torn = samples.filter(pl.col("golds").list.len() > 1).head(1)
    if not torn.is_empty():
        row = torn.row(0, named=True)
        msg = f"{row['file']} row {row['row']}: sample {row['sample_id']!r} has gold labels {row['golds'][:3]}"
        raise DataError(msg)
    fields = [None if choices is None else as_json({"choices": choices}) for choices in samples["choices"]]
    return samples.select(
        pl.col("task").alias("task_id"),
        "sample_id",
        pl.int_range(pl.len(), dtype=pl.Int32).over("task").alias("sample_index"),
        "input",
        pl.col("golds").list.first().alias("gold_label"),
        pl.Series("fields", fields, dtype=pl.String),
    )


def _predictions(audit_run_id: str, frame: pl.DataFrame, variants: tuple[pl.DataFrame, list[str]]) -> pl.DataFrame:
    ids = variants[0].select(*VARIANT, "prompt_variant_id", pl.col("instruction").alias("asked"))
    frame = frame.join(ids, on=list(VARIANT), how="left", nulls_equal=True, maintain_order="left")
    hashes: dict[tuple[str | None, ...], str] = {}
    prediction_ids, requests = [], []
    wanted = ("model", "prompt_variant_id", "sample_id", "repetition", "asked", "input", "choices")
    for model, variant, sample, repetition, *sent in frame.select(wanted).iter_rows():
        asked = tuple(sent)
        if asked not in hashes:
            hashes[asked] = hashlib.sha256(content_id("recorded", *asked).encode()).hexdigest()
        requests.append(hashes[asked])
        prediction_ids.append(prediction_id(audit_run_id, model, variant, sample, repetition, hashes[asked]))
    landed = frame.select(
        pl.lit(audit_run_id).alias("audit_run_id"),
        pl.Series("prediction_id", prediction_ids, dtype=pl.String),
        pl.col("model").alias("model_id"),
        pl.col("task").alias("task_id"),
        "prompt_variant_id",
        "sample_id",
        "repetition",
        "completion",
        pl.col(ESCAPED).alias("is_completion_escaped"),
        pl.lit(False).alias("is_refused"),  # noqa: FBT003
        pl.lit(1, dtype=pl.Int32).alias("n_attempts"),
        pl.Series("request_sha256", requests, dtype=pl.String),
        pl.lit(now()).cast(pl.Datetime("us")).alias("landed_at"),
    )
    absent = [pl.lit(None, dtype=t).alias(c) for c, t in SCHEMAS["predictions"].items() if c not in landed.columns]
    return landed.with_columns(absent).select(*SCHEMAS["predictions"])


def _variant_rows(audit_run_id: str, variants: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {"audit_run_id": audit_run_id, "task_id": row["task"], "is_edited": False,
         **{name: row[name] for name in (
             "prompt_variant_id", "strategy", "paraphrase_temperature", "variant_index", "is_original", "instruction",
             "repetitions")}}
        for row in variants.iter_rows(named=True)
    ]  # fmt: skip
    return frame_of("prompt_variants", rows)


def _tasks(audit_run_id: str, cards: dict[str, TaskCard]) -> pl.DataFrame:
    return frame_of("tasks", [task_row(audit_run_id, task_id, card) for task_id, card in cards.items()])


def _labels(audit_run_id: str, cards: dict[str, TaskCard]) -> pl.DataFrame:
    return frame_of("task_labels", [row for task_id, card in cards.items() for row in label_rows(audit_run_id, task_id, card)])


def task_row(audit_run_id: str, task_id: str, card: TaskCard) -> dict[str, object]:
    """The row of raw.tasks for a task card."""
    reader = card.reader if isinstance(card.reader, str) else card.reader.model_dump()
    return {
        "audit_run_id": audit_run_id, "task_id": task_id, "kind": card.kind, "level": card.level,
        "instruction": card.instruction, "output_format": card.output_format, "reader": as_json(reader),
        "refusal_pattern": card.refusal_pattern, "card": card.canonical_json(), "fingerprint": card.fingerprint(),
    }  # fmt: skip


def label_rows(audit_run_id: str, task_id: str, card: TaskCard) -> list[dict[str, object]]:
    """The rows of raw.task_labels for a task card, in its order."""
    return [
        {"audit_run_id": audit_run_id, "task_id": task_id, "label": item.label, "label_index": index,
         "description": item.description}
        for index, item in enumerate(card.labels)
    ]  # fmt: skip
