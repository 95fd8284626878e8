"""How far judges change their verdicts with the wording of their rubrics, for a terminal: a line a task and judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptaudit.flows.display.figures import NAME, count, cut, number, ranged
from promptaudit.flows.warehouse import Row


def lines_of_rubrics(rows: Sequence[Row]) -> Iterator[str]:
    """Gives a line for each row of marts.rpt_judge_wordings; the task stands in it where there are several."""
    several = len({row["task_id"] for row in rows}) > 1
    for row in rows:
        on = f" on task {cut(row['task_id'], NAME)}" if several else ""
        does = (
            "changes its verdict with the wording" if row["sensitivity"] else "keeps its verdicts under other wordings"
        )
        yield (
            f"{cut(row['scoring_method'], NAME)}{on} {does} of its rubric: sensitivity {_sensitivity(row)}, κ {_kappa(row)} over "
            f"{row['n_wordings']} wordings, calls {_rates(row)} of the same {count(row['n_answers'])} answers right"
        )


def _sensitivity(row: Row) -> str:
    return ranged(row["sensitivity"], row["sensitivity_low"], row["sensitivity_high"])


def _kappa(row: Row) -> str:
    return "of one verdict alone" if row["fleiss_kappa"] is None else number(row["fleiss_kappa"])


def _rates(row: Row) -> str:
    least, most = number(row["match_rate_min"]), number(row["match_rate_max"])
    return least if least == most else f"{least} to {most}"
