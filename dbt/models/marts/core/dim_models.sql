-- One row per run and model, as landed.
select
    *,
    {{ measure_version() }}
from {{ ref('stg_models') }}
where {{ in_this_build() }}
