"""A query of somebody reads the published tables and calls what is listed, the same on a plain copy and on a lake."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr

from promptaudit.marts.write_lake import write_lake
from promptaudit.query.analyses import analyses, analysis
from promptaudit.registry.errors import WarehouseError
from promptaudit.warehouse import Published
from promptaudit.warehouse.lake import Lake, attached
from promptaudit.warehouse.reaching_out import OWN_VIEWS, TABLE_FUNCTIONS, functions, refuse_reaching_out

KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIA-PLANTED",
    "AWS_SECRET_ACCESS_KEY": "secret-PLANTED",
    "AWS_SESSION_TOKEN": "token-PLANTED",
    "HTTP_PROXY": "http://me:PLANTED@127.0.0.1:9",
    "PGPASSWORD": "PLANTED",
}
MADE = """
create schema marts;
create schema raw;
create table marts.t as
    select range as n, 'a' || range as text, [1, 2, 3] as l, {'a': 1} as s, now() as at, '{"x": 1}'::json as j from range(5);
create table marts."odd.name" as select 1 as n;
"""
READS = [
    "from t",
    "table t",
    "values (1), (2)",
    "describe t",
    "summarize t",
    "show tables",
    "show all tables",
    'from "odd.name"',
    "explain select n from t",
    "-- why\n explain analyze from t",
    "from (describe marts.t)",
    "from lake_or_copy.marts.t",
    "select sum(n), count(distinct text), avg(n) over (partition by text order by n) from t group by n, text",
    "select n, row_number() over w as r, lag(n) over w from t window w as (order by n) qualify r = 1",
    "from t pivot (sum(n) for text in ('a1', 'a2'))",
    "unpivot (select n::varchar as n, text from t) on n, text",
    "select list_transform(l, lambda x: x + 1), [x * 2 for x in l if x > 1], l[1:2], s.a, row(1), map {'a': 1} from t",
    "select j -> 'x', j ->> '$.x', json_extract(j, '$.x'), json_group_array(n) from t group by all",
    "select * exclude (n) replace (upper(text) as text) from t",
    "select columns('n|text') from t",
    "with recursive r(i) as (select 1 union all select i + 1 from r where i < 5) from r",
    "select unnest(l) from t",
    "from t, unnest(l) as u(x)",
    "from range(3)",
    "from generate_series(1, 3)",
    "select now(), current_date, current_timestamp, extract(year from t.at), date_trunc('day', t.at), interval '1 day' from t",
    "select text like 'a%', text ilike 'A', text similar to 'a.*', text ~ 'a', text ^@ 'a', text glob 'a*', n in (1, 2) from t",
    "select -n, n % 2, n ** 2, n // 2, n & 1, n | 1, n << 1, ~n, @n, 5!, nullif(n, 1), coalesce(n, 1), try(1 / 0) from t",
    "select quantile_cont(n, [0.1]), median(n), arg_max(text, n), string_agg(text), list(n order by n), histogram(n) from t",
    "select position('a' in text), substring(text from 1 for 2), trim(both 'a' from text), text || 'x', md5(text) from t",
    "from t using sample 2",
    "from t a asof join t b on a.n >= b.n",
    "from t positional join t b",
    "from t semi join t u using (n)",
    "select max(n).abs() from t",
    "select random() < 2, uuid() is null, error is null from (select 1 as error)",
    "from information_schema.tables",
    "from duckdb_tables()",
    "from duckdb_columns",
    "from sqlite_master",
]
SETTING = "current_setting('memory_limit')"
REACHES_OUT = {
    "reads or does more": [
        *(
            f"select {form}"
            for form in (
                SETTING,
                "CURRENT_SETTING/**/\n('s3_secret_access_key')",
                "\"current_setting\" ('memory_limit')",
                f"main.{SETTING}",
                f"system.main.{SETTING}",
                "('memory_limit').current_setting()",
                f"(select {SETTING})",
                f"list_transform([1], lambda x: {SETTING})",
                f"sum(1) filter ({SETTING} = '')",
                f"sum(1) over (order by {SETTING})",
                "getvariable('x')",
                "json_serialize_plan('select 1')",
                "write_log('x')",
                "sleep_ms(1)",
                "nextval('x')",
            )
        ),
        f"with a as (select {SETTING}) from a",
        f"from t, lateral (select {SETTING})",
        f"describe select {SETTING}",
        f"explain select {SETTING}",
        f"from t limit (select length({SETTING}))",
        f"select * replace ({SETTING} as n) from t",
        f"select columns(c -> c = {SETTING}) from t",
        f"from (values ({SETTING}))",
        f"from range(length({SETTING}))",
        f"from range(3 order by {SETTING})",
        f"from t join t b on {SETTING} = ''",
        f"from t group by {SETTING}",
        f"from t pivot (max({SETTING}) for text in ('a1'))",
        f"from t order by {SETTING}",
        f"/* /* */ explain select 1 -- */ select {SETTING}",
    ],
    "of functions that give one": [
        "from duckdb_settings()",
        "from system.main.duckdb_settings()",
        "explain analyze from duckdb_settings()",
        "from duckdb_secrets()",
        "from which_secret('s3://a', 's3')",
        "from duckdb_databases()",
        "from query('select 1')",
        "from query_table('t')",
        "from json_execute_serialized_sql('{}')",
        "select (select max(content) from read_text('/etc/*'))",
        "from glob('/*')",
        "from read_csv('/etc/passwd')",
        "from histogram('pg_settings', 'name')",
        "from arrow_scan(1, 2, 3)",
    ],
    "reads the published tables": [
        "from pg_settings",
        "from pg_catalog.PG_Settings",
        "from system.pg_catalog.pg_settings",
        "from duckdb_databases",
        "from '/etc/passwd'",
        "from 'x.parquet'",
        "from 's3://bucket/x'",
    ],
    "no such function": ["select getenv('HOME')", "select summ(1)"],
    "is another place": [
        "from __ducklake_metadata_lake.ducklake_data_file",
        "from __DuckLake_Metadata_lake.main.ducklake_data_file",
        "from memory.information_schema.tables",
        "show tables from memory",
        "select __ducklake_metadata_lake.main.lower('x')",
        "from there.marts.t",
    ],
    "are answered": [
        "copy (select 1) to '/tmp/x.csv'",
        "attach '/tmp/x.duckdb'",
        "set memory_limit = '90GB'",
        "load httpfs",
        "checkpoint",
        "call pragma_version()",
        "pragma database_list",
        "pragma table_info('t')",
        "prepare p as select 1",
        "execute p(1)",
        "create temp macro f() as 1",
        "explain call pragma_version()",
        "/* /* */ explain select 1 -- */ call pragma_version()",
        "show databases",
        "show variables",
    ],
}


PLANTED = {
    "lake": {
        "create view lake.marts.x as select current_setting('memory_limit')": "it has the view x",
        "drop table lake.marts.t; create view lake.marts.t as select current_setting('memory_limit')": "it has the view t",
        "create macro lake.marts.lower(x) as current_setting(x)": "it has the macro lower",
        "create macro lake.marts.range(x) as table from read_text(x)": "it has the macro range",
    },
    "catalog": {
        "update ducklake_metadata set value = '/' where key = 'data_path'": "its catalog says that its data lie in /, and /",
        "update ducklake_metadata set value = 'http://127.0.0.1:9/' where key = 'data_path'": "data lie in http://127.0.0.1:9/",
        "update ducklake_data_file set path = '/etc/hostname', path_is_relative = false": "to a file elsewhere",
        "update ducklake_data_file set path = 'http://127.0.0.1:9/x', path_is_relative = false": "to a file elsewhere",
        "update ducklake_data_file set path = '../../../../x.parquet'": "to a file elsewhere",
        "update ducklake_table set path = '/etc/', path_is_relative = false": "to a file elsewhere",
        "create table kept as from ducklake_metadata; drop table ducklake_metadata; create view ducklake_metadata as from kept "
        "union all select 'x', content, null, null from read_text('/etc/hostname')": 'Cannot access file "/etc/hostname"',
    },
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A published copy, for a process that has keys."""
    path = tmp_path_factory.mktemp("published") / "audit.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(MADE)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        yield path


