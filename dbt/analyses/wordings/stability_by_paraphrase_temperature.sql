-- How agreement between wordings falls as the rephraser may reword more freely, in each audit's newest run.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
)

select
    newest.audit_id,
    found.model_id,
    found.task_id,
    found.strategy,
    found.paraphrase_temperature,
    found.pss,
    found.pss_low,
    found.pss_high,
    found.pss_wordings_low,
    found.pss_wordings_high,
    found.pss - first_value(found.pss) over (
        partition by found.audit_run_id, found.model_id, found.task_id, found.strategy
        order by found.paraphrase_temperature nulls first
    ) as difference_from_coolest,
    found.n_annotators as n_variants,
    found.n_distinct_wordings,
    found.n_samples
from {{ ref('fct_prompt_stability') }} as found
inner join newest using (audit_run_id)
where found.scope = 'inter' and found.series = 'all' and found.annotation_filter = 'labels_and_na'
order by newest.audit_id, found.model_id, found.task_id, found.strategy, found.paraphrase_temperature nulls first
