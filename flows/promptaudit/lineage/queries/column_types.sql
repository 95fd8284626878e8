select
    table_schema,
    table_name,
    column_name,
    data_type
from information_schema.columns
where table_schema in ('raw', 'staging', 'intermediate', 'marts')
order by table_schema, table_name, ordinal_position
