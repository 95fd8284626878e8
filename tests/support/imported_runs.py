"""Makes published warehouses for the report's tests: files of recorded predictions, imported for real."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from promptaudit.audit.formats.validate import validate
from promptaudit.audit.runs import close_run
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.marts.transform import judge_nights, transform
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.registry import Registry, load_registry
from promptaudit.warehouse import Warehouse

COLOURS = ("red", "green", "blue", "none of these")
TEXTS = (
    "The bus that took us to the harbour had been painted over so often that nobody agreed on what lay beneath.",
    "She asked for the scarf from the window, the one that looks different under every lamp.",
    "After the storm the hills across the bay stood out as sharply as if somebody had drawn them.",
    "The form had no box for it, so he wrote into the margin:\n\n  - first: like grass in April\n  - second: open",
    "It is neither the one nor the other; ask the painter.",
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A file of recorded predictions to be."""

    audit: str
    rows: Sequence[dict[str, Any]]
    labels: tuple[str, ...]
    limits: FormatLimits
    registry: Registry | None = None
    judge: Callable[[Path, str], None] | None = None  # lands rulings on a run


def published(folder: Path, files: Sequence[Recorded], n_nights: int = 0) -> tuple[Path, list[str]]:
    """Imports the files as runs of one warehouse, checks them, builds the marts once and publishes.

    The first `n_nights` of them become nights, which imports are not.
    """
    warehouse, runs = folder / "audit.duckdb", []
    Warehouse(warehouse).apply_schema()
    for place, recorded in enumerate(files):
        file = folder / f"answers {place}.parquet"  # an audit's name may hold what a file's may not
        pl.DataFrame(list(recorded.rows), infer_schema_length=None).write_parquet(file)
        options = ImportOptions(
            labels=recorded.labels,
            task=None if "task" in recorded.rows[0] else "colours",
            audit=recorded.audit,
            format_limits=recorded.limits,
            resamples=200,
        )
        runs.append(
            import_predictions(Warehouse(warehouse), [file], recorded.registry or load_registry(), options).audit_run_id
        )
        if recorded.judge is not None:
            recorded.judge(warehouse, runs[-1])
    if n_nights:
        with Warehouse(warehouse).write() as con:
            con.execute(
                "update raw.audit_runs set origin = 'run' where list_contains($1, audit_run_id)", [runs[:n_nights]]
            )
    transform(Warehouse(warehouse), runs, "up_to_formats")
    for run, recorded in zip(runs, files, strict=True):
        validate(Warehouse(warehouse), run, recorded.limits)
        close_run(Warehouse(warehouse), run, "complete")
    transform(Warehouse(warehouse), runs, "after_formats")
    if n_nights:
        judge_nights(Warehouse(warehouse), runs[:n_nights])
    publish(Warehouse(warehouse), runs)
    return warehouse, runs


def ordinary_rows(n_samples: int = 24, n_variants: int = 6) -> list[dict[str, Any]]:
    """Three models × two strategies on a task with everything; another with one wording, one ask and no gold."""
    draw = random.Random(20250601)
    rows: list[dict[str, Any]] = []
    skills = {"harbour-large-2025": 0.9, "harbour-small": 0.7, "لغة-mini": 0.5}
    for model, skill in skills.items():
        for strategy, lift in (("simple", 0.0), ("one_shot", 0.08)):
            for temperature in (0.5, 1.0, 2.0):
                leaning = [draw.gauss(0, 0.08 * temperature) for _ in range(n_variants)]
                for variant in range(n_variants):
                    asks = 5 if variant == 0 else 2
                    for sample in range(n_samples):
                        gold = COLOURS[sample % 4]
                        ease = ((sample * 7919) % 101) / 101 - 0.5
                        chance = min(1.0, max(0.05, skill + lift + leaning[variant] + 0.5 * ease))
                        for ask in range(1, asks + 1):
                            right = draw.random() < chance
                            said = gold if right else COLOURS[(sample + 1 + draw.randrange(2)) % 4]
                            if draw.random() < (0.25 if (variant, model) == (5, "harbour-small") else 0.02):
                                said = draw.choice(
                                    ["", "I cannot answer that.", f"The colour is {said}.\nAnything else?"]
                                )
                            rows.append(
                                {
                                    "model": model,
                                    "task": "colours",
                                    "strategy": strategy,
                                    "paraphrase_temperature": temperature,
                                    "variant_index": variant,
                                    "is_original": variant == 0,
                                    "repetition": ask,
                                    "sample_id": f"c{sample:03d}",
                                    "gold_label": gold,
                                    "completion": said,
                                    "input": TEXTS[sample % 5] + f" (№ {sample})",
                                    "instruction": "Name the colour of the thing described."
                                    if variant == 0
                                    else f"Wording {variant} at {temperature}: which colour is meant?",
                                }
                            )
        rows += [
            {
                "model": model,
                "task": "moods",
                "strategy": "simple",
                "paraphrase_temperature": None,
                "variant_index": 0,
                "is_original": True,
                "repetition": 1,
                "sample_id": f"m{sample}",
                "gold_label": None,
                "completion": draw.choice(COLOURS),
                "input": None,
                "instruction": "Name the mood as a colour.",
            }
            for sample in range(20)
        ]
    return rows


SCRIPT = "<script>alert(1)</script>"
OVERRIDE = "abc\u202edef"
HOSTILE = (
    f"<img src=x onerror=alert(2)> {SCRIPT}",
    "{{7*7}} {% raw %} ${7*7}",
    "nul\x00\x1b[31mred\x07",
    OVERRIDE,
    "</q></li></style></svg><svg onload=alert(3)>",
    "א" * 40,
    "&lt;b&gt; &amp;",
    "\ufeff\u2028\uffff",
    '=HYPERLINK("http://example.org/?q="&A1,"win")',
    "[x](javascript:alert(8)) ![y](http://example.org/z.png) | `**@everyone** <!-- #1",
    "\x1b]8;;http://example.org\x07link\x1b]8;;\x07\x1b[2J\r",
    "javascript:alert(9)",
)
FORMULA = "=cmd|'/c calc'!A0"
MENTION = "@here [x](javascript:alert(7)) `|` www.example.org"


def hostile_rows() -> list[dict[str, Any]]:
    """Names, inputs and completions that try to be markup, templates, control characters or very long."""
    rows = []
    for model in (SCRIPT, "[bold red]m[/] \x1b[2J\x00", "plain", FORMULA, MENTION):
        for variant in range(9):
            for sample, words in enumerate(HOSTILE):
                completion = ("yes", "no", words)[(variant + sample) % 3]
                if (model, variant, sample) == ("plain", 3, 0):
                    completion = "<b>" + "x" * 10_000_000
                if (model, variant, sample) == (MENTION, 3, 1):
                    completion = "\x1b[31m" + "z" * 1_000_000
                rows.append(
                    {
                        "model": model,
                        "strategy": "<i onclick=alert(4)>",
                        "variant_index": variant,
                        "repetition": 1,
                        "sample_id": f'"><script>alert({sample})</script>',
                        "gold_label": ("yes", SCRIPT)[sample % 2],
                        "input": f"{OVERRIDE}\x00{SCRIPT} {{{{7*7}}}}",
                        "instruction": f"{SCRIPT} {variant} {{{{7*7}}}}",
                        "completion": completion,
                    }
                )
    return rows


HOSTILE_LABELS = ("yes", "no", SCRIPT, "@SUM(1+1)*cmd")
