-- One row per run and model, as landed, and what served it when it was opened last.
with models as {{ of_this_build('stg_models') }},

engines as {{ of_this_build('stg_engines') }},

served as (
    select
        audit_run_id,
        model_id,
        max_by(engine_version, opened_at) as engine_version,
        max_by(served_model, opened_at) as served_model,
        max_by(context_length, opened_at) as context_length,
        max_by(weights_sha256, opened_at) as weights_sha256,
        max_by(chat_template, opened_at) as chat_template
    from engines
    group by all
),

final as (
    select
        models.*,
        served.engine_version,
        served.served_model,
        served.context_length,
        served.weights_sha256,
        served.chat_template,
        {{ measure_version() }}
    from models
    left join served using (audit_run_id, model_id)
)

select * from final
