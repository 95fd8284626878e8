-- of each night the mean over its samples of a measure beside the label; a length, kept as a logarithm, is a count again
select
    figures.audit_run_id,
    figures.task_id,
    figures.model_id,
    figures.strategy,
    figures.measure as scoring_method,
    -- to as many digits as do not depend on the order of rows
    round(
        if(figures.measure in ('answer_length', 'completion_tokens'), exp(avg(figures.figure)) - 1, avg(figures.figure)), 9
    ) as figure,
    null as low,
    null as high,
    count(*) as n_samples,
    any_value(groups.n_variants) as n_variants,
    any_value(groups.n_variants_answered) as n_variants_answered,
    any_value(groups.n_repetitions) as n_repetitions,
    any_value(figures.measure_version) as measure_version
from marts.fct_sample_values as figures
inner join nights using (audit_run_id)
inner join marts.rpt_audit as groups using (audit_run_id, model_id, task_id, strategy)
where figures.measure in ('answer_length', 'completion_tokens', 'token_limit_rate', 'refusal_rate')
group by figures.audit_run_id, figures.task_id, figures.model_id, figures.strategy, figures.measure
order by any_value(nights.run_index)
