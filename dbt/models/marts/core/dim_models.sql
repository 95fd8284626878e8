-- One row per run and model, as landed, and what served it when it was opened last.
with models as {{ of_this_build('stg_models') }},

engines as {{ of_this_build('stg_engines') }},

served as (
    select
        audit_run_id,
        model_id,
        max_by(struct_pack(engine_version, served_model, context_length, weights_sha256, chat_template), opened_at) as by
    from engines
    group by all
),

final as (
    select
        models.*,
        served.by.engine_version,
        served.by.served_model,
        served.by.context_length,
        served.by.weights_sha256,
        served.by.chat_template,
        {{ measure_version() }}
    from models
    left join served using (audit_run_id, model_id)
)

select * from final
