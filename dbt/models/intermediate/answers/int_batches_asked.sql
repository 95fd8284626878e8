-- One row per run that may stop before all samples are asked, model, task and strategy: how many batches of samples it is asked.
-- Of a run that goes on, those up to the next look.
{{ config(materialized='view') }}
with designs as (
    select * from {{ ref('stg_designs') }}
    where stop is not null and {{ in_this_build() }}
),

batches as (
    select * from {{ ref('stg_sample_batches') }}
    where {{ in_this_build() }}
),

variants as (
    select * from {{ ref('stg_prompt_variants') }}
    where not is_refused and {{ in_this_build() }}
),

models as (
    select * from {{ ref('stg_models') }}
    where {{ in_this_build() }}
),

looks as (
    select * from {{ ref('stg_looks') }}
    where {{ in_this_build() }}
),

groups as (
    select distinct
        variants.audit_run_id,
        models.model_id,
        variants.task_id,
        variants.strategy
    from variants
    inner join designs using (audit_run_id)
    inner join models using (audit_run_id)
),

planned as (
    select
        audit_run_id,
        task_id,
        max(batch) as n_batches_planned
    from batches
    group by all
),

looked as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        max(look) as last_look,
        bool_or(is_stopped) as is_stopped
    from looks
    group by all
),

final as (
    select
        groups.audit_run_id,
        groups.model_id,
        groups.task_id,
        groups.strategy,
        coalesce(looked.is_stopped, false) as is_stopped,
        case
            when looked.is_stopped then looked.last_look
            else least(coalesce(looked.last_look, 0) + 1, planned.n_batches_planned)
        end as n_batches
    from groups
    inner join planned using (audit_run_id, task_id)
    left join looked using (audit_run_id, model_id, task_id, strategy)
)

select * from final
