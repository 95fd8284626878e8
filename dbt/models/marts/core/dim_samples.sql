-- One row per run and sample, as landed.
with samples as {{ of_this_build('stg_samples') }},

final as (
    select
        *,
        {{ measure_version() }}
    from samples
)

select * from final
