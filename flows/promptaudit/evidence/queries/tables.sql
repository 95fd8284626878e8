select
    table_schema,
    table_name,
    table_type = 'VIEW' as is_view
from information_schema.tables
where table_schema in ('main', 'marts', 'raw')
order by all
