-- One row per run.
select
    *,
    {{ measure_version() }}
from {{ ref('stg_audit_runs') }}
where {{ in_this_build() }}
