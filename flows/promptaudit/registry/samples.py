"""Loads a task's samples and chooses the ones that are asked. Rows added to a file change few of the choices."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from promptaudit.registry.cards import Data, Samples, TaskCard, composed
from promptaudit.registry.errors import DataError, nearest, raise_all
from promptaudit.registry.extras import is_installed, needs_extra
from promptaudit.registry.tables import escape, read_text_table


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with its gold label or reference answers, if any, and the data's columns ("" for a missing value)."""

    sample_id: str
    text: str
    gold_label: str | None
    fields: Mapping[str, str]
    options: tuple[str, ...] = ()  # multiple_choice
    references: tuple[str, ...] = ()  # open_ended; for extraction one, the JSON object of the gold values
    cluster: str | None = None

    @property
    def has_key(self) -> bool:
        """Checks whether there is a gold label or a reference answer."""
        return self.gold_label is not None or bool(self.references)


@dataclass(frozen=True, slots=True)
class ChosenSamples:
    """The samples that are asked, rows kept out as examples (one a label), and spare rows that may be shown instead."""

    samples: tuple[Sample, ...]
    examples: Mapping[str, str]  # by label; for extraction one, by the JSON object of its gold values
    spare: tuple[Sample, ...] = ()  # in the seeded order in which they are taken


def choose_samples(
    task_id: str,
    task: TaskCard,
    root: Path,
    chosen: Samples,
    *,
    with_examples: bool,
    n_spare: int = 0,
) -> ChosenSamples:
    """Chooses the samples of a task: all, or the `limit` rows of smallest seeded hash, class-balanced if the card asks.

    with_examples: one row a label (for extraction one row in all) is first kept out of the samples, together with other
    rows of the same text, unless the card lists examples. Of the rows that are not asked, up to `n_spare` a label
    become spare.
    """
    rows = load_samples(task_id, task, root)
    examples = dict(task.examples or {})
    if with_examples and task.fields:
        example = _example_of_fields(task_id, rows, chosen.seed)
        rows = [row for row in rows if row.text != example.text]
        examples[example.references[0]] = example.text
    elif with_examples and not examples:
        golds = {row.gold_label for row in rows}
        need = f"task '{task_id}': strategy one_shot needs an example of label"
        without = [label for label in task.label_names if label not in golds]
        raise_all(DataError(f"{need} {label!r}; list `examples` in the card") for label in without)
        for label in task.label_names:
            candidates = [row for row in rows if row.gold_label == label]
            kept = min(candidates, key=lambda row: seeded_rank(chosen.seed, "example", row.sample_id))
            examples[label] = kept.text
        rows = [row for row in rows if row.text not in examples.values()]
    if not rows:
        msg = f"task '{task_id}': no samples are left"
        raise DataError(msg)
    asked = limited(rows, chosen)
    return ChosenSamples(tuple(asked), examples, _spare(task, rows, asked, chosen.seed, n_spare))


def _example_of_fields(task_id: str, rows: Sequence[Sample], seed: int) -> Sample:
    # the row with the most gold values; among several, the one of smallest seeded hash
    def n_filled(row: Sample) -> int:
        return sum(value is not None for value in json.loads(row.references[0]).values())

    most = max(map(n_filled, rows), default=0)
    if not most:
        msg = f"task '{task_id}': strategy one_shot needs an example, and no row has a gold value"
        raise DataError(msg)
    candidates = [row for row in rows if n_filled(row) == most]
    return min(candidates, key=lambda row: seeded_rank(seed, "example", row.sample_id))


def _spare(task: TaskCard, rows: Sequence[Sample], asked: Sequence[Sample], seed: int, n: int) -> tuple[Sample, ...]:
    # of each label the n rows of smallest seeded hash that are not asked
    if not n:
        return ()
    taken = {row.sample_id for row in asked}
    left = sorted(
        (row for row in rows if row.sample_id not in taken),
        key=lambda row: seeded_rank(seed, "spare", row.sample_id),
    )
    return tuple(row for label in task.label_names for row in [each for each in left if each.gold_label == label][:n])


def lacking_data(task_id: str, task: TaskCard, root: Path) -> DataError | None:
    """Explains why the data of a task is not available on this machine; None if it is. A hub is not asked.

    Data that does not ship has a count of rows in its card, or says where it is published. Without either, a missing
    file is an error of the card and gives None here.
    """
    data = task.data
    shown = f"task '{task_id}': {data.path or data.hub}"
    if data.path is not None:
        is_here = (data.rows is None and data.published is None) or (root / data.path).exists()
        where = "" if data.published is None else f"; {data.published}"
        place = f"save it as {data.path} in a folder of cards of yours: ./registry, or --registry DIR"
        return None if is_here else DataError(f"{shown}: no such file; {place}{where}")
    return None if is_installed("datasets") else DataError(needs_extra(f"{shown}:", "datasets"))


