-- Where a judge and people rule differently, wording by wording: in the newest run of each audit on which people ruled.
with scores as (
    select * from {{ ref('fct_scores') }}
    where is_correct is not null
),

ruled as (
    select
        nights.audit_id,
        audit_run_id
    from {{ ref('dim_nights') }} as nights
    inner join scores using (audit_run_id)
    where scores.scoring_method = 'people'
    group by nights.audit_id, audit_run_id, nights.run_index
    qualify row_number() over (partition by nights.audit_id order by nights.run_index desc) = 1
)

select
    ruled.audit_id,
    judged.task_id,
    judged.model_id,
    judged.strategy,
    judged.scoring_method as judge,
    judged.prompt_variant_id,
    count(*) as n_answers,
    avg((judged.is_correct = people.is_correct)::integer) as agreement_rate,
    avg(judged.is_correct::integer) as accuracy_by_judge,
    avg(people.is_correct::integer) as accuracy_by_people,
    count(*) filter (judged.is_correct and not people.is_correct) as n_too_kind,
    count(*) filter (people.is_correct and not judged.is_correct) as n_too_harsh,
    any_value(variants.instruction) as instruction
from scores as judged
inner join ruled using (audit_run_id)
inner join scores as people using (audit_run_id, prediction_id)
inner join {{ ref('dim_prompt_variants') }} as variants
    on judged.audit_run_id = variants.audit_run_id and judged.prompt_variant_id = variants.prompt_variant_id
where starts_with(judged.scoring_method, 'judge:') and people.scoring_method = 'people'
group by all
order by
    agreement_rate asc,
    ruled.audit_id asc,
    judged.task_id asc,
    judged.model_id asc,
    judged.strategy asc,
    judge asc,
    judged.prompt_variant_id asc
