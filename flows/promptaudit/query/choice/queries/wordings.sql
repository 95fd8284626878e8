-- The wordings of a run and what speaks for shipping each, the chosen one of a group first; of several scoring methods by the
-- label, else by a rule, else by a judge.
select
    choices.*,
    variants.variant_index,
    variants.paraphrase_temperature,
    variants.variation,
    variants.instruction,
    scorecards.accuracy_majority,
    scorecards.accuracy_majority_low,
    scorecards.accuracy_majority_high,
    scorecards.majority_gain,
    scorecards.majority_gain_low,
    scorecards.majority_gain_high
from marts.rpt_wording_choices as choices
inner join marts.dim_prompt_variants as variants using (audit_run_id, prompt_variant_id)
left join marts.rpt_audit as scorecards
    on
        choices.scoring_method in ('label_match', 'option_letter')
        and choices.audit_run_id = scorecards.audit_run_id
        and choices.model_id = scorecards.model_id
        and choices.task_id = scorecards.task_id
        and choices.strategy = scorecards.strategy
where choices.audit_run_id = $run
qualify
    dense_rank() over (
        partition by choices.model_id, choices.task_id, choices.strategy
        order by
            choices.scoring_method != 'label_match', starts_with(choices.scoring_method, 'judge:'), choices.scoring_method
    ) = 1
order by choices.task_id, choices.model_id, choices.strategy, choices.choice_rank
