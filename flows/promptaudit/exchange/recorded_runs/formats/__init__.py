"""Formats of other programs, each recognised from the file's content and read to answers. This module lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from promptaudit.exchange.recorded_runs.formats import (
    dove_rows,
    every_eval_ever,
    helm_scenario_states,
    inspect_logs,
    label_studio,
    lm_eval_samples,
    openai_evals,
    promptfoo_results,
)
from promptaudit.exchange.recorded_runs.formats.answers import RecordedAnswers
from promptaudit.exchange.recorded_runs.formats.source import head_of

_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: its name, the test that recognises a file by path and first bytes, and its reader."""

    name: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Path, str | None], RecordedAnswers]


FORMATS = (
    Format(
        name="a log of inspect_ai",
        recognises=inspect_logs.is_of_inspect,
        read=lambda path, _: inspect_logs.as_recorded(path),
    ),
    Format(
        name="samples of lm-evaluation-harness",
        recognises=lambda _, head: lm_eval_samples.is_of_lm_eval(head),
        read=lm_eval_samples.as_recorded,
    ),
    Format(
        name="results of promptfoo",
        recognises=lambda _, head: promptfoo_results.is_of_promptfoo(head),
        read=lambda path, _: promptfoo_results.as_recorded(path),
    ),
    Format(
        name="a record of oaieval",
        recognises=lambda _, head: openai_evals.is_of_openai_evals(head),
        read=lambda path, _: openai_evals.as_recorded(path),
    ),
    Format(
        name="an export of Label Studio",
        recognises=lambda _, head: label_studio.is_of_label_studio(head),
        read=label_studio.as_recorded,
    ),
    Format(
        name="a scenario state of HELM",
        recognises=lambda _, head: helm_scenario_states.is_of_helm(head),
        read=lambda path, _: helm_scenario_states.as_recorded(path),
    ),
    Format(
        name="rows of DOVE",
        recognises=lambda path, head: dove_rows.is_of_dove(_columns(path, head)) or dove_rows.begins_as_dove(head),
        read=lambda path, _: dove_rows.as_recorded(path),
    ),
    Format(
        name="rows of every_eval_ever",
        recognises=lambda path, head: (
            every_eval_ever.is_of_every_eval_ever(_columns(path, head))
            or every_eval_ever.begins_as_every_eval_ever(head)
        ),
        read=lambda path, _: every_eval_ever.as_recorded(path),
    ),
)


def format_of(path: Path) -> Format | None:
    """Finds the format of a file by its content, whatever its name. None for a file in none of FORMATS."""
    head = head_of(path)
    return next((each for each in FORMATS if each.recognises(path, head)), None)


def _columns(path: Path, head: bytes) -> list[str]:
    if not head.startswith(_PARQUET):
        return []
    import polars as pl

    try:
        return list(pl.read_parquet_schema(path))
    except (OSError, pl.exceptions.PolarsError):
        return []
