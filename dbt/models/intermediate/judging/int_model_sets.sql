-- One row per run, set of models and model in it: all of them, and the subsets the audit's card names.
with runs as {{ of_this_build('stg_audit_runs') }},

models as {{ of_this_build('stg_models') }},

cards as (
    select
        audit_run_id,
        cast(json_extract(card, '$.audits') as map (varchar, json)) as audits,
        audit_id
    from runs
),

named as (
    select
        audit_run_id,
        unnest(
            map_entries(cast(json_extract(audits[audit_id], '$.model_sets') as map (varchar, varchar[])))
        ) as entry
    from cards
    where audits is not null
),

final as (
    select
        audit_run_id,
        'all' as model_set,
        model_id
    from models
    union all
    select
        audit_run_id,
        entry.key as model_set,
        unnest(entry.value) as model_id
    from named
)

select * from final
