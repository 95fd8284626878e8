select
    audit_run_id,
    audit_id,
    started_at,
    origin = 'trial' as is_trial
from dim_nights
order by started_at desc, audit_run_id desc
