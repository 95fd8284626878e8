-- How far those who say which answers are right agree, in each audit's newest run. Rows of `templates` hold the templates of a
-- task against each other, under one scoring method (people's majority too) and of one model; rows of `raters` hold judges,
-- people and rules against each other on the same answers. Perfect agreement is the share on which all say the same.
with newest as (
    select
        audit_run_id,
        audit_id
    from {{ ref('dim_nights') }}
    where is_newest
),

agreements as (
    select
        audit_run_id,
        task_id,
        'templates' as between_whom,
        scoring_method as raters,
        model_id,
        n_variants as n_raters,
        n_samples_scored_everywhere as n_rated,
        fleiss_kappa,
        null::double as cohen_kappa,
        perfect_agreement_rate
    from {{ ref('fct_scoring_sensitivity') }}
    union all by name
    select
        audit_run_id,
        task_id,
        'raters' as between_whom,
        raters,
        null::varchar as model_id,
        n_raters,
        n_rated,
        fleiss_kappa,
        cohen_kappa,
        perfect_agreement_rate
    from {{ ref('fct_judge_agreement') }}
)

select
    newest.audit_id,
    agreements.task_id,
    agreements.between_whom,
    agreements.raters,
    agreements.model_id,
    agreements.n_raters,
    agreements.n_rated,
    agreements.fleiss_kappa,
    agreements.cohen_kappa,
    agreements.perfect_agreement_rate
from agreements
inner join newest using (audit_run_id)
order by
    agreements.task_id asc, agreements.between_whom desc, agreements.raters asc, agreements.model_id asc, newest.audit_id asc