@pytest.fixture(scope="module")
def lake(copy: Path) -> Lake:
    """A lake that was brought up to the copy."""
    pytest.importorskip("duckdb_extension_ducklake", reason="the extra lake is not installed")
    made = Lake(SecretStr(str(copy.with_name("catalog.ducklake"))), str(copy.with_name("data")))
    write_lake(made, copy)
    return made


@pytest.fixture(scope="module", params=["plain", "lake"])
def published(request: pytest.FixtureRequest, copy: Path) -> Published:
    """What is asked."""
    if request.param == "plain":
        return Published(copy)
    return Published(copy.with_name("nowhere.duckdb"), request.getfixturevalue("lake"))


@pytest.mark.slow
def test_what_reads_is_answered_and_what_reaches_out_is_not(published: Published) -> None:
    with published.connect() as con:
        ((database,),) = con.execute("select current_database()").fetchall()
        con.execute("use marts" if published.lake is None else "use lake.marts")

        def rows(asked: str, **values: object) -> list[tuple[object, ...]]:
            return con.execute(asked, values).fetchall()

        for query in READS:
            asked = query.replace("lake_or_copy", database)
            refuse_reaching_out(rows, asked)
            rows(asked)
        for why, queries in REACHES_OUT.items():
            for query in queries:
                with pytest.raises(WarehouseError, match=why) as refused:
                    refuse_reaching_out(rows, query)
                assert "\n" not in str(refused.value)
        for name in analyses():
            refuse_reaching_out(rows, analysis(name))


