with measured as (
    select
        model_id,
        task_id,
        strategy,
        sample_id,
        true as is_measured,
        sensitivity as disagreement,
        n_predictions
    from marts.fct_sensitivity
    where audit_run_id = $run and sensitivity is not null
),

-- of open answers, and of one wording: by their distinct answers, of the first samples alone
counted as (
    select
        said.model_id,
        said.task_id,
        said.strategy,
        said.sample_id,
        false as is_measured,
        (count(distinct coalesce(said.label, said.completion)) - 1) / greatest(count(*) - 1, 1) as disagreement,
        count(*) as n_predictions
    from marts.fct_predictions as said
    inner join marts.dim_samples as samples using (audit_run_id, task_id, sample_id)
    anti join (
        select distinct
            model_id,
            task_id,
            strategy
        from measured
    ) as groups using (model_id, task_id, strategy)
    where said.audit_run_id = $run and samples.sample_index < $most_counted and said.answer_status <> 'error'
    group by all
),

placed as (
    select
        *,
        row_number() over (
            partition by model_id, task_id, strategy order by disagreement desc, sample_id asc
        ) as place
    from (
        select * from measured
        union all
        select * from counted
    ) as differing
)

-- One row per model, task, strategy and sample, largest disagreement first: the worst sample of each group, then the second of
-- each; a sample without any, beyond a group's first ten, only where all others have their place.
select
    model_id,
    task_id,
    strategy,
    sample_id,
    is_measured,
    disagreement,
    sum(n_predictions) over (
        order by
            disagreement = 0 and place > 10 asc, place asc, disagreement desc, model_id asc, task_id asc, strategy asc
        rows unbounded preceding
    ) as n_so_far
from placed
qualify n_so_far <= $most_answers
order by n_so_far
