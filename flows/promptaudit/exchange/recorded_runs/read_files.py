"""Reads files of recorded predictions, in our columns or in the form of other programs. Every error names the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

import polars as pl

from promptaudit.engines.openai_api.finish_reasons import end_of, is_failure, is_reason
from promptaudit.exchange.recorded_runs.check_rows import MEASURED
from promptaudit.exchange.recorded_runs.formats import format_of
from promptaudit.exchange.recorded_runs.formats.answers import RecordedAnswers, frame_of_answers, text_of
from promptaudit.exchange.recorded_runs.formats.promptstability import as_recorded, is_of_promptstability
from promptaudit.exchange.recorded_runs.formats.rows import rows_of
from promptaudit.exchange.recorded_runs.infer_task import KINDS
from promptaudit.exchange.recorded_runs.map_columns import (
    columns_of,
    guessed_map,
    mapped_frame,
    read_map,
    shown_columns,
)
from promptaudit.exchange.recorded_runs.prompt_templates import variants_of_answers
from promptaudit.exchange.recorded_runs.prompt_variations import is_setting, is_variation
from promptaudit.exchange.recorded_runs.separate import asked_once, separate
from promptaudit.registry.errors import DataError, UsageError, nearest
from promptaudit.registry.read_csv import most_cells, refuse_cells, refuse_columns
from promptaudit.registry.tables import ESCAPED, escape, read_text_table, refuse_long_texts
from promptaudit.registry.unpack import renamed, unpacked

REQUIRED = ("model", "sample_id", "completion")
OPTIONAL = (
    "task",
    "strategy",
    "variant_index",
    "is_original",
    "instruction",
    "variation",
    "setting",
    "paraphrase_temperature",
    "repetition",
    "gold_label",
    "input",
    "choices",
    "references",
    "option_signs",
    "option_order",
    "option_loglikelihoods",
    "finish_reason",
    "is_refused",
    "kind",
    "level",
    "labels",
    "reader",
    "scoring",
    "token_f1_threshold",
    "refusal_pattern",
    *MEASURED,
)
DERIVED = (
    "prediction_id",
    "output_format",
    "prompt",
    "label",
    "answer_status",
    "is_correct",
)
"""Columns of `promptaudit export` that are derived again."""
_JSON_SUFFIX = ".json"
# columns of an export that a file may have for something of its own: what they hold there
_NAMESAKES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "kind": (lambda text: text in KINDS, f"kind of task ({', '.join(KINDS)})"),
    "variation": (is_variation, "kind of variation"),
    "setting": (is_setting, "setting of a variant"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordings:
    """Rows of all files, every column as text, with file and row; notes for a person; and files read beside them."""

    frame: pl.DataFrame
    notes: tuple[str, ...]
    beside: tuple[Path, ...] = ()


def read_recordings(
    files: Sequence[Path], *, mapping: str | None = None, model: str | None = None, task: str | None = None
) -> Recordings:
    """Reads recorded predictions from files in our own columns and in every format that is recognised.

    `mapping` is the text of --map, which then reads every file. `model` names the model of files that name none or only
    one. `task` is the name that other programs' tasks get. Raises DataError naming file and row, or the file's columns.
    """
    wanted = None if mapping is None else read_map(mapping, (*REQUIRED, *OPTIONAL))
    frames: list[pl.DataFrame] = []
    notes: list[str] = []
    foreign: list[tuple[Path, RecordedAnswers]] = []
    for path in files:
        with unpacked(path) as plain:
            of_file: list[str] = []
            form = format_of(plain) if wanted is None else None
            if form is not None:
                read = form.read(plain, model)
                answers = [replace(each, model=model or each.model, task=task or each.task) for each in read.answers]
                _refuse_several(path, model, [each.model for each in read.answers])
                foreign.append((path, replace(read, answers=answers)))
                of_file += [f"{path}: read as {form.name}: {len(answers)} answers", *read.notes]
            else:
                frame = _checked(
                    mapped_frame(plain, wanted) if wanted is not None else _own(plain), plain, model, of_file
                )
                frames.append(frame.with_columns(pl.lit(str(path)).alias("file")))
            notes += [renamed(note, plain, path) for note in of_file]
    beside = tuple(each for _, read in foreign for each in read.beside)
    if foreign and not frames and not any(read.answers for _, read in foreign):
        msg = f"{foreign[0][0]}: no answers"
        raise DataError(msg)
    foreign, apart = separate(foreign)
    counting, copies = asked_once(foreign)
    notes += [*apart, *copies]
    templates = variants_of_answers([each for _, each in foreign])  # by copies too, which show what prompts share
    for (path, read), own, counts in zip(foreign, templates, counting, strict=True):
        if not any(counts):
            continue
        answers, variants = list(compress(read.answers, counts)), list(compress(own, counts))
        frame = frame_of_answers(answers, variants).with_columns(program=pl.lit(read.program))
        frames.append(frame.with_row_index("row", offset=1).with_columns(pl.lit(str(path)).alias("file")))
    for frame in frames:
        refuse_long_texts(frame, frame["file"][0])
    frame, failed = _with_ends(pl.concat(frames, how="diagonal"))
    notes += failed
    if "program" in frame.columns:
        frame, more = _numbered_on(frame)
        notes += [*more, *_variant_notes(frame)]
    return Recordings(frame=frame, notes=tuple(notes), beside=beside)


def _refuse_several(path: Path, model: str | None, models: Sequence[str]) -> None:
    several = sorted(set(models))
    if model is not None and len(several) > 1:
        msg = f"--model {model}: {path} has answers of {len(several)} models already: {', '.join(several[:5])}"
        raise UsageError(msg)


def _own(path: Path) -> pl.DataFrame:
    if path.suffix.lower() == _JSON_SUFFIX:
        rows = [row for _, row in rows_of(path)]
        columns = dict.fromkeys(name for row in rows for name in row)
        refuse_columns(len(columns), path, str(path))
        refuse_cells(len(rows), len(columns), most_cells(path), str(path))
        return pl.DataFrame(
            {
                name: pl.Series(name, [_safe(text_of(row.get(name))) for row in rows], dtype=pl.String)
                for name in columns
            }
        )
    frame = read_text_table(path, keep_floats=True)
    return as_recorded(frame) if is_of_promptstability(frame) else frame


def _safe(text: str | None) -> str | None:
    return None if text is None else escape(text)[0]


def _checked(frame: pl.DataFrame, path: Path, model: str | None, notes: list[str]) -> pl.DataFrame:
    if model is not None and not frame.is_empty():
        _refuse_several(path, model, frame["model"].drop_nulls().unique().to_list() if "model" in frame.columns else [])
        frame = frame.with_columns(pl.lit(model).alias("model"))
    for column in REQUIRED:
        if column not in frame.columns:
            columns = columns_of(path) if frame.columns else []
            guess = guessed_map(columns, (*REQUIRED, "gold_label", "input")) if columns else ""
            close = nearest(column, frame.columns)
            listed = f"; {shown_columns(columns)}; perhaps {guess}" if columns else ""
            msg = f"{path}: no column '{column}'{close if close.startswith('; nearest') or not listed else ''}{listed}"
            raise DataError(msg)
    if frame.is_empty():
        msg = f"{path}: no rows"
        raise DataError(msg)
    if frame.schema["completion"] != pl.String:
        msg = f"{path}: column 'completion' is {frame.schema['completion']}; write answers as text, as the model gave them"
        raise DataError(msg)
    unknown = [c for c in frame.columns if c not in (*REQUIRED, *OPTIONAL, ESCAPED)]
    is_export = set(DERIVED) <= set(unknown)
    if not is_export:
        frame = _without_namesakes(frame, path, notes)
    notes += [
        f"{path}: column '{c}' is not read{nearest(c, (*REQUIRED, *OPTIONAL))}"
        for c in unknown
        if not (is_export and c in DERIVED)
    ]
    floats = [c for c, t in frame.schema.items() if t.is_float()]
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in floats)
    return frame.drop(unknown).with_row_index("row", offset=1)


def _without_namesakes(frame: pl.DataFrame, path: Path, notes: list[str]) -> pl.DataFrame:
    for column, (is_one, wanted) in _NAMESAKES.items():
        if column not in frame.columns or frame.schema[column] != pl.String:
            continue
        texts = frame[column].drop_nulls().unique(maintain_order=True).to_list()
        other = next((text for text in texts if text.strip() and not is_one(text.strip())), None)
        if other is not None:
            notes.append(f"{path}: column '{column}' is not read: {other[:60]!r} is no {wanted}")
            frame = frame.drop(column)
    return frame


def _with_ends(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    # each end by OpenAI's word, an unknown one as it is; what ended in an error is no answer, whatever text it has
    if "finish_reason" not in frame.columns:
        return frame, []
    reason = pl.col("finish_reason").cast(pl.String)
    words = frame.select(reason).to_series().drop_nulls().unique(maintain_order=True).to_list()
    failures = [word for word in words if is_failure(word)]
    is_failed = reason.is_in(failures) & pl.col("completion").is_not_null()
    ends = [end_of(word) or word if is_reason(word) else None for word in words]
    notes = [
        f"{file}: {n} answers ended by {', '.join(sorted(said))[:60]}, which is an error, and have no answer"
        for file, n, said in frame.filter(is_failed)
        .group_by("file", maintain_order=True)
        .agg(pl.len(), reason.unique())
        .iter_rows()
    ]
    frame = frame.with_columns(
        pl.when(is_failed.fill_null(False)).then(None).otherwise("completion").alias("completion"),  # noqa: FBT003
        reason.replace_strict(words, ends, default=None, return_dtype=pl.String),
    )
    return frame, notes


def _numbered_on(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    # answers to one cell are numbered, asks without an answer last
    cell = [pl.col(name) for name in ("model", "task", "strategy", "variant_index", "sample_id")]
    again = pl.col("completion").is_null().rank("ordinal").over(cell).cast(pl.String)
    is_foreign = pl.col("program").is_not_null()
    repetition = pl.col("repetition") if "repetition" in frame.columns else pl.lit(None, dtype=pl.String)
    first = pl.col("file").first().over(cell)
    more = frame.filter(is_foreign & (pl.col("file") != first)).group_by("file", maintain_order=True)
    notes = [
        f"{file}: {n} answers are to prompts and samples that an earlier file has answers to, and count as repetitions"
        for file, n in more.len().iter_rows()
    ]
    return frame.with_columns(pl.when(is_foreign).then(again).otherwise(repetition).alias("repetition")), notes


def _variant_notes(frame: pl.DataFrame) -> list[str]:
    rows = frame.filter(pl.col("program").is_not_null())
    notes = []
    for (task,), of_task in rows.group_by(["task"], maintain_order=True):
        n = of_task["variant_index"].n_unique()
        if n > 1:
            first = of_task.filter(pl.col("variant_index") == "0").row(0, named=True)
            shown = " ".join(first["instruction"].split())[:100]
            kinds = [
                kind for kind in of_task["variation"].drop_nulls().unique(maintain_order=True) if kind != "original"
            ]
            which = (
                f"is the one that the others differ least from (in {', '.join(kinds)}), of"
                if kinds
                else "is the first, of"
            )
            notes.append(f"task '{task}' has {n} prompt variants; variant 0 {which} {first['file']}: {shown!r}")
            notes += _of_one_model(str(task), of_task)
    return notes


def _of_one_model(task: str, rows: pl.DataFrame) -> list[str]:
    if rows["model"].n_unique() == 1:
        return []
    alone = (
        rows.group_by("variant_index", maintain_order=True)
        .agg(pl.col("model").n_unique().alias("n"), pl.col("model").first(), pl.col("instruction").first())
        .filter(pl.col("n") == 1)
    )
    if alone.is_empty():
        return []
    first = alone.row(0, named=True)
    shown = " ".join(first["instruction"].split())[:100]
    note = (
        f"task '{task}': {alone.height} prompt variants have answers of one model only, the first of '{first['model']}': "
        f"{shown!r}; where files hold other samples, what is left of those in a prompt can make one template two"
    )
    return [note]
