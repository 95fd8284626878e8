"""Checks that rows of recorded predictions agree and collects their variants and samples. Errors name file and row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import polars as pl

from promptaudit.exchange.recorded_runs.formats.answers import PROGRAM_SCORE
from promptaudit.exchange.recorded_runs.infer_task import spelling_of
from promptaudit.registry.cards import WITHOUT_LABELS, WORDED_ALONE, TaskCard, composed
from promptaudit.registry.errors import DataError, nearest
from promptaudit.registry.tables import ESCAPED
from promptaudit.system.keys import as_json, prompt_variant_id
from promptaudit.udfs.scoring.fields import read_fields
from promptaudit.warehouse.rows import reader_json

MEASURED = {
    "prompt_tokens": pl.Int32(),
    "completion_tokens": pl.Int32(),
    "cost_usd": pl.Float64(),
    "latency_ms": pl.Float64(),
}
CELL = ("model", "task", "strategy", "paraphrase_temperature", "variant_index", "sample_id", "repetition")
VARIANT = ("task", "strategy", "paraphrase_temperature", "variant_index")


def fail(frame: pl.DataFrame, is_bad: pl.Expr, column: str, wanted: str) -> None:
    """Raises DataError for the first row that is bad. The error names the row and what its column holds."""
    bad = frame.filter(is_bad).head(1)
    if not bad.is_empty():
        row = bad.row(0, named=True)
        value = "nothing" if row[column] is None else repr(row[column][:80])
        msg = f"{row['file']} row {row['row']}: {column}: {wanted}, found {value}"
        raise DataError(msg)


def typed(frame: pl.DataFrame, strategy: str, task_id: str | None) -> pl.DataFrame:
    """Checks ids, parses numbers and fills absent columns: the given strategy, variant 0, repetition 1."""
    texts: dict[str, str | None] = {"task": task_id, "strategy": strategy}
    texts |= dict.fromkeys(
        ("instruction", "gold_label", "input", "choices", "references", "labels", "level", "program")
    )
    texts |= dict.fromkeys(("option_signs", "option_order", "option_loglikelihoods", "finish_reason", "is_refused"))
    texts |= dict.fromkeys(("variation", "setting"))
    for column, default in texts.items():
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(default, dtype=pl.String).alias(column))
    weights = pl.col("option_loglikelihoods")
    frame = frame.with_columns(pl.when(weights.str.strip_chars() != "").then(weights).alias("option_loglikelihoods"))
    of_program = pl.col("program").is_not_null()  # files of programs may name no strategy
    frame = frame.with_columns(pl.when(of_program).then(pl.col("strategy").fill_null(strategy)).otherwise("strategy"))
    for column in ("model", "sample_id", "strategy"):
        fail(frame, pl.col(column).is_null() | (pl.col(column) == ""), column, "a name is wanted")
    whole = {"variant_index": (0, 0), "repetition": (1, 1)}
    for column, (absent, least) in whole.items():
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(absent, dtype=pl.Int32).alias(column))
            continue
        text = pl.col(column).str.strip_chars()
        blank = text.is_null() | (text == "")
        number = pl.when(blank).then(absent).otherwise(text.cast(pl.Float64, strict=False))
        is_whole = (number == number.floor()) & (number >= least) & (number < 2**31)
        fail(frame, ~is_whole.fill_null(False), column, f"a whole number from {least} is wanted")  # noqa: FBT003
        frame = frame.with_columns(number.cast(pl.Int32).alias(column))
    frame = _with_temperatures(frame)
    if "is_original" in frame.columns:
        text = pl.col("is_original").str.strip_chars().str.to_lowercase()
        is_yes, is_no = text.is_in(["true", "1", "t", "yes"]), text.is_in(["false", "0", "f", "no"])
        fail(frame, ~(is_yes | is_no).fill_null(False), "is_original", "true or false is wanted")  # noqa: FBT003
        frame = frame.with_columns(is_yes.alias("is_original"))
    else:
        frame = frame.with_columns((pl.col("variant_index") == 0).alias("is_original"))
    frame = _measured(frame)
    if ESCAPED not in frame.columns:
        frame = frame.with_columns(pl.lit(False).alias(ESCAPED))  # noqa: FBT003
    return frame.with_columns(pl.col(ESCAPED).fill_null(False))  # noqa: FBT003


def _with_temperatures(frame: pl.DataFrame) -> pl.DataFrame:
    temperature = "paraphrase_temperature"
    if temperature not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(temperature))
    else:
        blank = pl.col(temperature).is_null() | (pl.col(temperature).str.strip_chars() == "")
        number = _number(pl.col(temperature).str.strip_chars())
        is_bad = ~blank & ~(number.is_finite() & (number >= 0)).fill_null(False)  # noqa: FBT003
        fail(frame, is_bad, temperature, "a number from 0 or nothing is wanted")
        frame = frame.with_columns(pl.when(blank).then(None).otherwise(number).alias(temperature))
    return frame


def _measured(frame: pl.DataFrame) -> pl.DataFrame:
    for column, dtype in {**MEASURED, PROGRAM_SCORE: pl.Float64()}.items():
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(None, dtype=dtype).alias(column))
            continue
        text = pl.col(column).str.strip_chars()
        blank = text.is_null() | (text == "")
        number = pl.when(blank).then(None).otherwise(_number(text))
        is_whole = dtype.is_integer()  # where 1.234 may be a thousand, as in a file of decimal commas
        is_good = number.is_finite() & (number >= 0) & (number < 2**31) & ((number == number.floor()) | (not is_whole))
        if column != PROGRAM_SCORE:
            wanted = f"a {'whole ' if is_whole else ''}number from 0 or nothing is wanted"
            fail(frame, ~blank & ~is_good.fill_null(False), column, wanted)  # noqa: FBT003
        frame = frame.with_columns(number.cast(dtype).alias(column))
    return frame


def _number(text: pl.Expr) -> pl.Expr:
    # a comma is a decimal one, as half of Europe writes it, where it cannot part thousands
    is_decimal = text.str.contains("^[0-9]+,[0-9]+$") & ~text.str.contains("^[1-9][0-9]{0,2},[0-9]{3}$")
    with_point = pl.when(is_decimal).then(text.str.replace(",", ".", literal=True)).otherwise(text)
    return with_point.cast(pl.Float64, strict=False)


def without_duplicates(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Keeps the first row of each cell and counts the others. Raises DataError where rows of a cell disagree."""
    may_be = frame.filter(frame.select(CELL).hash_rows().is_duplicated())  # hashes take a fifth of the cells' memory
    doubles = may_be.filter(pl.struct(CELL).is_duplicated())
    if doubles.is_empty():
        return frame, 0
    differing = (
        doubles.group_by(CELL, maintain_order=True)
        .agg(pl.col("completion").n_unique().alias("n"), pl.col("row"), pl.col("file"))
        .filter(pl.col("n") > 1)
    )
    if not differing.is_empty():
        row = differing.row(0, named=True)
        cell = f"model {row['model']!r}, sample {row['sample_id']!r}, variant {row['variant_index']}"
        cell = f"{cell}, repetition {row['repetition']}"
        msg = (
            f"{row['file'][1]} row {row['row'][1]}: {cell} has another completion in row {row['row'][0]}; "
            f"{differing.height} cells disagree (no 'repetition' or 'variant_index'?)"
        )
        raise DataError(msg)
    kept = frame.unique(subset=CELL, keep="first", maintain_order=True)
    return kept, frame.height - kept.height


