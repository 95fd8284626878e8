select
    if(table_catalog = 'temp', 'temp', table_schema) || '.' || table_name as name,
    column_name
from information_schema.columns
where data_type like $data_type
order by all
