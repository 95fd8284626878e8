-- what no warehouse of ours has: a macro, which may stand in for a function of DuckDB's; a column that is computed anew for each
-- query, and may answer each otherwise; a view in raw, or a view of files
select functions.function_type || ' ' || functions.schema_name || '.' || functions.function_name as name
from system.main.duckdb_functions() as functions -- of the system, since a macro could bear this name too
where
    not functions.internal
    and functions.database_name not in ('system', 'temp')
    and functions.function_type in ('macro', 'table_macro')
union all
select 'computed column of ' || tables.schema_name || '.' || tables.table_name as name
from system.main.duckdb_tables() as tables
where
    not tables.internal
    and tables.database_name = current_database()
    and contains(tables.sql, ' GENERATED ALWAYS AS(')
union all
select 'view ' || views.schema_name || '.' || views.view_name as name
from system.main.duckdb_views() as views
where
    not views.internal
    and views.database_name = current_database()
    and (
        views.schema_name = 'raw'
        or regexp_matches(
            views.sql, '(?i)\b(read_\w+|\w+_scan|glob|sniff_csv|parquet_\w+|query|query_table|getenv)"?\s*\('
        )
        or regexp_matches(views.sql, '(?i)"[^"]*([/\\]|\.(csv|tsv|json|jsonl|ndjson|parquet|txt)(\.\w+)?)"')
    )
order by name
limit 1
