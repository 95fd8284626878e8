"""Numbers the wordings of a file in our own columns that names them, or has only their instructions."""

from __future__ import annotations

import polars as pl

from promptaudit.registry.errors import DataError

_GROUP = ("task", "strategy")
_SHOWN = 5


def numbered(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Numbers `variant_index` where it held names or nothing separated the instructions, and writes notes.

    Names are numbered within task and strategy in the order of their rows, and are the instruction where the file has
    none. Numbers beside names stay. Instructions are numbered where half of the samples or more are asked under
    several. Raises DataError where fewer are, as where each instruction holds its sample.
    """
    group = [column for column in _GROUP if column in frame.columns]
    if "variant_index" in frame.columns:
        name = pl.col("variant_index").str.strip_chars()
        is_name = name.str.contains(r"\p{L}") & name.cast(pl.Float64, strict=False).is_null()
        if not frame.select(is_name.any()).item():
            return frame, []
        frame = frame.with_columns(name.alias("variant_index"))
        if "instruction" not in frame.columns:
            frame = frame.with_columns(pl.when(is_name).then(name).alias("instruction"))
        return _by(frame, group, "variant_index", "names its wordings")
    if "instruction" not in frame.columns or "paraphrase_temperature" in frame.columns:
        return frame, []
    asked = frame.group_by(*group, "sample_id").agg(pl.col("instruction").n_unique().alias("n"))
    texts = (
        frame.group_by(*group).agg(pl.col("instruction").n_unique().alias("n"))
        if group
        else frame.select(pl.col("instruction").n_unique().alias("n"))
    )
    n = int(texts["n"].max())  # type: ignore[arg-type]
    if n <= 1:
        return frame, []
    if 2 * (asked["n"] > 1).sum() < asked.height:
        msg = f"{frame['file'][0]}: {n} instructions but no column 'variant_index' to tell them apart"
        raise DataError(msg)
    return _by(frame, group, "instruction", "has no column 'variant_index'")


def _by(frame: pl.DataFrame, group: list[str], column: str, why: str) -> tuple[pl.DataFrame, list[str]]:
    # numbers stay, and names follow them, the original's first
    frame = frame.with_columns(pl.col(column).fill_null("").alias("_name"))
    source = "is_original" if "is_original" in frame.columns else column  # no number, name or instruction is true
    is_first = pl.col(source).str.to_lowercase() == "true"
    numbers = frame.group_by(*group, "_name", maintain_order=True).agg(is_first.any().alias("_first"))
    blank = pl.when(pl.col("_name") == "").then(0.0)
    known = pl.coalesce(pl.col("_name").cast(pl.Float64, strict=False), blank)
    numbers = numbers.with_columns(pl.when(column == "variant_index").then(known).alias("_known"))
    numbers = numbers.with_row_index("_place").sort("_first", "_place", descending=[True, False])
    is_named = pl.col("_known").is_null().cast(pl.Int64)
    after = (pl.col("_known").max() + 1).fill_null(0)
    place, begin = (is_named.cum_sum().over(group), after.over(group)) if group else (is_named.cum_sum(), after)
    numbers = numbers.with_columns(
        pl.coalesce("_known", begin + place - 1).cast(pl.Int64).cast(pl.String).alias("_number")
    )
    numbers = numbers.sort("_place")
    first = numbers.filter(pl.col("_known").is_null()).head(_SHOWN).select("_name", "_number").iter_rows()
    shown = ", ".join(f"{number} is {name[:40]!r}" for name, number in first)
    more = f" and {numbers.height - _SHOWN} more" if numbers.height > _SHOWN else ""
    note = f"{frame['file'][0]} {why}, which are numbered as they come: {shown}{more}"
    joined = frame.join(
        numbers.select(*group, "_name", "_number"), on=[*group, "_name"], how="left", maintain_order="left"
    )
    return joined.with_columns(pl.col("_number").alias("variant_index")).drop("_name", "_number"), [note]
