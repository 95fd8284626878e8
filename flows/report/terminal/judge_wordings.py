"""How far judges change their verdicts with the wording of their rubrics, for a terminal: a line a task and judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flows.display.figures import ABSENT, NAME, count, cut, interval, number
from flows.warehouse import Row
from models_registry.mart_columns import mart_columns

LOW, HIGH = "sensitivity_corrected_low", "sensitivity_corrected_high"


def lines_of_rubrics(rows: Sequence[Row]) -> Iterator[str]:
    """Gives a line for each row of marts.rpt_judge_wordings; the task stands in it where there are several."""
    several = len({row["task_id"] for row in rows}) > 1
    columns = mart_columns("rpt_judge_wordings")
    for row in rows:
        on = f" on task {cut(row['task_id'], NAME)}" if several else ""
        low, high = (columns[end].clipped(row[end]) for end in (LOW, HIGH))
        around = interval(low, high)
        is_steady = row["sensitivity"] == 0
        yield (
            f"{cut(row['scoring_method'], NAME)}{on} {'keeps its verdicts under' if is_steady else 'changes its verdict with'} "
            f"{'other wordings' if is_steady else 'the wording'} of its rubric: sensitivity "
            f"{' '.join(filter(None, (number(row['sensitivity']), around)))}, κ {_kappa(row)} over {row['n_wordings']} wordings, "
            f"rules right {_rates(row)} of the same {count(row['n_answers'])} answers"
        )


def _kappa(row: Row) -> str:
    return "one verdict alone" if row["fleiss_kappa"] is None else number(row["fleiss_kappa"])


def _rates(row: Row) -> str:
    least, most = number(row["match_rate_min"]), number(row["match_rate_max"])
    return ABSENT if row["match_rate_min"] is None else least if least == most else f"{least} to {most}"
