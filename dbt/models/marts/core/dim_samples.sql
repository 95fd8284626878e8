-- One row per run and sample, as landed.
with samples as (
    select * from {{ ref('stg_samples') }}
    where {{ in_this_build() }}
),

final as (
    select
        *,
        {{ measure_version() }}
    from samples
)

select * from final
