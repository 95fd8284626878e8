-- One row per run and sample, as landed.
select
    *,
    {{ measure_version() }}
from {{ ref('stg_samples') }}
where {{ in_this_build() }}
