-- One row per run, model, task, strategy and sample: how much its label depends on the wording.
with p_taus as {{ of_this_build('fct_p_tau') }},

wordings as {{ of_this_build('int_wordings_shared') }},

predictions as {{ of_this_build('int_predictions_measured') }},

weighed as {{ of_this_build('int_options_weighed') }},

others as {{ of_this_build('int_samples_compared') }},

spread as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_id,
        sample_index,
        gold_label,
        n_variants,
        count(*) as n_classes,
        list(p_tau) as p_taus,
        list(p_tau) filter (label is not null) as p_taus_valid,
        sum(p_tau) filter (label is not null) as p_valid
    from p_taus
    group by all
),

corrected as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        list(wording_index) as wordings,
        list(label_index) as labels,
        list(p_wording) as shares
    from wordings
    group by all
),

answered as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        count(*) as n_predictions,
        -avg(mean_token_logprob) as output_uncertainty,
        if(any_value(gold_label) is null, null, count(*) filter (is_correct)) as n_correct
    from predictions
    group by all
),

likelihoods as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        try_posix(
            {{ group_keys() }},
            list(option_loglikelihoods order by prompt_variant_id)
        ) as posix
    from weighed
    group by all
),

final as (
    select
        spread.audit_run_id,
        spread.model_id,
        spread.task_id,
        spread.strategy,
        spread.sample_id,
        spread.gold_label,
        case
            when spread.n_variants >= 2
                then try_normalised_entropy(
                    {{ group_keys('spread', is_row=true) }},
                    spread.p_taus, spread.n_classes::integer
                )
        end as sensitivity,
        case
            when spread.n_variants >= 2 and spread.p_valid > 0
                then try_normalised_entropy(
                    {{ group_keys('spread', is_row=true) }},
                    list_transform(spread.p_taus_valid, lambda p: p / spread.p_valid), (spread.n_classes - 1)::integer
                )
        end as sensitivity_valid,
        try_corrected_sensitivity(
            {{ group_keys('spread', is_row=true) }},
            corrected.wordings, corrected.labels, corrected.shares, spread.n_classes::integer
        ) as sensitivity_corrected,
        others.mean_consistency,
        answered.output_uncertainty,
        likelihoods.posix,
        spread.n_variants,
        answered.n_correct,
        answered.n_predictions,
        {{ measure_version() }}
    from spread
    inner join corrected using (audit_run_id, model_id, task_id, strategy, sample_index)
    inner join answered using (audit_run_id, model_id, task_id, strategy, sample_index)
    left join others using (audit_run_id, model_id, task_id, strategy, sample_index)
    left join likelihoods using (audit_run_id, model_id, task_id, strategy, sample_index)
    -- sums over it are in this order, whichever way a build came by the rows
    order by spread.audit_run_id, spread.model_id, spread.task_id, spread.strategy, spread.sample_id
)

select * from final
