"""Builds the content of a grid as JSON.

Each thing stands in it once, and the columns of answers refer to it by number.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.template_cards import Template
from promptaudit.report.blocks.blocks import Group, group_of
from promptaudit.report.gather_answers import GridAnswers, changes_each_sample
from promptaudit.system.display.figures import NAME, cut, shown
from promptaudit.system.display.variant_names import kind_of
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import row_id

if TYPE_CHECKING:
    import polars as pl

    from promptaudit.report.data import ReportData

STATUSES = ("valid", "empty", "truncated", "refused", "unparsed", "error")
RULINGS = ("right", "wrong", "partly right")
MART = "fct_predictions"
MOST_REFERENCES = 5


class Codes(dict[Any, int]):
    """Numbers things from 0 in the order in which they come. None has the number -1."""

    def __init__(self, known: Iterable[Any] = ()) -> None:
        super().__init__((thing, code) for code, thing in enumerate(known))

    def of(self, thing: Any) -> int:
        """Looks up the number of a thing, and gives it the next one if it has none yet."""
        return -1 if thing is None else self.setdefault(thing, len(self))


class Drawn(NamedTuple):
    """The content of a grid, and the numbers of its variants and of its samples (by task and sample id) in it."""

    content: dict[str, Any]
    samples: Mapping[tuple[str, str], int]
    variants: Mapping[str, int]


class GridContent:
    """Builds the content of a run's grids."""

    def __init__(self, data: ReportData) -> None:
        self._grid, self._run, self._texts = data.answers, data.run["audit_run_id"], data.texts
        self._references = data.reference_models
        self._tasks = {row["task_id"]: row for row in data.tasks}
        self._n_samples = {group_of(row): row["n_samples"] for row in data.scorecard}
        self._variants = {row["prompt_variant_id"]: row for row in self._grid.variants}
        self._places = {name: place for place, name in enumerate(self._variants)}
        self._inputs = {(row["task_id"], row["sample_id"]): row for row in self._grid.inputs}
        self._digits: dict[str, str] = {}  # to hash ids takes longer than all else, and budgets are tried one by one

    def of(self, n_samples: int, answers: pl.DataFrame) -> Drawn:
        """Builds the content of the first `n_samples` samples from their answers."""
        import polars as pl

        keys = Codes()
        groups_of = pl.Series([keys.of(group_of(row)) for row in self._grid.samples[:n_samples]], dtype=pl.Int64)
        grouped = answers.with_columns(group=groups_of.gather(answers["rank"]))
        known = list(keys)
        parts = [(known[part["group"][0]], part) for part in grouped.partition_by("group", maintain_order=True)]
        # the grid with the worst sample comes first, and grids of reference models come last
        parts.sort(key=lambda each: (each[0][0] in self._references, each[1]["rank"][0]))
        labels = {task_id: Codes(task["labels"] or ()) for task_id, task in self._tasks.items()}
        things = {name: Codes() for name in ("tasks", "samples", "variants", "completions", "reasons")}
        things |= {"statuses": Codes(STATUSES), "rulings": Codes(RULINGS)}
        groups = [self._group(key, part, things, labels.setdefault(key[1], Codes())) for key, part in parts]
        content = {
            "tasks": [self._task(task_id, list(labels[task_id])) for task_id in things["tasks"]],
            "samples": [self._sample(*key) for key in things["samples"]],
            "variants": [self._variant(self._variants[name]) for name in things["variants"]],
            "completions": [visible(text, len(text)) + "…" * is_cut for text, is_cut in things["completions"]],
            **{name: list(things[name]) for name in ("statuses", "reasons", "rulings")},
            "groups": groups,
        }
        return Drawn(content, things["samples"], things["variants"])

    def _group(self, key: Group, part: pl.DataFrame, things: Mapping[str, Codes], labels: Codes) -> dict[str, Any]:
        model_id, task_id, strategy = key
        rows = Counter(part["rank"])  # rank, number of answers
        samples = [self._grid.samples[rank] for rank in rows]
        asked = sorted(set(part["prompt_variant_id"]), key=lambda name: self._places.get(name, len(self._places)))
        columns, costs = Codes(asked), Codes()
        has_texts = self._texts.of(task_id) != "none"
        said = zip(part["completion"], part["n_characters"], strict=True)
        return {
            "model": cut(model_id, NAME),
            "task": things["tasks"].of(task_id),
            "strategy": cut(strategy, NAME),
            "of": self._n_samples.get(key, len(rows)),
            "measured": all(row["is_measured"] for row in samples),
            "rows": [things["samples"].of((task_id, row["sample_id"])) for row in samples],
            "worth": [round(row["disagreement"], 3) for row in samples],
            "n": list(rows.values()),
            "wordings": [things["variants"].of(name) for name in asked],
            "breaking": sorted({columns.of(name) for name in part.filter("is_breaking")["prompt_variant_id"]}),
            "wording": [columns.of(name) for name in part["prompt_variant_id"]],
            "repetition": part["repetition"].to_list(),
            "label": [labels.of(label) for label in part["label"]],
            "status": [things["statuses"].of(status) for status in part["answer_status"]],
            "unread": [things["reasons"].of(reason) for reason in part["unread_because"]],
            "ruling": [things["rulings"].of(ruling) for ruling in part["ruling"]],
            "completion": [
                things["completions"].of((text, n > len(text)) if has_texts and text is not None else None)
                for text, n in said
            ],
            "prompt_tokens": part["prompt_tokens"].to_list(),
            "completion_tokens": part["completion_tokens"].to_list(),
            "cost": [costs.of(cost) for cost in part["cost_usd"]],
            "costs": list(costs),
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
        gold = row["gold_label"]
        sample: dict[str, Any] = {"name": cut(sample_id, NAME), "gold": None if gold is None else cut(gold, NAME)}
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


def shown_content(grid: GridAnswers, drawn: Drawn, long: int, most: int | None = None) -> dict[str, Any]:
    """Builds the content on how samples were shown, for the samples and variants of a grid, by their numbers in it.

    At most the first `most` cells are in it. `is_whole` is true if these are all the cells that are known.
    """
    inputs = {(row["task_id"], row["sample_id"]): row["input"] for row in grid.inputs}
    known = [
        (drawn.samples[cell["task_id"], cell["sample_id"]], drawn.variants[cell["prompt_variant_id"]], cell)
        for cell in grid.shown
        if (cell["task_id"], cell["sample_id"]) in drawn.samples and cell["prompt_variant_id"] in drawn.variants
    ]
    cells, texts, orders, labels = known[:most], Codes(), Codes(), Codes()
    # None: as it is in the data
    own = [None if cell["text"] == inputs[cell["task_id"], cell["sample_id"]] else cell["text"] for *_, cell in cells]
    return {
        "sample": [sample for sample, _, _ in cells],
        "variant": [variant for _, variant, _ in cells],
        "text": list(map(texts.of, own)),
        "order": [orders.of(cell["option_order"] or None) for *_, cell in cells],
        "labels": [labels.of(cell["labels"]) for *_, cell in cells],
        "texts": [visible(text, long) for text in texts],
        "orders": list(orders),
        "blocks": [visible(text, long) for text in labels],
        "is_whole": grid.is_shown_whole and len(cells) == len(known),
    }


# the prompts of a grid: messages of each variant with open placeholders, and what each sample fills in

_OPEN = re.compile(r"(\{[A-Za-z_][A-Za-z0-9_]*\})")
MOST_MESSAGES = 50


def visible(text: str, limit: int) -> str:
    """Cuts a text to `limit` characters and escapes what is invisible in it, except line breaks."""
    lines = text[:limit].replace("\r\n", "\n").split("\n")
    return "\n".join(map(shown, lines)) + ("…" if len(text) > limit else "")


def messages_of(variant: Row, limit: int) -> list[list[str]]:
    """Lists role and content of each message of a variant, cut between placeholders.

    Without a recorded prompt it is empty.
    """
    messages = [each for each in _parsed(variant["prompt"]) if isinstance(each, dict)]
    return [
        [visible(str(each.get("role")), 40), "".join(_pieces(str(each.get("content")), limit))]
        for each in messages[:MOST_MESSAGES]
    ]


def _pieces(content: str, limit: int) -> Sequence[str]:
    return [piece if _OPEN.fullmatch(piece) else visible(piece, limit) for piece in _OPEN.split(content)]


def options_of(variant: Row, limit: int) -> dict[str, Any] | None:
    """Describes how a template writes the options of a question, with its columns.

    None for a prompt without a template.
    """
    try:
        template = Template.model_validate_json(variant["template"] or "")
    except ValueError:  # a copy may be another person's
        return None
    written = {"option": visible(template.option, limit), "between": visible(template.between, limit)}
    return {"signs": template.signs, "columns": placeholders(template.text), **written}


def filled_with(sample: Row, limit: int) -> Mapping[str, str]:
    """Maps the names of a prompt's placeholders to what a sample fills in."""
    fields = _parsed(sample["fields"])
    texts = {**fields} if isinstance(fields, dict) else {}
    if sample["input"] is not None:
        texts |= {"input": sample["input"], "question": sample["input"]}
    return {name: visible(str(text), limit) for name, text in texts.items() if text is not None}


def _parsed(text: str | None) -> Any:
    # a copy may be another person's, so what is not JSON reads as empty
    try:
        return json.loads(text or "[]") or []
    except ValueError:
        return []
