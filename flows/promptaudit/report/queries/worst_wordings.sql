-- The wordings of one model, task and strategy: how accurate each is by one scoring method, of extraction in $field, and whether
-- it breaks; one that does first.
with scores as (
    select
        prompt_variant_id,
        accuracy_fitted,
        accuracy_shrunk,
        row_number() over (
            partition by prompt_variant_id
            order by
                scoring_method is distinct from 'field:' || $field,
                scoring_method != 'label_match',
                starts_with(scoring_method, 'judge:'),
                scoring_method
        ) as place
    from marts.fct_variant_accuracy
    where audit_run_id = $run and model_id = $model and task_id = $task and strategy = $strategy
)

select
    variants.task_id,
    variants.prompt_variant_id,
    variants.paraphrase_temperature,
    variants.variant_index,
    variants.is_original,
    variants.variation,
    left(variants.instruction, $long) as instruction,
    scores.accuracy_fitted,
    scores.accuracy_shrunk,
    coalesce(answers.is_breaking, false) as is_breaking,
    answers.working_rate,
    answers.working_rate_of_others
from marts.dim_prompt_variants as variants
inner join marts.rpt_prompt_variants as answers
    on
        variants.audit_run_id = answers.audit_run_id and variants.prompt_variant_id = answers.prompt_variant_id
        and answers.model_id = $model
left join scores on variants.prompt_variant_id = scores.prompt_variant_id and scores.place = 1
where
    variants.audit_run_id = $run and variants.task_id = $task and variants.strategy = $strategy
order by is_breaking desc, scores.accuracy_fitted asc nulls last, variants.prompt_variant_id asc
