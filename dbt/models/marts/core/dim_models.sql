-- One row per run and model, as landed.
with models as (
    select * from {{ ref('stg_models') }}
    where {{ in_this_build() }}
),

final as (
    select
        *,
        {{ measure_version() }}
    from models
)

select * from final
