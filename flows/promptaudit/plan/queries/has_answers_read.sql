-- a warehouse before its first build has no marts
select 1 as is_there
from duckdb_tables()
where schema_name = 'marts' and table_name = 'fct_predictions'
