-- The wordings of a run that are better than the original beyond chance, the one whose gain is the surest first.
select
    choices.*,
    variants.variant_index,
    variants.paraphrase_temperature,
    variants.variation
from marts.rpt_wording_choices as choices
inner join marts.dim_prompt_variants as variants using (audit_run_id, prompt_variant_id)
where choices.audit_run_id = $run and choices.is_better
order by choices.gain_low desc, choices.task_id asc, choices.model_id asc, choices.strategy asc, choices.scoring_method asc
