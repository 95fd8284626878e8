"""Numbers the wordings of a file in our own columns that tells them apart by names, or by their instructions alone."""

from __future__ import annotations

import polars as pl

from promptaudit.models_registry.errors import DataError

_GROUP = ("task", "strategy")
_SHOWN = 5


def numbered(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Returns the rows with a number in `variant_index` where it held names or nothing told instructions apart, and notes.

    Names are numbered within task and strategy in the order in which they come, and are the instruction where the file has
    none. Instructions are numbered where each is asked of several samples. Raises DataError where they are not, as where each
    holds its sample.
    """
    group = [column for column in _GROUP if column in frame.columns]
    if "variant_index" in frame.columns:
        name = pl.col("variant_index").str.strip_chars()
        named = frame.filter(name.str.contains(r"\p{L}") & ~name.str.to_lowercase().is_in(["nan", "inf", "infinity"]))
        if named.is_empty():
            return frame, []
        frame = frame.with_columns(name.alias("variant_index"))
        if "instruction" not in frame.columns:
            frame = frame.with_columns(pl.col("variant_index").alias("instruction"))
        return _by(frame, group, "variant_index", "names its wordings")
    if "instruction" not in frame.columns or "paraphrase_temperature" in frame.columns:
        return frame, []
    asked = frame.group_by(*group, "instruction").agg(pl.col("sample_id").n_unique().alias("n"))
    several = asked.group_by(group).len().filter(pl.col("len") > 1) if group else asked.select(pl.len().alias("len"))
    if several.filter(pl.col("len") > 1).is_empty():
        return frame, []
    if asked["n"].max() == 1 and frame["sample_id"].n_unique() > 1:
        n = int(several["len"].max())  # type: ignore[arg-type]
        msg = f"{frame['file'][0]}: {n} instructions but no column 'variant_index' to tell them apart"
        raise DataError(msg)
    return _by(frame, group, "instruction", "has no column 'variant_index'")


def _by(frame: pl.DataFrame, group: list[str], column: str, why: str) -> tuple[pl.DataFrame, list[str]]:
    frame = frame.with_columns(pl.col(column).fill_null("").alias("_name"))
    numbers = frame.select(*group, "_name").unique(maintain_order=True)
    places = pl.int_range(pl.len())
    numbers = numbers.with_columns((places.over(group) if group else places).cast(pl.String).alias("_number"))
    first = numbers.head(_SHOWN).select("_name", "_number").iter_rows()
    shown = ", ".join(f"{number} is {name[:40]!r}" for name, number in first)
    more = f" and {numbers.height - _SHOWN} more" if numbers.height > _SHOWN else ""
    note = f"{frame['file'][0]} {why}, which are numbered as they come: {shown}{more}"
    told = frame.join(numbers, on=[*group, "_name"], how="left", nulls_equal=True, maintain_order="left")
    return told.with_columns(pl.col("_number").alias("variant_index")).drop("_name", "_number"), [note]