def grid_of(frame: pl.DataFrame, variants: pl.DataFrame, n_samples: Mapping[str, int]) -> tuple[pl.DataFrame, int]:
    """Finds the repetitions that only some samples were asked for, and counts the cells of all models.

    The frame names the samples of each such repetition. It and every later one must cover at most half of the samples,
    and the same samples under every wording that has it: a subset was asked again. In any other repetition each sample
    was asked, and rows that are not there are missing.
    """
    asked = (
        frame.select(*VARIANT, "repetition", "sample_id")
        .unique(maintain_order=True)
        .group_by(*VARIANT, "repetition", maintain_order=True)
        .agg(pl.col("sample_id").alias("sample_ids"))
        .join(variants.select(*VARIANT, "prompt_variant_id", "model_ids"), on=list(VARIANT), nulls_equal=True)
        .with_columns(pl.col("task").replace_strict(n_samples, return_dtype=pl.Int64).alias("n"))
    )
    subset = pl.col("sample_ids").list.sort().list.join("\0")
    deepest = asked.group_by("task", "strategy", "repetition").agg(
        is_some=(subset.n_unique() == 1) & (2 * pl.col("sample_ids").list.len() <= pl.col("n")).all()
    )
    last_whole = (
        deepest.filter(~pl.col("is_some")).group_by("task", "strategy").agg(pl.col("repetition").max().alias("whole"))
    )
    asked = asked.join(last_whole, on=["task", "strategy"], how="left", maintain_order="left")
    is_of_some = pl.col("repetition") > pl.col("whole").fill_null(pl.col("repetition").min().over("task", "strategy"))
    n_cells = pl.when(is_of_some).then(pl.col("sample_ids").list.len()).otherwise("n") * pl.col("model_ids").list.len()
    grid = asked.filter(is_of_some).select("prompt_variant_id", "repetition", "sample_ids")
    return grid, int(asked.select(n_cells.sum()).item() or 0)


