-- one row an answer that people had ruled on before a run began, of earlier runs of its audit: the majority of who ruled, a tie
-- left out. What they ruled on in runs that are in the archive is carried from run to run as a control.
with own as (
    select
        audit_id,
        started_at,
        run_index
    from raw.audit_runs
    where audit_run_id = $run
),

earlier as (
    select runs.audit_run_id
    from raw.audit_runs as runs
    inner join own on runs.audit_id = own.audit_id and runs.run_index < own.run_index
),

rulings as (
    select
        predictions.audit_run_id,
        predictions.task_id,
        predictions.sample_id,
        predictions.completion,
        verdicts.judge_id,
        verdicts.is_match,
        0 as run_index,
        verdicts.landed_at,
        true as is_ruling
    from raw.verdicts as verdicts
    inner join raw.predictions as predictions using (audit_run_id, prediction_id)
    inner join earlier using (audit_run_id)
    where
        starts_with(verdicts.judge_id, 'person:')
        and verdicts.is_match is not null
        and verdicts.landed_at < (select started_at from own)
    union all
    select
        controls.audit_run_id,
        controls.task_id,
        controls.sample_id,
        controls.completion,
        '' as judge_id,
        controls.is_match,
        runs.run_index,
        null as landed_at,
        false as is_ruling
    from raw.judge_controls as controls
    inner join earlier using (audit_run_id)
    inner join raw.audit_runs as runs using (audit_run_id)
    where controls.kind = 'ruled'
),

-- to a question that is asked in the same words, and with the same key
answered as (
    select rulings.*
    from rulings
    inner join raw.samples as before using (audit_run_id, task_id, sample_id)
    inner join raw.samples as now
        on
            now.audit_run_id = $run
            and rulings.task_id = now.task_id
            and rulings.sample_id = now.sample_id
            and before.input is not distinct from now.input
            and before.gold_label is not distinct from now.gold_label
            and before.reference_answers is not distinct from now.reference_answers
    where rulings.task_id in (select unnest($tasks)) and regexp_matches(rulings.completion, '\S')
),

last_words as (
    select
        task_id,
        sample_id,
        completion,
        judge_id,
        is_ruling,
        arg_max(is_match, (run_index, landed_at)) as is_match,
        bool_or(is_ruling) over (partition by task_id, sample_id, completion) as has_rulings
    from answered
    group by task_id, sample_id, completion, judge_id, is_ruling
)

select
    task_id,
    sample_id,
    completion,
    count(*) filter (is_match) > count(*) filter (not is_match) as is_match
from last_words
where is_ruling = has_rulings
group by task_id, sample_id, completion
having count(*) filter (is_match) != count(*) filter (not is_match)
