select table_name
from information_schema.tables
where table_schema = 'marts' and table_name = 'rpt_audit'
