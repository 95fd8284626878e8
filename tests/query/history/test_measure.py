from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, Group

from promptaudit.marts.publish import publish
from promptaudit.query.history.measure import History, history
from promptaudit.query.history.terminal import BLOCKS, renderables_of, sparkline
from promptaudit.query.history.terminal import line as line_of
from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.system.display.encode import encoded
from promptaudit.warehouse import Warehouse
from tests.support.imported_nights import AUDIT, FIRST, Verdict, change, fresh, land_verdicts
from tests.support.published_copy import table

Figures = st.lists(st.none() | st.floats(-10, 10), max_size=40)
ONE = {"model": "harbour-small", "task": "colours", "strategy": "simple"}


def asked(warehouse: Path, query: str) -> list[tuple[Any, ...]]:
    return table(warehouse, query)[1]


def rows_of(found: History) -> list[dict[str, Any]]:
    """The nights that `--json` prints."""
    rows: list[dict[str, Any]] = encoded(found)["nights"]
    return rows


def printed(found: History, width: int = 120) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(Group(*renderables_of(found)))
    return out.getvalue()


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Seven nights that no test changes."""
    return fresh(tmp_path_factory, 7)


@pytest.mark.parametrize(
    "measure", ["sensitivity", "pss_inter", "invalid_rate", "wording_share", "n_landed", "micro_f1_std"]
)
def test_figures_are_the_marts_at_full_precision(week: tuple[Path, list[str]], measure: str) -> None:
    warehouse, _ = week
    rows = rows_of(history(Warehouse(warehouse), measure))
    ends = "null, null" if measure in {"n_landed", "micro_f1_std"} else f"{measure}_low, {measure}_high"
    expected = asked(
        warehouse,
        f"select task_id, strategy, model_id, audit_run_id, {measure}, {ends}, n_samples, n_variants, n_repetitions "
        "from marts.rpt_audit inner join marts.dim_audit_runs using (audit_run_id) "
        "order by task_id, strategy, model_id, started_at",
    )
    names = ("task_id", "strategy", "model_id", "audit_run_id", "figure", "low", "high", "n_samples", "n_variants")
    assert [tuple(row[name] for name in (*names, "n_repetitions")) for row in rows] == expected
    assert len(rows) == 7 * 2 * 3  # nights, models, colours under two strategies and moods under one
    assert [row["started_at"] for row in rows[:2]] == ["2026-09-20T02:00:04", "2026-09-21T02:00:04"]
    assert json.loads(json.dumps(rows)) == rows  # as JSON has it already, times too
    assert list(rows[0]) == [
        "audit_id",
        "measure",
        "model_id",
        "task_id",
        "strategy",
        "audit_run_id",
        "started_at",
        "figure",
        "low",
        "high",
        "n_samples",
        "n_samples_planned",
        "n_variants",
        "n_variants_answered",
        "n_repetitions",
        "is_comparable",
        "differs",
        "verdict",
        "reason",
        "normal_low",
        "normal_high",
        "marks",
    ]


def test_accuracy_is_followed_by_scoring_method(week: tuple[Path, list[str]]) -> None:
    warehouse, _ = week
    for measure, columns in {
        "accuracy:label_match": "accuracy_mean, null, null",
        "accuracy_rectified:label_match": "accuracy_rectified, accuracy_rectified_low, accuracy_rectified_high",
        "accuracy_std:label_match": "accuracy_std_corrected, accuracy_std_corrected_low, accuracy_std_corrected_high",
    }.items():
        rows = rows_of(history(Warehouse(warehouse), measure, model="harbour-small"))
        expected = asked(
            warehouse,
            f"select {columns}, n_samples from marts.fct_scoring_sensitivity inner join marts.dim_audit_runs "
            "using (audit_run_id) where model_id = 'harbour-small' order by started_at",
        )
        assert [(row["figure"], row["low"], row["high"], row["n_samples"]) for row in rows] == expected
        assert {row["strategy"] for row in rows} == {None}
    with pytest.raises(UsageError, match="--strategy simple: this measure is over all strategies"):
        history(Warehouse(warehouse), "accuracy:label_match", strategy="simple")


def test_sensitivity_lies_in_its_interval_and_has_no_corrected_one_below_eight_wordings(
    week: tuple[Path, list[str]],
) -> None:
    warehouse, _ = week
    plain, corrected = (
        rows_of(history(Warehouse(warehouse), name)) for name in ("sensitivity", "sensitivity_corrected")
    )
    known = [row for row in plain if row["figure"] is not None]
    assert known
    assert all(row["low"] <= row["figure"] <= row["high"] for row in known)
    assert {row["n_variants"] for row in known} == {4}
    assert {(row["figure"], row["low"], row["high"]) for row in corrected} == {(None, None, None)}


def test_the_last_nights_are_kept_and_the_first_of_them_is_compared_with_the_one_before(
    week: tuple[Path, list[str]],
) -> None:
    warehouse, runs = week
    whole, last = (history(Warehouse(warehouse), "sensitivity", **ONE, limit=limit).series for limit in (30, 3))
    assert [night.audit_run_id for night in whole[0].nights] == runs
    assert [night.audit_run_id for night in last[0].nights] == runs[-3:]
    assert [night.is_comparable for night in whole[0].nights] == [None, True, True, True, True, True, True]
    assert [night.is_comparable for night in last[0].nights] == [True, True, True]


def test_one_night_is_a_history_too(week: tuple[Path, list[str]]) -> None:
    (series,) = history(Warehouse(week[0]), "consistency", **ONE, limit=1).series
    assert len(series.nights) == 1
    assert "over 1 night of audit" in printed(history(Warehouse(week[0]), "consistency", **ONE, limit=1))


@pytest.mark.slow
def test_sixty_nights_are_drawn_a_character_each(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 60)
    found = history(Warehouse(warehouse), "pss_inter", **ONE, limit=60)
    assert [night.audit_run_id for night in found.series[0].nights] == runs
    assert [night.started_at for night in found.series[0].nights] == [FIRST + timedelta(days=n) for n in range(60)]
    (line,) = (line_of(found, series) for series in found.series)
    drawn = line.split("  ")[1]
    assert len(drawn) == 60
    assert {"▁", "█"} <= set(drawn)  # PSS is drawn from its smallest to its largest figure


def test_a_night_without_a_figure_is_a_gap_and_what_follows_is_held_against_the_night_before_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    warehouse, runs = fresh(tmp_path_factory, 5)
    change(
        warehouse,
        f"update marts.rpt_audit set micro_f1 = null, n_variants = 2 where audit_run_id = '{runs[1]}'",
        f"delete from marts.rpt_audit where audit_run_id = '{runs[3]}' and model_id = 'harbour-small'",
    )
    found = history(Warehouse(warehouse), "micro_f1", **ONE)
    nights = found.series[0].nights
    assert [night.figure is None for night in nights] == [False, True, False, True, False]
    assert [night.n_samples for night in nights] == [24, 24, 24, None, 24]
    assert [night.is_comparable for night in nights] == [None, None, True, None, True]
    drawn = line_of(found, found.series[0]).split("  ")[1]
    assert [step == "·" for step in drawn] == [False, True, False, True, False]


def test_nights_of_other_numbers_do_not_compare(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 4)
    change(
        warehouse,
        f"update marts.rpt_audit set n_variants = 3, n_repetitions = 1 where audit_run_id = '{runs[2]}'",
        f"update marts.rpt_audit set n_variants_answered = n_variants - 1 where audit_run_id = '{runs[3]}'",
    )
    nights = history(Warehouse(warehouse), "sensitivity", **ONE).series[0].nights
    assert [night.differs for night in nights] == [
        "",
        "",
        "variants 4 → 3, asks 2 → 1",
        "variants 3 → 4, variants answered 4 → 3, asks 1 → 2",
    ]
    assert [night.is_comparable for night in nights] == [None, True, False, False]
    text = printed(history(Warehouse(warehouse), "sensitivity", **ONE), 160)
    assert "no: variants 4 → 3, asks 2 → 1" in text
    assert "24 × 3 of 4 × 2" in text


def test_a_sample_that_is_lost_keeps_no_nights_apart(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 3)
    change(warehouse, f"update marts.rpt_audit set n_samples = 23 where audit_run_id = '{runs[1]}'")
    change(
        warehouse, f"update marts.rpt_audit set n_samples = 20, n_samples_planned = 20 where audit_run_id = '{runs[2]}'"
    )
    nights = history(Warehouse(warehouse), "sensitivity", **ONE).series[0].nights
    assert [(night.n_samples, night.n_samples_planned) for night in nights] == [(24, 24), (23, 24), (20, 20)]
    assert [night.differs for night in nights] == ["", "", "samples 24 → 20"]
    assert "23 of 24 × 4 × 2" in printed(history(Warehouse(warehouse), "sensitivity", **ONE), 160)


def test_verdicts_are_of_the_night_and_its_measure(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 5)
    small = "harbour-small"
    land_verdicts(
        warehouse,
        runs,
        [
            Verdict(2, small, "none_shown", "tonight, against 2 normal nights"),
            Verdict(3, small, "regressed", "over 2 nights, against 2 normal nights"),
            Verdict(4, small, "changed", "another measure", measure="label_churn"),
            Verdict(1, small, "improved", "another strategy", strategy="one_shot"),
        ],
    )
    found = history(Warehouse(warehouse), "sensitivity", **ONE)
    assert [night.verdict for night in found.series[0].nights] == [None, None, "none_shown", "regressed", None]
    corrected = history(Warehouse(warehouse), "sensitivity_corrected", **ONE).series[0].nights
    assert corrected[3].verdict == "regressed"
    text = printed(found)
    assert "2026-09-23 regressed: over 2 nights, against 2 normal nights" in text
    assert "tonight, against 2 normal nights" not in text


def test_nights_are_drawn_with_their_normal_band_and_what_people_said(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 5)
    small = "harbour-small"
    land_verdicts(
        warehouse,
        runs,
        [
            Verdict(2, small, "none_shown", "tonight, against 2 normal nights"),
            Verdict(3, small, "regressed", "over 2 nights, against 2 normal nights"),
        ],
    )
    said = "'every night', null, null, null, false, 'the new one stays', now()::timestamp, 1"
    change(
        warehouse,
        "update marts.rpt_audit set sensitivity = .2, sensitivity_low = null, sensitivity_high = null",
        f"update marts.rpt_audit set sensitivity = .4 where audit_run_id = '{runs[3]}'",
        "update marts.rpt_night_figures set base = .2, difference_low = -.05, difference_high = .05",
        f"update marts.rpt_night_figures set difference_low = .15, difference_high = .25 where audit_run_id = '{runs[3]}'",
        f"insert into raw.acceptances select '{runs[3]}', {said}",
        f"insert into raw.baselines values ('{runs[0]}', 'every night', 'release-1', null, now()::timestamp, 1)",
    )
    found = history(Warehouse(warehouse), "sensitivity", **ONE)
    bands = [(night.normal_low, night.normal_high) for night in found.series[0].nights]
    assert bands == [(None, None)] * 2 + [pytest.approx((0.15, 0.25))] * 2 + [(None, None)]
    assert [night.marks for night in found.series[0].nights] == [("pinned release-1",), (), (), ("accepted",), ()]
    # from .15 to .4 on 20 places: .2 is on the fifth, .25 on the ninth
    lines = printed(found, 160).splitlines()
    drawn = {line[:10]: line for line in lines if "24 × 4" in line}
    assert "yes         ░░░░●░░░░  " in drawn["2026-09-22"]
    assert drawn["2026-09-23"].split()[-2:] == ["regressed", "accepted"]
    assert "░░░░░░░░░          ◆" in drawn["2026-09-23"]
    assert drawn["2026-09-20"].endswith("pinned release-1")
    assert "░ normal nights, 95 %   ● a night   ◆ one in an alarm   from 0.150 to 0.400" in lines
    assert "normal_low" in rows_of(found)[0]
    corrected = history(Warehouse(warehouse), "sensitivity_corrected", **ONE)  # which nights do not compare
    assert {night.normal_low for night in corrected.series[0].nights} == {None}


def test_over_all_strategies_the_gravest_verdict_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory)
    measure = "accuracy:label_match"
    land_verdicts(
        warehouse,
        runs,
        [
            Verdict(1, "harbour-small", "improved", "a", measure="micro_f1"),
            Verdict(1, "harbour-small", "regressed", "we changed the prompt", measure="micro_f1", strategy="one_shot"),
        ],
    )
    night = history(Warehouse(warehouse), measure, model="harbour-small").series[0].nights[1]
    assert (night.verdict, night.reason) == ("regressed", "one_shot: we changed the prompt")


def test_only_complete_runs_of_one_audit_are_nights(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory, 5)
    change(
        warehouse,
        f"update marts.dim_audit_runs set state = 'failed' where audit_run_id = '{runs[2]}'",
        f"update marts.dim_audit_runs set audit_id = 'sensitivity' where audit_run_id in ('{runs[0]}', '{runs[4]}')",
    )
    newest = history(Warehouse(warehouse), "sensitivity", **ONE)
    assert newest.audit_id == "sensitivity"  # which is a measure all the same
    assert [night.audit_run_id for night in newest.series[0].nights] == [runs[0], runs[4]]
    named = history(Warehouse(warehouse), "sensitivity", audit=AUDIT, **ONE)
    assert [night.audit_run_id for night in named.series[0].nights] == [runs[1], runs[3]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "sensitivit"}, "no measure 'sensitivit'; nearest: sensitivity"),
        ({"measure": "model_id"}, "no measure 'model_id'"),
        ({"measure": "every night"}, "no measure 'every night', which is an audit: --audit 'every night' names it"),
        ({"measure": "accuracy:label_mach"}, "nearest: accuracy:label_match"),
        ({"measure": "1; drop table x --"}, "no measure '1; drop table x --'"),
        ({"audit": "every nigt"}, "--audit every nigt: none of that name has a complete run; nearest: every night"),
        ({"model": "harbor-small"}, "--model harbor-small: .*; nearest: harbour-small"),
        ({"task": "colors"}, "--task colors: .*; nearest: colours"),
        ({"strategy": "simple_"}, "--strategy simple_: .*; nearest: simple"),
        ({"task": "moods", "strategy": "one_shot"}, "--strategy one_shot: .*; known: simple"),
        ({"limit": 0}, "--limit 0: 1 or more"),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest(
    week: tuple[Path, list[str]], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        history(Warehouse(week[0]), options.pop("measure", "sensitivity"), **options)


def test_nothing_to_follow_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="nothing is published yet"):
        history(Warehouse(tmp_path / "audit.duckdb"), "sensitivity")
    Warehouse(tmp_path / "audit.duckdb").apply_schema()
    publish(Warehouse(tmp_path / "audit.duckdb"))
    with pytest.raises(WarehouseError, match="holds no run: none was derived"):
        history(Warehouse(tmp_path / "audit.duckdb"), "sensitivity")


def test_no_complete_run_is_one_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, _ = fresh(tmp_path_factory)
    change(warehouse, "update marts.dim_audit_runs set state = 'running'")
    with pytest.raises(WarehouseError, match="no complete run is published"):
        history(Warehouse(warehouse), "sensitivity")


@pytest.mark.parametrize("width", [140, 90, 60])
def test_names_are_neither_markup_nor_control_at_any_width(
    tmp_path_factory: pytest.TempPathFactory, width: int
) -> None:
    warehouse, runs = fresh(tmp_path_factory, 3)
    hostile = "'; [bold red]m[/] chr(27)"
    change(
        warehouse,
        f"update marts.rpt_audit set model_id = '{hostile.replace(chr(39), chr(39) * 2)}' || chr(27) || '[2J' "
        "where model_id = 'harbour-small'",
    )
    land_verdicts(warehouse, runs, [Verdict(2, "harbour-large", "regressed", "[red]\x1b[2J because\x00")])
    named = hostile + "\x1b[2J"
    assert {row["model_id"] for row in rows_of(history(Warehouse(warehouse), "micro_f1", model=named))} == {named}
    text = printed(history(Warehouse(warehouse), "sensitivity"), width)
    assert not set(text) & {"\x1b", "\x00"}
    assert max(len(line) for line in text.splitlines()) <= width
    flat = " ".join(text.split())
    assert "'; [bold red]m[/] chr(27)\\x1b[2J" in flat
    assert "[red]\\x1b[2J because\\x00" in flat


def test_many_series_share_the_tables_and_all_have_their_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, _ = fresh(tmp_path_factory)
    change(
        warehouse,
        "insert into marts.rpt_audit select found.* replace (model_id || ' ' || place as model_id) "
        "from marts.rpt_audit as found cross join range(1, 4) as places (place) where task_id = 'colours'",
    )
    found = history(Warehouse(warehouse), "sensitivity", task="colours")
    assert len(found.series) == 16  # two models and three copies of each, under two strategies
    text = printed(found)
    assert text.count("95 % interval") == 12
    assert all(series.model_id in text for series in found.series)
    assert "tables of the first 12 of 16 series" in text


# ---------------------------------------------------------------- sparklines
@pytest.mark.parametrize(
    ("figures", "is_share", "drawn", "scale"),
    [
        # eight steps of .125: .13 is on the second, .99 and 1 on the last
        ([0.0, 0.13, None, 0.5, 0.99, 1.0], True, "▁▂·▅██", (0, 1)),
        # from .90 to .98 in steps of .01
        ([0.90, 0.915, 0.98], False, "▁▂█", (0.90, 0.98)),
        ([0.4, 0.4], False, "▄▄", (0.4, 0.4)),
        ([-0.1, 0.3], True, "▁█", (-0.1, 0.3)),  # a corrected figure below 0 does not fit on 0 to 1
        ([None, None], True, "··", (0, 1)),
        ([], False, "", (0, 1)),
    ],
)
def test_a_sparkline_by_hand(
    figures: list[float | None], is_share: bool, drawn: str, scale: tuple[float, float]
) -> None:
    assert sparkline(figures, is_share=is_share) == (drawn, scale)


@given(Figures, st.booleans())
def test_a_sparkline_has_a_step_a_night_gaps_where_nothing_is_and_never_inverts(
    figures: list[float | None], is_share: bool
) -> None:
    drawn, (low, high) = sparkline(figures, is_share=is_share)
    assert [step == "·" for step in drawn] == [figure is None for figure in figures]
    pairs = sorted(
        (figure, BLOCKS.index(step)) for figure, step in zip(figures, drawn, strict=True) if figure is not None
    )
    steps = [step for _, step in pairs]
    assert steps == sorted(steps)
    assert all(low <= figure <= high for figure, _ in pairs)


def test_times_in_one_second_stay_two_nights(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse, runs = fresh(tmp_path_factory)
    change(warehouse, f"update marts.dim_audit_runs set started_at = '{datetime(2026, 9, 20, 2):%Y-%m-%d %H:%M:%S}'")
    found = history(Warehouse(warehouse), "sensitivity", **ONE)
    assert list(runs) == [night.audit_run_id for night in found.series[0].nights]  # as they landed
    assert "2026-09-20 02:00:00 (2)" in printed(found)
