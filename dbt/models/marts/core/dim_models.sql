-- One row per run and model, as landed.
with models as {{ of_this_build('stg_models') }},

final as (
    select
        *,
        {{ measure_version() }}
    from models
)

select * from final
