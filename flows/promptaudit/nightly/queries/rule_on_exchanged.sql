-- Has the judges of a run rule against the answers that were exchanged, in words with which they ruled against others.
with ruled as (
    select verdicts.*
    from raw.verdicts as verdicts
    inner join marts.fct_verdicts as read
        on read.audit_run_id = $source and verdicts.verdict_id = read.verdict_id
    where
        verdicts.audit_run_id = $run
        and read.is_settled
        and not read.is_match
        and not starts_with(verdicts.judge_id, 'person:')
        and verdicts.other_prediction_id is null
        and verdicts.prompt_variant_id is null
    qualify
        row_number() over (
            partition by verdicts.judge_id, verdicts.judge_key, verdicts.repetition
            order by verdicts.verdict_id
        ) = 1
),

answers as (
    select
        task_id,
        sample_id,
        completion,
        min(prediction_id) as prediction_id
    from raw.predictions
    where audit_run_id = $run and list_contains($wrong, prediction_id) and completion != ''
    group by all
)

insert into raw.verdicts by name
select
    ruled.* replace (
        md5(concat_ws(' ', $run, answers.prediction_id, ruled.verdict_id)) as verdict_id,
        answers.prediction_id as prediction_id,
        null as control_id
    )
from ruled
cross join answers
