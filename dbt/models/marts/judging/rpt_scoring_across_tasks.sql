-- One row per run, task, scoring method and model: accuracy over the templates of the task and its spread, beside the rule's, and
-- the model's place among the models. The rule is the first of the task's card. Models that answer at random, or with errors on
-- purpose, have no place.
with spreads as (
    select
        *,
        {{ kind_of_rater('scoring_method') }} as kind
    from {{ ref('fct_scoring_sensitivity') }}
    where {{ in_this_build() }}
),

tasks as {{ of_this_build('stg_tasks') }},

models as {{ of_this_build('stg_models') }},

rules as (
    select spreads.*
    from spreads
    inner join tasks using (audit_run_id, task_id)
    where spreads.kind = 'rule'
    qualify
        row_number() over (
            partition by spreads.audit_run_id, spreads.task_id, spreads.model_id
            order by nullif(list_position(tasks.scoring_methods, spreads.scoring_method), 0) nulls last, spreads.scoring_method
        ) = 1
),

compared as (
    select
        spreads.*,
        models.is_reference,
        rules.scoring_method as rule,
        -- people rule on some of the questions, which are then not those of the rule
        rules.scoring_method != spreads.scoring_method and rules.n_samples = spreads.n_samples as is_compared,
        spreads.accuracy_mean - rules.accuracy_mean as mean_difference,
        spreads.accuracy_std_sample - rules.accuracy_std_sample as std_difference,
        -- the last digits of a mean differ from build to build: what is equal but for them is equal
        round(-spreads.accuracy_mean, 9) as place_of_mean,
        round(spreads.accuracy_std_sample, 9) as place_of_std
    from spreads
    left join rules using (audit_run_id, task_id, model_id)
    inner join models using (audit_run_id, model_id)
),

ranked as (
    select
        *,
        {%- for figure in ['mean', 'std'] %}
            rank() over (
                partition by audit_run_id, task_id, scoring_method, is_reference order by place_of_{{ figure }} nulls last
            ) as order_of_{{ figure }},
        {%- endfor %}
        count(accuracy_mean) filter (not is_reference)
            over (partition by audit_run_id, task_id, scoring_method) as n_ranked
    from compared
),

final as (
    select
        audit_run_id,
        task_id,
        scoring_method,
        kind,
        model_id,
        n_variants,
        n_samples,
        accuracy_mean,
        accuracy_std,
        accuracy_std_sample,
        accuracy_std_corrected,
        accuracy_std_corrected_low,
        accuracy_std_corrected_high,
        rule,
        if(is_compared, mean_difference, null) as mean_difference,
        if(is_compared, std_difference, null) as std_difference,
        if(is_reference or accuracy_mean is null, null, order_of_mean)::integer as rank_of_mean,
        if(is_reference or accuracy_std_sample is null, null, order_of_std)::integer as rank_of_std,
        n_ranked::integer as n_ranked,
        not is_reference and accuracy_mean is not null and order_of_mean = 1 as is_best,
        not is_reference and accuracy_std_sample is not null and order_of_std = 1 as is_steadiest,
        is_reference,
        {{ measure_version() }}
    from ranked
)

select * from final