def seeded_rank(seed: int, what: str, sample_id: str) -> bytes:
    """Computes a sort key that puts samples in a random order of its own for each seed and purpose.

    The key of a sample does not depend on which other samples there are.
    """
    return hashlib.sha256(f"{seed}:{what}:{sample_id}".encode()).digest()


YES = {"yes", "true", "1"}


def critical_ids(rows: Sequence[Sample], critical: Sequence[str]) -> set[str]:
    """Collects the ids of rows that `critical` names, and of rows with yes, true or 1 in a column that it names."""
    return {
        row.sample_id
        for row in rows
        if row.sample_id in critical or any(row.fields.get(name, "").strip().lower() in YES for name in critical)
    }


def limited(rows: Sequence[Sample], chosen: Samples) -> list[Sample]:
    """Keeps the `limit` rows of smallest seeded hash, class-balanced if the card says so, in the order of `rows`.

    Applied to rows that a larger limit chose before, it keeps the same rows as if applied to all.
    """
    if chosen.limit is None or chosen.limit >= len(rows):
        return list(rows)
    kept = {row.sample_id for row in _ranked(rows, chosen)[: chosen.limit]}
    return [row for row in rows if row.sample_id in kept]


def panels(rows: Sequence[Sample], chosen: Samples) -> list[list[Sample]]:
    """Splits the rows into panels of at most `each_night`, all about as large, in the order of `rows`.

    Without `each_night` all rows are one panel. Each panel is class-balanced if the card says so, as far as the classes
    reach.
    """
    n = chosen.n_panels(len(rows))
    ranked = _ranked(rows, chosen)
    panel = {row.sample_id: place * n // len(ranked) for place, row in enumerate(ranked)}
    return [[row for row in rows if panel[row.sample_id] == number] for number in range(n)]


def _ranked(rows: Sequence[Sample], chosen: Samples) -> list[Sample]:
    # by seeded hash; balanced: the n-th row of every class before the (n + 1)-th of any
    ranked = sorted(rows, key=lambda row: seeded_rank(chosen.seed, "sample", row.sample_id))
    if not chosen.balanced:
        return ranked
    # equal shares as far as the classes reach
    place: dict[str | None, int] = {}
    rounds = []
    for row in ranked:
        place[row.gold_label] = place.get(row.gold_label, -1) + 1
        rounds.append(place[row.gold_label])
    return [row for _, row in sorted(zip(rounds, ranked, strict=True), key=lambda pair: pair[0])]


def load_samples(task_id: str, task: TaskCard, root: Path) -> list[Sample]:
    """Reads every row of a task's data.

    Raises DataError with every missing column, or with the row and what is wrong in it.
    """
    data = task.data
    shown = f"task '{task_id}': {data.path or data.hub}"
    if lacking := lacking_data(task_id, task, root):
        raise lacking
    frame = _from_file(data, root, shown) if data.path is not None else _from_hub(data, shown)
    if frame.is_empty():
        msg = f"{shown}: no rows"
        raise DataError(msg)
    named = (
        data.id,
        data.input,
        data.gold_label,
        data.cluster,
        *(data.options or ()),
        *(data.references or ()),
        *task.gold_columns.values(),
        *data.columns.values(),
    )
    frame = _with_nested(frame, [column for column in named if column is not None])
    missing = [column for column in named if column is not None and column not in frame.columns]
    raise_all(DataError(f"{shown}: no column '{column}'{nearest(column, frame.columns)}") for column in missing)
    raise_all(
        DataError(f"{shown}: data.columns: '{name}' is a column of the data; choose another name")
        for name in data.columns
        if name in frame.columns
    )
    frame = frame.with_columns(pl.col(column).alias(name) for name, column in data.columns.items())
    labels, rename = task.by_composed, {composed(text): label for text, label in (data.gold_labels or {}).items()}
    samples: list[Sample] = []
    seen: dict[str, int] = {}
    golds: list[tuple[int, str | None, str | None, str | None]] = []
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        sample_id = str(number - 1) if data.id is None else row[data.id]
        text, gold = row[data.input], None if data.gold_label is None else (row[data.gold_label] or "").strip()
        if not sample_id:
            msg = f"{shown} row {number}: '{data.id}' is empty"
            raise DataError(msg)
        if sample_id in seen:
            msg = f"{shown} row {number}: id {sample_id!r} stands already in row {seen[sample_id]}"
            raise DataError(msg)
        if text is None:
            msg = f"{shown} row {number}: '{data.input}' is missing"
            raise DataError(msg)
        seen[sample_id] = number
        options = _listed(data.options, row)
        gold = rename.get(composed(gold), gold) if gold else None
        of_texts = _signs(task, options)
        signs = {**of_texts, **labels}
        if gold is not None and composed(gold) not in signs:
            what = "is neither one of the labels nor an option" if options else "is not one of the labels"
            msg = f"{shown} row {number}: gold label {gold[:80]!r} {what}{nearest(gold, (*labels.values(), *options))}"
            raise DataError(msg)
        golds.append((number, gold, labels.get(composed(gold or "")), of_texts.get(composed(gold or ""))))
        gold = None if gold is None else signs[composed(gold)]
        fields = {name: value or "" for name, value in row.items() if value is None or isinstance(value, str)}
        _refuse_odd_options(task, row, options, gold, f"{shown} row {number}")
        references = (_gold_object(task, row),) if task.fields else _listed(data.references, row)
        cluster = None if data.cluster is None else (row[data.cluster] or "").strip() or None
        samples.append(Sample(sample_id, text, gold, fields, options, references, cluster))
    _refuse_unclear(golds, shown)
    return samples


def _refuse_unclear(golds: Sequence[tuple[int, str | None, str | None, str | None]], shown: str) -> None:
    # where some rows have texts, what is the letter of one option and the text of another may be either
    if any(gold and label is None for _, gold, label, _ in golds):
        for number, gold, label, of_text in golds:
            if label and of_text and label != of_text:
                what = (
                    "is the letter of one option and the text of another; write the letter of the right one in each row"
                )
                msg = f"{shown} row {number}: gold label {str(gold)[:80]!r} {what}"
                raise DataError(msg)


def _signs(task: TaskCard, options: Sequence[str]) -> dict[str, str]:
    # by an option's text, its label; a row may name the right option by its text
    return {composed(option.strip()): sign for sign, option in zip(task.label_names, options, strict=False)}


def _gold_object(task: TaskCard, row: Mapping[str, str | None]) -> str:
    # the JSON object that would answer the row; null where a column is empty
    return json.dumps({name: row[column] or None for name, column in task.gold_columns.items()}, ensure_ascii=False)


def _with_nested(frame: pl.DataFrame, named: Sequence[str]) -> pl.DataFrame:
    # adds columns named by a path: `choices.text` is `text` inside of the objects of column `choices`
    for name in dict.fromkeys(named):
        column, _, path = name.partition(".")
        if name not in frame.columns and path and column in frame.columns:
            values = [_inside(text, path) for text in frame[column].to_list()]
            if any(value is not None for value in values):
                frame = frame.with_columns(pl.Series(name, values, dtype=pl.String))
    return frame


def _inside(text: str | None, path: str) -> str | None:
    # a text stays as it is, anything else becomes JSON; a list gives the value of each item
    try:
        value = json.loads(text or "null", parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    for name in path.split("."):
        value = [_field(item, name) for item in value] if isinstance(value, list) else _field(value, name)
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _listed(columns: Sequence[str] | None, row: Mapping[str, str | None]) -> tuple[str, ...]:
    # without blanks; a single column may hold a JSON list of texts ([0, 1] is one answer, as it stands)
    texts = [row[column] for column in columns or ()]
    given = [text for text in texts if text is not None and text.strip()]
    if len(texts) > 1 or not given or not given[0].lstrip().startswith("["):
        return tuple(given)
    try:
        parsed = json.loads(given[0])
    except (ValueError, RecursionError):
        return tuple(given)  # a text that begins with a bracket
    is_list = isinstance(parsed, list) and all(isinstance(item, str) for item in parsed)
    return tuple(parsed) if is_list else tuple(given)


def _refuse_odd_options(
    task: TaskCard, row: Mapping[str, str | None], options: Sequence[str], gold: str | None, shown: str
) -> None:
    if task.kind != "multiple_choice":
        return
    columns = task.data.options or ()
    filled = [bool((row[column] or "").strip()) for column in columns]
    if len(columns) > 1 and filled != sorted(filled, reverse=True):
        msg = f"{shown}: '{columns[filled.index(False)]}' is empty before an option that is not; labels would shift"
        raise DataError(msg)
    if len({option.strip() for option in options}) < len(options) or not all(option.strip() for option in options):
        msg = f"{shown}: options must differ, and none be blank: {list(options)!r:.120}"
        raise DataError(msg)
    labels = task.label_names
    if not 2 <= len(options) <= len(labels):  # noqa: PLR2004 - one option is no choice
        msg = f"{shown}: {len(options)} options, from 2 to {len(labels)} are wanted, one a label"
        raise DataError(msg)
    if gold is not None and labels.index(gold) >= len(options):
        msg = f"{shown}: gold label {gold!r}, but there are {len(options)} options"
        raise DataError(msg)


def _from_file(data: Data, root: Path, shown: str) -> pl.DataFrame:
    path = (root / str(data.path)).resolve()
    if not path.is_relative_to(root.resolve()):
        msg = f"{shown}: leaves the registry {root}"
        raise DataError(msg)
    return read_text_table(path, shown)


def _from_hub(data: Data, shown: str) -> pl.DataFrame:
    import datasets

    try:
        table = datasets.load_dataset(str(data.hub), data.config, split=data.split, revision=data.revision)
    except Exception as error:  # noqa: BLE001 - the hub's own errors are many and unrelated
        msg = f"{shown}: cannot be loaded: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
        raise DataError(msg) from None
    columns = {
        name: pl.Series(name, [None if v is None else escape(_text(v))[0] for v in table[name]], dtype=pl.String)
        for name in table.column_names
    }
    return pl.DataFrame(columns)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
