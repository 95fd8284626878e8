-- One row per run, judge and wording of its rubric that it rules under now; none of judges whose rubric is not reworded.
{{ config(materialized='view') }}
with wordings as {{ of_this_build('stg_judge_wordings', where='wording_key is not null') }},

judges as {{ of_this_build('stg_judges') }},

final as (
    select
        wordings.*,
        (count(*) over (partition by wordings.audit_run_id, wordings.judge_id))::integer as n_wordings
    from wordings
    semi join judges using (audit_run_id, judge_id, judge_key, rephrasing_key)
)

select * from final
