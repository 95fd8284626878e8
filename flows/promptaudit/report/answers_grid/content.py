"""Builds the content of a grid as JSON.

Each thing stands in it once, and the columns of answers refer to it by number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptaudit.report.answers_grid.prompts import filled_with, messages_of, options_of, visible
from promptaudit.report.gather_answers import GridAnswers, ShownCell, changes_each_sample
from promptaudit.system.display.figures import NAME, cut
from promptaudit.system.display.policy import Texts
from promptaudit.system.display.variant_names import kind_of
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import row_id

if TYPE_CHECKING:
    import polars as pl

STATUSES = ("valid", "empty", "truncated", "refused", "unparsed", "error")
RULINGS = ("right", "wrong", "partly right")
MART = "fct_predictions"
MOST_REFERENCES = 5
Key = tuple[str, str, str]  # model, task, strategy


class Codes:
    """Numbers things from 0 in the order in which they come. None has the number -1."""

    def __init__(self, known: Sequence[Any] = ()) -> None:
        self._codes: dict[Any, int] = {thing: code for code, thing in enumerate(known)}

    def of(self, thing: Any) -> int:
        """Looks up the number of a thing, and gives it the next one if it has none yet."""
        return -1 if thing is None else self._codes.setdefault(thing, len(self._codes))

    @property
    def things(self) -> list[Any]:
        """Lists the things in the order of their numbers."""
        return list(self._codes)

    @property
    def numbers(self) -> Mapping[Any, int]:
        """Maps each thing to its number."""
        return self._codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The content of a grid, and the numbers of its variants and of its samples (by task and sample id) in it."""

    content: dict[str, Any]
    samples: Mapping[tuple[str, str], int]
    variants: Mapping[str, int]


@dataclass(slots=True)
class _Things:
    labels: dict[str, Codes]  # of each task
    tasks: Codes = field(default_factory=Codes)
    samples: Codes = field(default_factory=Codes)
    variants: Codes = field(default_factory=Codes)
    completions: Codes = field(default_factory=Codes)
    statuses: Codes = field(default_factory=lambda: Codes(STATUSES))
    reasons: Codes = field(default_factory=Codes)
    rulings: Codes = field(default_factory=lambda: Codes(RULINGS))


