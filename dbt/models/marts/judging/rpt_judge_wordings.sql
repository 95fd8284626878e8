-- One row per run, judge and task: how much the judge's verdict depends on the wording of its rubric, over the answers that it
-- ruled on under every wording.
{{ config(pre_hook='{{ delete_in_this_build() }}') }}
with verdicts as {{ of_this_build('int_rubric_verdicts') }},

by_wording as {{ of_this_build('fct_judge_wordings') }},

-- of the repetitions under one wording
shares as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        item,
        wording_index,
        unnest([0, 1, 2]) as class_index,
        unnest([n_no_match, n_match, n_unreadable]) / (n_no_match + n_match + n_unreadable) as share
    from verdicts
),

sensitivities as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        try_sensitivity_interval(
            {{ told_as(keys=['audit_run_id', 'task_id']) }},
            list(item), list(wording_index), list(wording_index), list(class_index), list(share), 3
        ) as sensitivity
    from shares
    where share > 0
    group by all
),

agreements as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        count(distinct item)::integer as n_answers,
        count(distinct wording_index)::integer as n_wordings,
        try_rater_agreement(
            {{ told_as(keys=['audit_run_id', 'task_id']) }},
            list(item), list(wording_index), list(ruling_index)
        ) as agreement
    from verdicts
    group by all
),

rates as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        min(match_rate) as match_rate_min,
        max(match_rate) as match_rate_max,
        stddev_pop(match_rate) as match_rate_std
    from by_wording
    group by all
),

final as (
    select
        agreements.audit_run_id,
        agreements.task_id,
        agreements.scoring_method,
        agreements.n_answers,
        agreements.n_wordings,
        sensitivities.sensitivity.mean as sensitivity,
        sensitivities.sensitivity.low as sensitivity_low,
        sensitivities.sensitivity.high as sensitivity_high,
        sensitivities.sensitivity.corrected as sensitivity_corrected,
        sensitivities.sensitivity.corrected_low as sensitivity_corrected_low,
        sensitivities.sensitivity.corrected_high as sensitivity_corrected_high,
        agreements.agreement.fleiss_kappa as fleiss_kappa,
        rates.match_rate_min,
        rates.match_rate_max,
        rates.match_rate_std,
        {{ measure_version() }}
    from agreements
    inner join sensitivities using (audit_run_id, task_id, scoring_method)
    inner join rates using (audit_run_id, task_id, scoring_method)
)

select * from final
