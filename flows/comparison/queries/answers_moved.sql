-- Of each group of a comparison that regressed or changed: the label that most more samples of a gold label have as their
-- commonest answer in the candidate than in the base, of the samples that both asked with the same text and options. A null
-- label is no readable answer. What only costs more has no confusion.
with compared as (
    select distinct
        base_run_id,
        candidate_run_id,
        base_model_id,
        model_id,
        task_id,
        strategy
    from marts.rpt_run_comparisons
    where
        comparison_id = $comparison
        and verdict in ('regressed', 'changed')
        and (
            measure in ('micro_f1', 'label_churn', 'sensitivity', 'sensitivity_corrected', 'consistency')
            or starts_with(measure, 'accuracy:')
        )
),

commonest as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        any_value(gold_label) as gold_label,
        -- of equally common ones the first of the card; no valid answer is the last
        arg_max_null(label, (p_tau, label_index >= 0, -label_index)) as label
    from marts.fct_p_tau
    where
        audit_run_id in (select base_run_id from compared)
        or audit_run_id in (select candidate_run_id from compared)
    group by all
),

paired as (
    select
        compared.model_id,
        compared.task_id,
        compared.strategy,
        candidate.gold_label,
        candidate.label,
        base.label as label_before,
        count(*) over (
            partition by compared.model_id, compared.task_id, compared.strategy, candidate.gold_label
        ) as n_moved_samples
    from compared
    inner join commonest as candidate
        on
            compared.candidate_run_id = candidate.audit_run_id
            and compared.model_id = candidate.model_id
            and compared.task_id = candidate.task_id
            and compared.strategy = candidate.strategy
    inner join commonest as base
        on
            compared.base_run_id = base.audit_run_id
            and compared.base_model_id = base.model_id
            and compared.task_id = base.task_id
            and compared.strategy = base.strategy
            and candidate.sample_id = base.sample_id
            and candidate.gold_label = base.gold_label
    inner join marts.dim_samples as asked
        on
            compared.candidate_run_id = asked.audit_run_id
            and compared.task_id = asked.task_id
            and candidate.sample_id = asked.sample_id
    inner join marts.dim_samples as asked_before
        on
            compared.base_run_id = asked_before.audit_run_id
            and compared.task_id = asked_before.task_id
            and base.sample_id = asked_before.sample_id
    where
        asked.input is not distinct from asked_before.input
        and asked.options is not distinct from asked_before.options
),

said as (
    select
        * exclude (label, label_before),
        unnest([label, label_before]) as label,
        unnest([true, false]) as is_candidate
    from paired
),

counted as (
    select
        * exclude (is_candidate),
        count(*) filter (is_candidate) as n_moved,
        count(*) filter (not is_candidate) as n_moved_before
    from said
    where label is distinct from gold_label
    group by all
)

select
    model_id,
    task_id,
    strategy,
    gold_label as moved_gold_label,
    label as moved_label,
    n_moved,
    n_moved_before,
    n_moved_samples
from counted
where n_moved > n_moved_before
qualify
    row_number() over (
        partition by model_id, task_id, strategy
        order by n_moved - n_moved_before desc, gold_label asc, label asc nulls last
    ) = 1
order by n_moved - n_moved_before desc, model_id asc, task_id asc, strategy asc