class GridContent:
    """Builds the content of a run's grids. `references` are models that answer by chance or err on purpose."""

    def __init__(
        self,
        grid: GridAnswers,
        *,
        audit_run_id: str,
        tasks: Sequence[Row],
        scorecard: Sequence[Row],
        texts: Texts,
        references: Collection[str],
    ) -> None:
        self._grid, self._run, self._texts, self._references = grid, audit_run_id, texts, references
        self._tasks = {row["task_id"]: row for row in tasks}
        self._n_samples = {_key(row): row["n_samples"] for row in scorecard}
        self._variants = {row["prompt_variant_id"]: row for row in grid.variants}
        self._places = {name: place for place, name in enumerate(self._variants)}
        self._inputs = {(row["task_id"], row["sample_id"]): row for row in grid.inputs}
        self._digits: dict[str, str] = {}  # to hash ids takes longer than all else, and budgets are tried one by one

    @property
    def long(self) -> int:
        """The most characters that a text may have."""
        return self._texts.long

    def of(self, n_samples: int, answers: pl.DataFrame) -> Drawn:
        """Builds the content of the first `n_samples` samples from their answers."""
        import polars as pl

        keys = Codes()
        groups_of = pl.Series([keys.of(_key(row)) for row in self._grid.samples[:n_samples]], dtype=pl.Int64)
        parts = [
            (keys.things[part["group"][0]], part)
            for part in answers.with_columns(group=groups_of.gather(answers["rank"])).partition_by(
                "group", maintain_order=True
            )
        ]
        # the grid with the worst sample comes first, and grids of reference models come last
        parts.sort(key=lambda each: (each[0][0] in self._references, each[1]["rank"][0]))
        things = _Things({task_id: Codes(task["labels"] or ()) for task_id, task in self._tasks.items()})
        groups = [self._group(key, part, things) for key, part in parts]
        content = {
            "tasks": [self._task(task_id, things.labels[task_id].things) for task_id in things.tasks.things],
            "samples": [self._sample(*key) for key in things.samples.things],
            "variants": [self._variant(self._variants[name]) for name in things.variants.things],
            "completions": [visible(text, len(text)) + "…" * is_cut for text, is_cut in things.completions.things],
            "statuses": things.statuses.things,
            "reasons": things.reasons.things,
            "rulings": things.rulings.things,
            "groups": groups,
        }
        return Drawn(content=content, samples=things.samples.numbers, variants=things.variants.numbers)

    def _group(self, key: Key, part: pl.DataFrame, things: _Things) -> dict[str, Any]:
        model_id, task_id, strategy = key
        rows: dict[int, int] = {}  # rank, number of answers
        for rank in part["rank"]:
            rows[rank] = rows.get(rank, 0) + 1
        samples = [self._grid.samples[rank] for rank in rows]
        asked = sorted(set(part["prompt_variant_id"]), key=lambda name: self._places.get(name, len(self._places)))
        columns = Codes(asked)
        labels, costs = things.labels.setdefault(task_id, Codes()), Codes()
        has_texts = self._texts.of(task_id) != "none"
        said = zip(part["completion"], part["n_characters"], strict=True)
        return {
            "model": cut(model_id, NAME),
            "task": things.tasks.of(task_id),
            "strategy": cut(strategy, NAME),
            "of": self._n_samples.get(key, len(rows)),
            "measured": all(row["is_measured"] for row in samples),
            "rows": [things.samples.of((task_id, row["sample_id"])) for row in samples],
            "worth": [round(row["disagreement"], 3) for row in samples],
            "n": list(rows.values()),
            "wordings": [things.variants.of(name) for name in asked],
            "breaking": sorted({columns.of(name) for name in part.filter("is_breaking")["prompt_variant_id"]}),
            "wording": [columns.of(name) for name in part["prompt_variant_id"]],
            "repetition": part["repetition"].to_list(),
            "label": [labels.of(label) for label in part["label"]],
            "status": [things.statuses.of(status) for status in part["answer_status"]],
            "unread": [things.reasons.of(reason) for reason in part["unread_because"]],
            "ruling": [things.rulings.of(ruling) for ruling in part["ruling"]],
            "completion": [
                things.completions.of((text, n > len(text)) if has_texts and text is not None else None)
                for text, n in said
            ],
            "prompt_tokens": part["prompt_tokens"].to_list(),
            "completion_tokens": part["completion_tokens"].to_list(),
            "cost": [costs.of(cost) for cost in part["cost_usd"]],
            "costs": costs.things,
            "trace": "".join(map(self._row, part["prediction_id"])),
        }

    def _row(self, prediction_id: str) -> str:
        # the digits of the figure's name that `trace` takes
        if prediction_id not in self._digits:
            name = row_id(MART, {"audit_run_id": self._run, "prediction_id": prediction_id})
            self._digits[prediction_id] = name.rpartition(".")[2]
        return self._digits[prediction_id]

    def _task(self, task_id: str, labels: Sequence[str]) -> Mapping[str, Any]:
        return {
            "name": cut(task_id, NAME),
            "labels": [cut(label, NAME) for label in labels],
            "signs": signs_of(labels),
            "has_texts": self._texts.of(task_id) != "none",
        }

    def _sample(self, task_id: str, sample_id: str) -> Mapping[str, Any]:
        row = self._inputs.get((task_id, sample_id))
        if row is None:
            return {"name": cut(sample_id, NAME)}
        sample: dict[str, Any] = {"name": cut(sample_id, NAME), "gold": _name(row["gold_label"])}
        if self._texts.of(task_id) != "none":
            long = self._texts.long
            sample["values"] = filled_with(row, long)
            sample["options"] = [visible(option, long) for option in row["options"] or ()]
            sample["references"] = [visible(each, long) for each in (row["reference_answers"] or ())[:MOST_REFERENCES]]
        return sample

    def _variant(self, row: Row) -> Mapping[str, Any]:
        variant = {name: row[name] for name in ("variant_index", "paraphrase_temperature", "is_original")}
        variant["kind"] = kind_of(row)
        variant["is_changed_by_sample"] = changes_each_sample(row)
        if self._texts.of(row["task_id"]) != "none":
            long = self._texts.long
            variant["messages"] = messages_of(row, long)
            variant["template"] = options_of(row, long)
            variant["instruction"] = None if row["instruction"] is None else visible(row["instruction"], long)
        return variant


