"""One group never takes the others with it: what a build could not derive is NULL there and told, and the rest is published."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from promptaudit.audit.rebuild import rebuild_runs
from promptaudit.audit.run import RunResult
from promptaudit.evidence.verify import verify
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, run_import
from promptaudit.marts import dbt_child
from promptaudit.marts.not_derived import lines_of, not_derived
from promptaudit.registry.registry import load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.udfs import arrow
from promptaudit.udfs.differences import wording_choices
from promptaudit.udfs.sql_function import SqlFunction
from promptaudit.warehouse import Warehouse, dbt_project
from tests.support.intervals import figures_of_marts, outside_in_marts
from tests.support.shell import promptaudit_process

COLUMNS = """
    select table_name, string_agg('"' || column_name || '"' order by column_index) from duckdb_columns()
    where schema_name = 'marts' and data_type not like 'TIMESTAMP%'
        and column_name not in ('n_ranked', 'rank_in_row', 'rank_of_std', 'q_value') -- which hold models against each other
    group by all
    having bool_or(column_name = 'model_id') and table_name != 'rpt_not_derived' order by all
"""


def answers(folder: Path) -> Path:
    """Answers of three models to 24 samples under four wordings, each asked twice; every third is wrong now and then."""
    lines = ["model,sample_id,variant_index,repetition,completion,gold_label"]
    for model in range(3):
        for sample in range(24):
            gold = "abc"[sample % 3]
            for variant in range(4):
                for repetition in (1, 2):
                    is_wrong = (sample * 7 + variant * 5 + repetition * (sample % 5 == 0) + model) % 6 == 0
                    lines.append(f"{'abc'[model]},s{sample},{variant},{repetition},{'b' if is_wrong else gold},{gold}")
    path = folder / "three.csv"
    path.write_text("\n".join(lines))
    return path


def imported(folder: Path) -> RunResult:
    (folder / "own").mkdir()
    options = ImportOptions(labels=("a", "b", "c"), level="nominal", resamples=50)
    settings = Settings(warehouse=folder / "own" / "audit.duckdb")
    return run_import(settings, load_registry([]), [answers(folder)], options, Progress(quiet=True))


def rows(result: RunResult, but: str) -> dict[str, list[tuple[Any, ...]]]:
    """The published rows of each mart that has models, without those of one."""
    with Warehouse(result.published.parents[1] / "audit.duckdb").published.connect() as con:
        return {
            mart: con.execute(f"select {columns} from marts.{mart} where model_id != ? order by all", [but]).fetchall()
            for mart, columns in con.execute(COLUMNS).fetchall()
        }


@pytest.fixture
def own_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has dbt run in this process, where its functions can be made to fail."""
    before = dict(os.environ)
    monkeypatch.chdir(tmp_path)  # where dbt leaves what it has read

    def start(_: str, name: str) -> SimpleNamespace:
        build = dbt_child.ready(name)
        return SimpleNamespace(ask=lambda request: json.loads(json.dumps(build(json.loads(json.dumps(request))))))

    monkeypatch.setattr(dbt_project, "start", start)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.slow
@pytest.mark.usefixtures("own_child")
def test_where_every_measure_fails_on_one_model_the_others_have_all_of_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sound").mkdir()
    sound = imported(tmp_path / "sound")
    assert sound.exit_code == 0
    assert sound.not_derived == ()
    real, failed = arrow.attempt, set()

    def attempt(function: SqlFunction, keys: pa.Array, *columns: pa.Array) -> pa.Array:
        is_b = pa.array([json.loads(each).get("model_id") == "b" for each in keys.to_pylist()])
        if not is_b.to_pylist().count(True):
            return real(function, keys, *columns)
        failed.add(function.name)

        def fails(*_: object, **__: object) -> None:
            msg = "no figure,\nno fit"
            raise ArithmeticError(msg)

        fails.__annotations__ = function.function.__annotations__
        fails.__wrapped__ = function.function  # type: ignore[attr-defined] - where its annotations are looked up
        own = replace(function, function=fails)
        parts = [
            real(own if bad else function, keys.slice(row, 1), *(arrow.whole(each).slice(row, 1) for each in columns))
            for row, bad in enumerate(is_b.to_pylist())
        ]
        return pa.concat_arrays(parts)

    monkeypatch.setattr(arrow, "attempt", attempt)
    result = imported(tmp_path)
    assert result.exit_code == 3
    assert failed >= {"two_way_interval", "wording_choices", "corrected_sensitivity", "prompt_stability", "consistency"}
    raised = {each.measure for each in result.not_derived if each.reason == "ArithmeticError: no figure, no fit"}
    assert raised == failed
    assert {each.model_id for each in result.not_derived} == {"b"}
    before, after = rows(sound, but="b"), rows(result, but="b")
    assert [mart for mart in before if before[mart] != after[mart]] == []
    with Warehouse(result.published.parents[1] / "audit.duckdb").published.connect() as con:
        (scorecard,) = con.sql(
            "select micro_f1, sensitivity_corrected, n_landed from marts.rpt_audit where model_id = 'b'"
        ).fetchall()
        assert scorecard == (None, None, 192)
        assert con.execute(
            "select count(distinct measure) from marts.rpt_not_derived where model_id = 'b'"
        ).fetchone() >= (len(failed),)
    assert lines_of(result.not_derived)[-1].endswith("more, which rpt_not_derived has")