def variants_of(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Collects one row for each prompt variant, with its id and its repetitions, and lists the models in order.

    `model_ids` are the models with rows of the variant's task and strategy; nothing planned that others be asked.
    Raises DataError where a variant has two instructions, or is original in some rows and not in others.
    """
    variants = frame.group_by(VARIANT, maintain_order=True).agg(
        pl.col("instruction").drop_nulls().unique(maintain_order=True).alias("instructions"),
        pl.col("is_original").unique().alias("originals"),
        pl.col("repetition").unique().sort().alias("repetitions"),
        pl.col("option_signs").drop_nulls().unique(maintain_order=True).alias("signs"),
        pl.col("variation").drop_nulls().unique(maintain_order=True).alias("variations"),
        pl.col("setting").drop_nulls().unique(maintain_order=True).alias("settings"),
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
        pl.col("variations").list.first().alias("variation"),
        pl.col("settings").list.first().alias("setting"),
        pl.col("repetitions").list.len().alias("n"),
    )
    ids = [
        prompt_variant_id(
            r["task"],
            r["strategy"],
            r["paraphrase_temperature"],
            r["variant_index"],
            r["instruction"],
            setting=None if r["variation"] in WORDED_ALONE else r["setting"],
        )
        for r in variants.iter_rows(named=True)
    ]
    asked = frame.group_by("task", "strategy").agg(pl.col("model").unique(maintain_order=True).alias("model_ids"))
    variants = variants.with_columns(pl.Series("prompt_variant_id", ids, dtype=pl.String))
    variants = variants.join(asked, on=["task", "strategy"], how="left", maintain_order="left")
    return variants, frame["model"].unique(maintain_order=True).to_list()


def samples_of(frame: pl.DataFrame, cards: Mapping[str, TaskCard]) -> pl.DataFrame:
    """Collects one row for each sample with its gold label.

    Raises DataError where the label is outside the label set, where a sample has two labels, or where its rows differ
    in their texts or in the order of their choices.
    """
    gold = pl.col("gold_label").str.strip_chars()
    frame = frame.with_columns(pl.when(gold == "").then(None).otherwise(gold).alias("gold_label"))
    for task_id, card in cards.items():
        labels = list(card.label_names)
        if not labels:  # any answer may be right
            continue
        is_task = pl.col("task") == task_id
        said = frame.filter(is_task)["gold_label"].drop_nulls().unique()
        spelled: dict[str, list[str]] = {}
        for each in labels:
            spelled.setdefault(spelling_of(each), []).append(each)
        others = {gold: spelled.get(spelling_of(gold), []) for gold in said}
        own = {
            gold: card.by_composed.get(composed(gold)) or (others[gold][0] if len(others[gold]) == 1 else gold)
            for gold in said
        }
        frame = frame.with_columns(
            pl.when(is_task).then(pl.col("gold_label").replace(own)).otherwise("gold_label").alias("gold_label")
        )
        rows = frame.filter(is_task)
        bad = rows.filter(pl.col("gold_label").is_not_null() & ~pl.col("gold_label").is_in(labels)).head(1)
        if not bad.is_empty():
            row = bad.row(0, named=True)
            value = row["gold_label"][:80]
            msg = (
                f"{row['file']} row {row['row']}: gold label {value!r} is not one of the labels{nearest(value, labels)}"
            )
            raise DataError(msg)
    _refuse_reordered(frame)
    _refuse_other_texts(frame)
    samples = frame.group_by("task", "sample_id", maintain_order=True).agg(
        pl.col("gold_label").drop_nulls().unique(maintain_order=True).alias("golds"),
        pl.col("input").drop_nulls().first(),
        pl.col("choices").drop_nulls().first(),
        pl.col("references").drop_nulls().first(),
        pl.col("row").first(),
        pl.col("file").first(),
    )
    is_open = pl.col("task").is_in([task_id for task_id, card in cards.items() if card.kind in WITHOUT_LABELS])
    # an open question has many right answers
    several = samples.filter((pl.col("golds").list.len() > 1) & ~is_open).head(1)
    if not several.is_empty():
        row = several.row(0, named=True)
        msg = f"{row['file']} row {row['row']}: sample {row['sample_id']!r} has gold labels {row['golds'][:3]}"
        raise DataError(msg)
    fields = [None if choices is None else as_json({"choices": choices}) for choices in samples["choices"]]
    golds = [
        json.loads(listed) if (listed := _as_list(references)) else list(of_sample)
        for of_sample, references in samples.select("golds", "references").iter_rows()
    ]
    return samples.with_columns(
        pl.Series(
            "reference_answers", [as_json(of_sample) if of_sample else None for of_sample in golds], dtype=pl.String
        ),
        pl.Series("options", [_as_list(choices) for choices in samples["choices"]], dtype=pl.String),
        pl.Series("fields", fields, dtype=pl.String),
        pl.col("golds").list.first().alias("gold_label"),
    ).select(
        pl.col("task").alias("task_id"),
        "sample_id",
        pl.int_range(pl.len(), dtype=pl.Int32).over("task").alias("sample_index"),
        "input",
        pl.when(~is_open).then("gold_label").alias("gold_label"),
        "options",
        pl.when(is_open).then("reference_answers").alias("reference_answers"),
        "fields",
    )


def unread_gold_values(samples: pl.DataFrame, cards: Mapping[str, TaskCard]) -> list[str]:
    """Notes for each task which gold values its fields' rules cannot read, and which are absent beside others."""
    notes = []
    for task_id, card in cards.items():
        if not card.fields:
            continue
        listed = samples.filter(pl.col("task_id") == task_id)["reference_answers"].drop_nulls()
        golds = [first if isinstance(first, str) else as_json(first) for first, *_ in map(json.loads, listed)]
        read = [each for gold in golds for each in read_fields(None, reader_json(card), gold)]
        counts = Counter(each.field for each in read if each.gold_value is None)
        if counts:
            shown = ", ".join(f"{n} of '{name}'" for name, n in counts.items())
            notes.append(
                f"task '{task_id}': gold values that are absent or cannot be read are taken for unknown: {shown}"
            )
    return notes


def _refuse_reordered(frame: pl.DataFrame) -> None:
    unordered = frame.filter(
        pl.col("program").is_null() & pl.col("choices").is_not_null() & pl.col("option_order").is_null()
    )
    first: dict[tuple[str, str], tuple[str, int]] = {}
    wanted = ("task", "sample_id", "choices", "file", "row")
    for task, sample, choices, file, row in (
        unordered.unique(wanted[:3], keep="first", maintain_order=True).select(wanted).rows()
    ):
        known, before = first.setdefault((task, sample), (choices, row))
        one, other = (json.loads(_as_list(each) or "[]") for each in (known, choices))
        if one != other and sorted(one) == sorted(other):
            msg = (
                f"{file} row {row}: choices: those of sample {sample[:60]!r} stand in another order than in row {before}; "
                "give them in one order, and in 'option_order' the place there of each as shown, from 0"
            )
            raise DataError(msg)


def _refuse_other_texts(frame: pl.DataFrame) -> None:
    own = frame.filter(pl.col("program").is_null())
    hint = {"input": "; leave 'input' out where it holds whole prompts"}
    for column in ("input", "choices", "references"):
        given = own.filter(pl.col(column).is_not_null()).unique(
            ("task", "sample_id", column), keep="first", maintain_order=True
        )
        several = given.filter(pl.len().over("task", "sample_id") > 1)
        first: dict[tuple[str, str], tuple[str | list[str], str, int]] = {}
        for task, sample, value, file, row in several.select("task", "sample_id", column, "file", "row").iter_rows():
            text = " ".join(composed(value).split())
            same = (
                text if column == "input" else sorted(json.loads(_as_list(value) or "[]"))
            )  # the order is compared by option_order
            if not text:
                continue
            known, file_before, row_before = first.setdefault((task, sample), (same, file, row))
            if known != same:
                msg = (
                    f"{file} row {row}: {column}: sample {sample[:60]!r} has another one than in {file_before} row {row_before}; "
                    f"give samples that differ ids of their own{hint.get(column, '')}"
                )
                raise DataError(msg)


def _as_list(choices: str | None) -> str | None:
    try:
        value = json.loads(choices or "")
    except (ValueError, RecursionError):
        return None
    return as_json(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else None
