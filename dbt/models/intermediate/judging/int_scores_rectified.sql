-- One row per run, model, prompt variant, sample and judge whose error rates are told apart by format: the mean over repetitions
-- of (verdict - false positive rate) / (true positive rate - false positive rate), with the rates of the answer's format.
-- It is about the answers of int_scores_averaged. An empty answer, which no judge is asked about, is wrong for certain.
with scored as (
    select * from {{ ref('fct_scores') }}
    where {{ in_this_build() }}
),

judged as (
    select * from {{ ref('int_judges_verified') }}
    where rectified_by = 'index_by_format' and {{ in_this_build() }}
),

labelled as (
    select * from {{ ref('int_predictions_labelled') }}
    where {{ in_this_build() }}
),

samples as (
    select * from {{ ref('stg_samples') }}
    where has_key and {{ in_this_build() }}
),

ruled as (
    select
        scored.audit_run_id,
        scored.model_id,
        scored.task_id,
        scored.prompt_variant_id,
        scored.scoring_method as judge,
        samples.sample_index,
        labelled.answer_status,
        {%- for rate in ['true_positive_rate', 'false_positive_rate'] %}
            if(labelled.answer_status = 'valid', judged.{{ rate }}_in_format, judged.{{ rate }}_out_of_format) as {{ rate }},
        {%- endfor %}
        coalesce(scored.is_correct::integer, 0) as verdict
    from scored
    inner join judged
        on
            scored.audit_run_id = judged.audit_run_id
            and scored.task_id = judged.task_id
            and scored.scoring_method = judged.judge
    inner join labelled
        on scored.audit_run_id = labelled.audit_run_id and scored.prediction_id = labelled.prediction_id
    inner join samples
        on
            scored.audit_run_id = samples.audit_run_id
            and scored.task_id = samples.task_id
            and scored.sample_id = samples.sample_id
    where not {{ is_missing_score('scored.unscored_kind') }}
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        prompt_variant_id,
        judge,
        sample_index,
        avg(
            if(
                answer_status = 'empty',
                0,
                (verdict - false_positive_rate) / (true_positive_rate - false_positive_rate)
            )
        ) as accuracy_rectified
    from ruled
    group by all
)

select * from final
