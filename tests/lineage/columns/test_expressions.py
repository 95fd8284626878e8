"""A model's columns, followed through its SQL: worked examples."""

from __future__ import annotations

import pytest
from sqlglot.errors import SqlglotError

from promptaudit.lineage.columns.derived import Derived
from promptaudit.lineage.columns.expressions import columns_of

SCHEMA = {
    "raw": {"answers": ["run", "sample", "label", "seconds"], "labels": ["run", "label", "place"]},
    "marts": {"fct_old": ["run", "seconds"]},
}


def read(sql: str, own: str = "marts.fct_new") -> dict[str, Derived]:
    return columns_of(sql, SCHEMA, own)


def test_ctes_are_put_in_and_a_star_is_spelled_out() -> None:
    found = read(
        "with a as (select * from raw.answers), b as (select run, 2 * seconds as twice from a) select *, twice + 1 as more from b"
    )
    assert list(found) == ["run", "twice", "more"]
    assert found["run"].expression == "raw.answers.run"
    assert found["run"].is_handed_on
    assert found["more"].expression == "(2 * raw.answers.seconds) + 1"
    assert found["more"].inputs == (("raw.answers", "seconds"),)
    assert not found["more"].is_handed_on


def test_a_udf_is_a_function_of_its_arguments_and_a_field_of_what_it_gives_is_of_them_too() -> None:
    found = read(
        "with m as (select run, spread(list(label), max(seconds)) as s from raw.answers group by all) select s.low as low from m"
    )
    assert found["low"].expression == "spread(array_agg(raw.answers.label), max(raw.answers.seconds)).low"
    assert found["low"].inputs == (("raw.answers", "label"), ("raw.answers", "seconds"))


def test_counted_rows_are_of_what_decides_them() -> None:
    found = read("select run, count(*) as n from raw.answers where seconds > 1 group by all")
    assert found["n"].inputs == ()
    assert found["n"].rows == (("raw.answers", "run"), ("raw.answers", "seconds"))


def test_a_looked_up_column_is_of_what_finds_it() -> None:
    found = read("select labels.place from raw.answers as answers left join raw.labels as labels using (run, label)")
    assert found["place"].inputs == (("raw.labels", "place"),)
    assert found["place"].rows == (("raw.answers", "label"), ("raw.answers", "run"))


def test_the_sides_of_a_union_by_place_and_by_name() -> None:
    by_place = read("select label as x from raw.answers union all select place from raw.labels")
    assert by_place["x"].expression == "one_of(raw.answers.label, raw.labels.place)"
    by_name = read("select 1 as one, label from raw.answers union all by name select label from raw.labels")
    assert by_name["one"] == Derived("1")
    assert by_name["label"].inputs == (("raw.answers", "label"), ("raw.labels", "label"))


def test_windows_by_name_nested_queries_values_and_a_pivot() -> None:
    window = read("select sum(seconds) over w as s from raw.answers window w as (partition by run order by label)")
    assert [column for _, column in window["s"].inputs] == ["label", "run", "seconds"]
    nested = read("select (select max(place) from raw.labels where run = 'a') as m from raw.answers")
    assert nested["m"].inputs == (("raw.labels", "place"), ("raw.labels", "run"))
    values = read("with v as (from (values ('a', true), ('b', true)) as t(name, flag)) select * from v")
    assert values["name"].expression == "one_of('a', 'b')"
    assert values["flag"] == Derived("TRUE")
    pivoted = read(
        "with p as (pivot (select run, label, seconds from raw.answers) "
        "on label in ('x', 'y') using any_value(seconds) group by run) "
        "select run, x - y as d from p"
    )
    assert pivoted["d"].inputs == (("raw.answers", "label"), ("raw.answers", "seconds"))


def test_what_is_long_is_named() -> None:
    long = " + ".join(f"length(label || '{number}')" for number in range(10))
    found = read(f"with a as (select {long} as total from raw.answers) select total / 2 as half, total from a")
    assert found["half"].expression == "a.total / 2"
    assert set(found["half"].steps) == {"a.total"}
    assert found["total"].expression == found["half"].steps["a.total"]
    assert found["total"].steps == {}


def test_earlier_rows_of_itself_are_no_inputs() -> None:
    found = read(
        "select old.seconds + a.seconds as s from raw.answers as a join marts.fct_old as old using (run)",
        "marts.fct_old",
    )
    assert found["s"].inputs == (("raw.answers", "seconds"),)


@pytest.mark.parametrize(
    "sql", ["select nothing from raw.answers", "select from where", "select a.run from raw.answers as b"]
)
def test_sql_that_is_wrong_is_an_error(sql: str) -> None:
    with pytest.raises(SqlglotError):
        read(sql)


def test_sql_that_another_writer_would_not_know_is_written_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert read("select run, max(label ignore nulls) as a from raw.answers group by run")["a"].expression.startswith(
        "max("
    )
    assert not caplog.records
