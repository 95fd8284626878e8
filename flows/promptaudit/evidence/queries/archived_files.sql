select
    table_name,
    path,
    sha256
from raw.retirements
where audit_run_id = $run and list_contains($tables, table_name)
qualify row_number() over (partition by table_name order by retired_at desc) = 1
order by table_name