def _key(row: Row) -> Key:
    return row["model_id"], row["task_id"], row["strategy"]


def _name(text: str | None) -> str | None:
    return None if text is None else cut(text, NAME)


MOST_SIGN = 3  # characters
N_LETTERS = 26


def signs_of(labels: Sequence[str]) -> list[str]:
    """Gives each label a sign of at most three characters, no two alike.

    Short labels are their own signs. Others have their initials, or their first two letters where initials coincide, or
    else A, B, C by their places.
    """
    ways: tuple[Callable[[str], str], ...] = (
        lambda label: label if label.isprintable() and label.strip() == label else "",
        lambda label: _letters(label)[:1].upper(),
        lambda label: _letters(label)[:2].capitalize(),
    )
    for way in ways:
        signs = [way(label) for label in labels]
        if all(0 < len(sign) <= MOST_SIGN for sign in signs) and len(set(signs)) == len(signs):
            return signs
    return [_by_place(place) for place in range(len(labels))]


def _letters(label: str) -> str:
    return "".join(char for char in label if char.isascii() and char.isalnum())


def _by_place(place: int) -> str:
    # A to Z, then AA, AB, as columns of a sheet are named
    sign = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, N_LETTERS)
        sign = chr(ord("A") + letter) + sign
    return sign


Sample = tuple[str, str]  # task and sample


class ShownContent:
    """Builds the content on how samples were shown, for the samples and variants of a grid, by their numbers in it."""

    def __init__(
        self, grid: GridAnswers, *, samples: Mapping[Sample, int], variants: Mapping[str, int], long: int
    ) -> None:
        self._samples, self._variants, self._long = samples, variants, long
        self._inputs = {(row["task_id"], row["sample_id"]): row["input"] for row in grid.inputs}
        self._is_whole = grid.shown.is_whole
        self._cells = [
            cell
            for cell in grid.shown.cells
            if (cell.task_id, cell.sample_id) in samples and cell.prompt_variant_id in variants
        ]

    def __len__(self) -> int:
        """Counts the cells."""
        return len(self._cells)

    def of(self, n: int) -> dict[str, Any]:
        """Builds the content of the first n cells. `is_whole` is true if these are all the cells that are known."""
        cells, texts, orders, labels = self._cells[:n], Codes(), Codes(), Codes()
        return {
            "sample": [self._samples[cell.task_id, cell.sample_id] for cell in cells],
            "variant": [self._variants[cell.prompt_variant_id] for cell in cells],
            "text": [texts.of(self._text(cell)) for cell in cells],
            "order": [orders.of(cell.option_order or None) for cell in cells],
            "labels": [labels.of(cell.labels) for cell in cells],
            "texts": [visible(text, self._long) for text in texts.things],
            "orders": orders.things,
            "blocks": [visible(text, self._long) for text in labels.things],
            "is_whole": self._is_whole and n >= len(self._cells),
        }

    def _text(self, cell: ShownCell) -> str | None:
        # None: as it is in the data
        return None if cell.text == self._inputs[cell.task_id, cell.sample_id] else cell.text