def test_no_setting_has_a_key(published: Published) -> None:
    with published.connect() as con:
        shown = (
            con.execute("select * from duckdb_settings()").fetchall()
            + con.execute("from duckdb_databases()").fetchall()
        )
    assert "PLANTED" not in str(shown)


@pytest.mark.usefixtures("lake")
def test_no_setting_has_a_key_to_a_bucket_and_none_but_the_lake_s_is_asked_with_it(tmp_path: Path) -> None:
    there = Lake(SecretStr(str(tmp_path / "catalog.ducklake")), "s3://bucket/prefix")
    with attached(there, is_writer=True) as con:
        settings = con.execute("select value from duckdb_settings() where value is not null").fetchall()
        secrets = con.execute("select scope from duckdb_secrets()").fetchall()
        with pytest.raises(duckdb.PermissionException):
            con.execute("from read_text('s3://bucket/other')")
    assert "PLANTED" not in str(settings)
    assert secrets == [(["s3://bucket/prefix/"],)]


def test_what_is_listed_is_there() -> None:
    with duckdb.connect() as con:
        known = {name.casefold() for (name,) in con.execute("select function_name from duckdb_functions()").fetchall()}
        views = {name for (name,) in con.execute("select view_name from duckdb_views() where internal").fetchall()}
    assert functions() | TABLE_FUNCTIONS <= known | {"unnest", "if"}  # `if` is a function from DuckDB 2 on
    assert views >= OWN_VIEWS


def test_a_view_of_a_copy_reads_no_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create schema marts; create view marts.t as select content from read_text('/etc/hostname')")
    refused(Published(path), "leads to a file elsewhere, which is not read")


@pytest.mark.parametrize(
    ("place", "planted", "why"), [(place, *each) for place, some in PLANTED.items() for each in some.items()]
)
def test_what_somebody_planted_in_a_catalog_is_not_run_and_leads_nowhere(
    lake: Lake, tmp_path: Path, place: str, planted: str, why: str
) -> None:
    catalog = tmp_path / "catalog.ducklake"
    shutil.copy(str(lake), catalog)
    theirs = Lake(SecretStr(str(catalog)), lake.data)
    if place == "lake":
        with attached(theirs, is_writer=True) as con:
            con.execute(planted)
    else:
        with duckdb.connect(str(catalog)) as con:
            con.execute(planted)
    refused(Published(tmp_path / "nowhere.duckdb", theirs), why)


def refused(published: Published, why: str) -> None:
    """Neither our queries nor somebody's are answered, and one line says why."""
    for ask in (published.read, partial(rows_of, published)):
        with pytest.raises(WarehouseError, match=re.escape(why)) as said:
            ask("from marts.t")
        assert "\n" not in str(said.value)


def rows_of(published: Published, query: str) -> list[tuple[object, ...]]:
    """The rows of somebody's query."""
    with published.query(query, give_up=lambda: None) as (_, rows):
        return list(rows)