@pytest.mark.slow
@pytest.mark.usefixtures("own_child")
def test_a_figure_that_breaks_a_rule_is_taken_back_and_the_run_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = wording_choices._posterior

    def beyond(*given: Any) -> Any:
        chance, loss = real(*given)
        return chance + 2, loss

    monkeypatch.setattr(wording_choices, "_posterior", beyond)
    result = imported(tmp_path)
    assert result.exit_code == 3
    said = {(each.model_id, each.measure, each.reason) for each in result.not_derived}
    reason = "4 of its figures break within of rpt_wording_choices.chance_best"
    assert said == {(model, "chance_best", reason) for model in "abc"}
    warehouse = Warehouse(result.published.parents[1] / "audit.duckdb")
    with warehouse.published.connect() as con:
        query = "select count(*), count(chance_best), count(expected_loss) from marts.rpt_wording_choices"
        assert con.sql(query).fetchall() == [(12, 0, 12)]
        assert con.sql("select distinct relation from marts.rpt_not_derived").fetchall() == [
            ("marts.rpt_wording_choices",)
        ]
    assert verify(warehouse, result.audit_run_id).findings == []
    monkeypatch.undo()
    rebuild_runs(Settings(warehouse=warehouse.path), result.audit_run_id, Progress(quiet=True))
    assert not_derived(warehouse, result.audit_run_id) == ()


class Cell(NamedTuple):
    """A sample, a wording, a repetition, and a number in [0, 1) that chance gives."""

    s: int
    w: int
    r: int
    chance: float


DEGENERATE: dict[str, Callable[[Cell], str | None]] = {
    # what ended whole imports: wordings that differ by rounding alone, and one that is never right beside the others
    "equal": lambda c: "no" if c.w != 3 and c.r == 1 and (c.s + c.w) % 20 == 0 else "yes",
    "steady": lambda c: "no" if c.w == 1 or (c.w in (0, 2) and c.s < 3 and c.r == 1) else "yes",
    "all_right": lambda _: "yes",
    "all_wrong": lambda _: "no",
    "all_unreadable": lambda _: "It depends.",
    "all_blank": lambda _: "",
    "at_random": lambda c: ["yes", "no", "Well."][int(3 * c.chance)],
    "opposed": lambda c: "yes" if c.w % 2 else "no",
    "moved_by_repeating": lambda c: "yes" if c.r == 1 else "no",
    "one_sample": lambda c: None if c.s else "yes" if c.w % 3 else "no",
    "one_wording": lambda c: None if c.w else "yes" if c.chance < 0.5 else "no",
    "half_breaks": lambda c: "Well." if c.w % 2 else "yes",
    "original_breaks": lambda c: "Well." if c.w == 0 else "yes",
    "gaps": lambda c: None if c.chance < 0.7 else "yes" if c.chance < 0.85 else "no",
    "asked_once": lambda c: None if c.r == 2 else "yes" if c.chance < 0.98 else "no",
    "one_cell_wrong": lambda c: "no" if (c.s, c.w, c.r) == (5, 5, 1) else "yes",
    "two_samples_differ": lambda c: "no" if c.s < 2 and c.w > 4 else "yes",
    "three_wordings": lambda c: None if c.w > 2 else "no" if c.chance < 0.1 else "yes",
}
"""Tasks by name, with the answer of each cell; None where it was not asked. The right one is yes."""


@pytest.mark.slow
def test_whatever_the_answers_every_figure_of_every_mart_keeps_its_range_and_its_order(tmp_path: Path) -> None:
    chance = random.Random(52)
    lines = ["task,model,sample_id,variant_index,repetition,completion,gold_label"]
    for (task, answered), *of in itertools.product(DEGENERATE.items(), range(40), range(10), (1, 2)):
        cell = Cell(*of, chance.random())
        answer = answered(cell)
        if answer is not None:
            lines.append(f"{task},m,s{cell.s},{cell.w},{cell.r},{answer},yes")
    path = tmp_path / "degenerate.csv"
    path.write_text("\n".join(lines))
    done = promptaudit_process(tmp_path, "import", path, "--labels", "yes,no")
    assert done.code == 0, done.err
    warehouse = tmp_path / "warehouse" / "audit.duckdb"
    assert outside_in_marts(warehouse) == []
    with Warehouse(warehouse).published.connect() as con:
        assert con.sql("select * from marts.rpt_not_derived").fetchall() == []
        for mart, column in figures_of_marts():
            within = " and ".join(
                f"{column.name} {than} {end}"
                for than, end in zip((">= -1e-9 +", "<= 1e-9 +"), column.limits, strict=True)
                if end is not None
            )
            is_one = f"isfinite({column.name}) and {within or 'true'}"
            assert con.sql(f"select {column.name} from marts.{mart} where not ({is_one})").fetchall() == [], mart
        rows = con.sql(
            "select task_id, count(*), round(max(expected_loss), 2) from marts.rpt_wording_choices "
            "where task_id in ('equal', 'steady') group by all order by all"
        )
        assert rows.fetchall() == [("equal", 10, 0.0), ("steady", 10, 1.0)]
        read = con.sql(
            "select task_id, sensitivity, consistency, micro_f1, pss_intra, invalid_rate from marts.rpt_audit"
        )
        figures = {task: tuple(rest) for task, *rest in read.fetchall()}
    assert set(figures) == set(DEGENERATE)
    assert figures["all_right"] == (0, 1, 1, 1, 0)
