-- For each program that scored a run's answers: how many it scored, how many of these the task's own rule scores otherwise,
-- and the first of them.
with scores as (
    select
        audit_run_id,
        prediction_id,
        task_id,
        sample_id,
        scoring_method,
        coalesce(is_correct, score = 1, false) as is_correct,
        is_correct is not null as is_ruled,
        score_state,
        unscored_kind
    from marts.fct_scores
    where audit_run_id = $run
),

programs as (
    select * from scores
    where starts_with(scoring_method, 'judge:') and is_ruled
),

rules as (
    select scores.*
    from scores
    inner join marts.dim_tasks as tasks
        on
            scores.audit_run_id = tasks.audit_run_id
            and scores.task_id = tasks.task_id
            and scores.scoring_method = tasks.scoring_methods[1]
    where scores.unscored_kind is distinct from 'no_key'
),

compared as (
    select
        programs.scoring_method,
        programs.task_id,
        programs.sample_id,
        programs.is_correct as is_correct_there,
        rules.is_correct as is_correct_here,
        answers.completion,
        programs.is_correct != rules.is_correct as is_different,
        row_number() over (
            partition by programs.scoring_method
            order by programs.is_correct != rules.is_correct desc, samples.sample_index asc, programs.prediction_id asc
        ) as place
    from programs
    inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
    inner join marts.fct_predictions as answers using (audit_run_id, prediction_id)
    inner join rules using (audit_run_id, prediction_id)
),

final as (
    select
        substr(scoring_method, 7) as program,
        count(*) as n_scored,
        count(*) filter (where is_different) as n_different,
        any_value(task_id) filter (where place = 1) as task_id,
        any_value(sample_id) filter (where place = 1) as sample_id,
        any_value(is_correct_there) filter (where place = 1) as is_correct_there,
        left(any_value(completion) filter (where place = 1), 60) as completion
    from compared
    group by scoring_method
    having bool_or(is_different)
    order by program
)

select * from final
