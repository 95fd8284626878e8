-- One row per prediction and scoring method: right, wrong, or unscored with a reason.
with labelled as (
    select * from {{ ref('int_predictions_labelled') }}
    where {{ in_this_build() }}
)

select
    audit_run_id,
    prediction_id,
    model_id,
    task_id,
    strategy,
    prompt_variant_id,
    sample_id,
    repetition,
    'label_match' as scoring_method,
    case when score_state = 'scored' then is_correct::integer::double end as score,
    case when score_state = 'scored' then is_correct end as is_correct,
    score_state,
    case
        when score_state = 'scored' then null
        when answer_status != 'valid' then answer_status
        else 'no gold label'
    end as reason,
    {{ measure_version() }}
from (
    select
        *,
        if(answer_status = 'valid' and gold_label is not null, 'scored', 'unscored') as score_state
    from labelled
) as judged
