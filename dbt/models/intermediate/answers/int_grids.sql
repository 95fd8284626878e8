-- One row per run, task and strategy: how many wordings there are, and whether each sample is asked under some of them alone.
{{ config(materialized='view') }}
with variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

designs as {{ of_this_build('stg_designs') }},

counted as (
    select
        audit_run_id,
        task_id,
        strategy,
        count(*) as n_wordings
    from variants
    group by all
),

final as (
    select
        counted.*,
        if(designs.wordings_per_sample < counted.n_wordings, designs.wordings_per_sample, null) as wordings_per_sample,
        coalesce(designs.wordings_per_sample < counted.n_wordings, false) as is_incomplete
    from counted
    left join designs using (audit_run_id)
)

select * from final
