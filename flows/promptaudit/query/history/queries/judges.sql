-- of each judge how often it ruled on anchors as is known; it stands in the place of a model
select
    figures.audit_run_id,
    figures.task_id,
    figures.scoring_method as model_id,
    'anchors' as strategy,
    figures.judge_agreement as figure,
    figures.judge_agreement_low as low,
    figures.judge_agreement_high as high,
    figures.n_ruled as n_samples,
    1 as n_variants,
    figures.measure_version
from marts.rpt_judge_anchors as figures
inner join nights using (audit_run_id)
order by nights.run_index
