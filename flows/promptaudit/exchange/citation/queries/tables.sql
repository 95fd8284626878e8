-- One row per table of a warehouse, with the names of its columns.
select
    schema_name,
    table_name,
    list(column_name) as columns
from duckdb_columns()
inner join duckdb_tables() using (table_oid, schema_name, table_name, database_name)
where not duckdb_tables.internal
group by all
order by all
