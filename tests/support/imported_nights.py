"""Makes warehouses of several nights: the first two imported for real, further ones as copies of their marts' rows."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from promptaudit.marts.publish import publish
from promptaudit.registry.cards import FormatLimits
from promptaudit.warehouse import Warehouse
from tests.support.imported_runs import COLOURS, Recorded, published
from tests.support.prebuilt_folders import shape

AUDIT = "every night"
FIRST = datetime(2026, 9, 20, 2, 0, 4)  # when the first night started
COPIED = ("dim_audit_runs", "rpt_audit", "fct_scoring_sensitivity")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is told of a figure on a night (from 0) against the normal nights before it; `since` is its alarm's first night."""

    night: int
    model: str
    verdict: str
    reason: str
    measure: str = "sensitivity"
    strategy: str = "simple"
    since: int | None = None


def answers(seed: int) -> list[dict[str, Any]]:
    """A night's recorded answers: colours under two strategies with gold labels, moods with one wording and none."""
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for place, model in enumerate(("harbour-large", "harbour-small")):
        for own in ("simple", "one_shot"):
            for variant in range(4):
                for sample in range(24):
                    gold = COLOURS[sample % 4]
                    for ask in (1, 2):
                        said = gold if draw.random() < 0.9 - 0.15 * place else COLOURS[draw.randrange(4)]
                        rows.append(
                            {
                                "model": model,
                                "task": "colours",
                                "strategy": own,
                                "variant_index": variant,
                                "is_original": variant == 0,
                                "repetition": ask,
                                "sample_id": f"c{sample}",
                                "gold_label": gold,
                                "completion": said,
                                "instruction": f"Wording {variant}",
                            }
                        )
        rows += [
            {
                "model": model,
                "task": "moods",
                "strategy": "simple",
                "variant_index": 0,
                "is_original": True,
                "repetition": 1,
                "sample_id": f"m{sample}",
                "gold_label": None,
                "completion": draw.choice(COLOURS),
                "instruction": "Name the mood as a colour.",
            }
            for sample in range(20)
        ]
    return rows


def two_nights(folder: Path) -> list[str]:
    """Two nights of one audit, derived for real, a night apart, in a folder; gives the runs."""
    warehouse, runs = published(
        folder, [Recorded(AUDIT, answers(seed), COLOURS, FormatLimits(policy="warn")) for seed in (1, 2)]
    )
    with Warehouse(warehouse).write() as con:
        for place, run in enumerate(runs):
            set_time(con, run, place)
    publish(Warehouse(warehouse))
    return runs


def set_time(con: Any, run: str, night: int) -> None:
    """Moves a run to a night, counted from 0."""
    con.execute(
        "update marts.dim_audit_runs set started_at = ?, run_index = ? where audit_run_id = ?",
        [FIRST + timedelta(days=night), night + 1, run],
    )


def grow(warehouse: Path, runs: Sequence[str], n_nights: int, seed: int = 7) -> list[str]:
    """Further nights as copies of the second with moved figures, up to `n_nights` in all."""
    draw, grown = random.Random(seed), list(runs)
    with Warehouse(warehouse).write() as con:
        for night in range(len(runs), n_nights):
            own = f"{night:04d}{runs[-1][4:]}"
            for table in COPIED:
                con.execute(
                    f"insert into marts.{table} select * replace ('{own}' as audit_run_id) from marts.{table} "
                    f"where audit_run_id = '{runs[-1]}'"
                )
            set_time(con, own, night)
            shifts = [draw.gauss(0, 0.02) for _ in range(3)]
            con.execute(
                "update marts.rpt_audit set sensitivity = sensitivity + abs($s), "
                "sensitivity_corrected = sensitivity_corrected + $s, sensitivity_corrected_low = sensitivity_corrected_low + $s, "
                "sensitivity_corrected_high = sensitivity_corrected_high + $s, consistency = consistency - abs($c), "
                "micro_f1 = micro_f1 - abs($f), pss_inter = pss_inter - $s where audit_run_id = $run",
                {"s": shifts[0], "c": shifts[1], "f": shifts[2], "run": own},
            )
            grown.append(own)
    publish(Warehouse(warehouse))
    return grown


def land_verdicts(warehouse: Path, runs: Sequence[str], verdicts: Sequence[Verdict], audit: str = AUDIT) -> None:
    """Puts verdicts into marts.rpt_night_figures, and the comparison with the night before, as a night has it, beside them."""
    with Warehouse(warehouse).write() as con:
        for said in verdicts:
            before, tonight = runs[said.night - 1], runs[said.night]
            is_alarm = said.verdict in ("regressed", "changed", "improved")
            names = {
                "audit_id": audit,
                "model_id": said.model,
                "task_id": "colours",
                "strategy": said.strategy,
                "measure": said.measure,
                "verdict": said.verdict,
                "reason": said.reason,
            }
            figure = names | {
                "audit_run_id": tonight,
                "normal_run_id": before,
                "n_nights_normal": said.night,
                "since_run_id": tonight
                if is_alarm and said.since is None
                else None
                if said.since is None
                else runs[said.since],
            }
            compared = names | {
                "comparison_id": f"comparison {said.night}",
                "base_run_id": before,
                "candidate_run_id": tonight,
                "base_model_id": said.model,
                "base_strategy": names["strategy"],
                "reason": None,
            }
            for table, row in (("rpt_night_figures", figure), ("rpt_run_comparisons", compared)):
                con.execute(
                    f"insert into marts.{table} by name select {', '.join(f'${name} as {name}' for name in row)}", row
                )
        for night in {said.night for said in verdicts}:
            con.execute(
                "insert into raw.comparisons (audit_run_id, comparison_id, base_run_id, candidate_run_id, min_effect, "
                "is_trial, requested_at) values ($run, $id, $base, $run, .02, false, $at)",
                {"run": runs[night], "id": f"comparison {night}", "base": runs[night - 1], "at": FIRST},
            )
    publish(Warehouse(warehouse))


_BUILT: list[tuple[Path, list[str]]] = []


def fresh(factory: pytest.TempPathFactory, n_nights: int = 2) -> tuple[Path, list[str]]:
    """A warehouse of so many nights for one test to change, and its runs; the two real ones are copied once a process."""
    if not _BUILT:
        folder = factory.mktemp("nights")
        _BUILT.append((folder / "audit.duckdb", shape("nights", two_nights, folder)))
    built, runs = _BUILT[0]
    warehouse = factory.mktemp("night") / "audit.duckdb"
    shutil.copy(built, warehouse)
    return warehouse, grow(warehouse, runs, n_nights)


def change(warehouse: Path, *statements: str) -> None:
    """Changes marts by SQL of the test's own words, and publishes."""
    with Warehouse(warehouse).write() as con:
        for statement in statements:
            con.execute(statement)
    publish(Warehouse(warehouse))
