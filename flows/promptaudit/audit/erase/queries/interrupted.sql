select distinct audit_run_id
from raw.erasures as erased
where not exists (
    from raw.seals
    where seals.audit_run_id = erased.audit_run_id and reason = 'erased' and sealed_at > erased_at
)
