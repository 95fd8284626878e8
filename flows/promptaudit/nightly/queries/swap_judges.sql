-- Has another model answer for the judges of a run, which turns one ruling in four, the same ones each night.
with rulings as (
    select
        verdicts.verdict_id,
        verdicts.judge_id,
        verdicts.judge_key,
        verdicts.completion,
        read.is_match,
        md5(concat_ws(' ', $seed, verdicts.control_id, read.task_id, read.sample_id)) < '4' as is_turned
    from raw.verdicts as verdicts
    inner join marts.fct_verdicts as read
        on read.audit_run_id = $source and verdicts.verdict_id = read.verdict_id
    where verdicts.audit_run_id = $run and not starts_with(verdicts.judge_id, 'person:')
),

words as (
    select
        judge_id,
        judge_key,
        is_match,
        min(completion) as completion
    from rulings
    where is_match is not null
    group by all
),

turned as (
    select
        rulings.verdict_id,
        if(rulings.is_turned, words.completion, null) as completion
    from rulings
    left join words
        on
            rulings.judge_id = words.judge_id
            and rulings.judge_key = words.judge_key
            and rulings.is_match = not words.is_match
)

update raw.verdicts
set completion = coalesce(turned.completion, verdicts.completion), served_model = 'another-judge'
from turned
where verdicts.audit_run_id = $run and verdicts.verdict_id = turned.verdict_id
