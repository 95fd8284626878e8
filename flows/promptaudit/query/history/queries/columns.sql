select
    column_name as name,
    regexp_matches(data_type, 'INT|DOUBLE|FLOAT|DECIMAL') as is_numeric
from information_schema.columns
where table_schema = 'marts' and table_name = 'rpt_audit'
order by ordinal_position
