"""dbt finds the plugin, and its connections know the measures."""

from __future__ import annotations

import duckdb
import pytest
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt_common.exceptions import DbtRuntimeError

from promptaudit.udfs.register import functions, register


def test_dbt_finds_the_plugin_by_its_module() -> None:
    created = BasePlugin.create("promptaudit.udfs.plugin")
    with duckdb.connect() as connection:
        created.configure_connection(connection)
        assert connection.sql("select normalised_entropy([.5, .5], 2)").fetchall() == [(1,)]
        known = {name for (name,) in connection.sql("select function_name from duckdb_functions()").fetchall()}
        assert set(functions()) <= known


def test_an_odd_id_stops_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    # without an id all runs are derived
    monkeypatch.setenv("PROMPTAUDIT_RUN_IDS", "a0,b-0")
    message = "PROMPTAUDIT_RUN_IDS holds ids with commas between them and no spaces, and 'b-0' is no id"
    with duckdb.connect() as connection, pytest.raises(DbtRuntimeError, match=message):
        BasePlugin.create("promptaudit.udfs.plugin").configure_connection(connection)


def test_a_name_that_is_taken_leaves_a_connection_as_it_was() -> None:
    with duckdb.connect() as connection:
        connection.execute("create macro Wording_Quantiles(x) as x")
        before = connection.sql("select count(*) from duckdb_functions()").fetchall()
        with pytest.raises(ValueError, match=r"already: wording_quantiles$"):
            register(connection)
        assert connection.sql("select count(*) from duckdb_functions()").fetchall() == before
