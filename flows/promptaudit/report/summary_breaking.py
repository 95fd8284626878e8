"""Says which wordings break, how much of their answers is lost, and the figures without them, per group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptaudit.report.blocks.blocks import group_of
from promptaudit.system.display.figures import cut, number, percent
from promptaudit.system.display.variant_names import numbered
from promptaudit.warehouse import Row

MOST_GROUPS = 3  # groups
MOST_NAMED = 6  # wordings
NAME = 60


def breaking_in_words(scorecard: Sequence[Row], broken: Sequence[Row]) -> tuple[str, ...]:
    """Writes a sentence for each group with a wording that breaks, the groups that lose most wordings first.

    Args:
        scorecard: rows of marts.rpt_audit.
        broken: rows of the query `breaking_wordings`.
    """
    groups = {group_of(row): row for row in scorecard}
    own = [row for row in broken if group_of(row) in groups]
    own.sort(key=lambda row: (-row["n"] / groups[group_of(row)]["n_variants"], group_of(row)))
    lines = [_sentence(groups[group_of(row)], row) for row in own[:MOST_GROUPS]]
    if len(own) > MOST_GROUPS:
        lines.append(
            f"wordings break in {len(own) - MOST_GROUPS} more groups: is_breaking of marts.rpt_prompt_variants"
        )
    return tuple(lines)


def _sentence(group: Row, broken: Row) -> str:
    name = ", ".join(cut(each, NAME) for each in group_of(group))
    verb = "breaks" if broken["n"] == 1 else "break"
    named = ", ".join(numbered(variant) for variant in broken["variants"][:MOST_NAMED])
    more = ", …" if broken["n"] > MOST_NAMED else ""
    what = "; ".join(_how(group, broken))
    without = "; ".join(_without(group))
    figures = f"; without {'it' if broken['n'] == 1 else 'them'} {without}" if without else ""
    return f"{name}: {broken['n']} of {group['n_variants']} wordings {verb} ({named}{more}): {what}{figures}"


def _how(group: Row, broken: Row) -> Iterator[str]:
    # first the wordings that break their format, then the others that break
    n, n_of_format = broken["n"], broken["n_of_format"]
    whose = "its" if n == 1 else "their" if n_of_format in (0, n) else f"the answers of {n_of_format}"
    if n_of_format:
        lost = _ranged(broken["invalid_rate_least"], broken["invalid_rate_most"])
        of = whose if n_of_format < n else f"{whose} answers"
        yield f"{lost} of {of} {'cannot be read' if group['sensitivity'] is None else 'give no label'}"
    if n_of_format < n:
        does = "agrees with the others" if group["micro_f1"] is None else "is right"
        rest = "what it says" if n == 1 else "what they say" if not n_of_format else "what the others say"
        yield f"{rest} {does} in {_ranged(broken['working_rate_least'], broken['working_rate_most'])}"


def _ranged(least: float | None, most: float | None) -> str:
    if least is None or most is None or percent(least) == percent(most):
        return percent(most)
    return f"{percent(least).removesuffix(' %')} to {percent(most)}"


def _without(group: Row) -> Iterator[str]:
    for measure, label in (("sensitivity", "sensitivity"), ("micro_f1", "micro-F1")):
        if group[f"{measure}_unbroken"] is not None:
            yield f"{label} {number(group[f'{measure}_unbroken'])}"
