-- The tables that hold the messages of a run's prompt variants
select columns.table_schema || '.' || columns.table_name as name
from information_schema.columns as columns
inner join information_schema.tables as tables using (table_catalog, table_schema, table_name)
where
    tables.table_type = 'BASE TABLE' and tables.table_catalog = current_database()
    and columns.table_schema in ('raw', 'marts')
    and columns.column_name in ('prompt', 'prompt_variant_id', 'audit_run_id')
group by all
having count(*) = 3
order by name
