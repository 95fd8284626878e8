"""What of each sample was shown otherwise than in the data, as JSON has it: each text once, the cells as columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptaudit.report.answers_grid.content import Codes
from promptaudit.report.answers_grid.prompts import visible
from promptaudit.report.gather_answers import GridAnswers
from promptaudit.report.gather_shown import ShownCell

Sample = tuple[str, str]  # task and sample


class ShownContent:
    """Builds that content for the samples and variants that a grid holds, which are known by their numbers there."""

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
        """Returns how many cells there are."""
        return len(self._cells)

    def of(self, n: int) -> dict[str, Any]:
        """Returns the content of the first n cells; `is_whole` where these are all that are known."""
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
        """Returns a text with noise; None where it is as in the data."""
        return None if cell.text == self._inputs[cell.task_id, cell.sample_id] else cell.text
