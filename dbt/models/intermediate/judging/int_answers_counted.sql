-- One row per run, task and answer that somebody ruled on: how many predictions say it, and whether it is in format.
with labelled as (
    select * from {{ ref('int_predictions_labelled') }}
    where {{ in_this_build() }}
),

variants as (
    select * from {{ ref('stg_prompt_variants') }}
    where {{ in_this_build() }}
),

verdicts as (
    select * from {{ ref('int_verdicts_counted') }}
    where {{ in_this_build() }}
),

final as (
    select
        labelled.audit_run_id,
        labelled.task_id,
        md5(concat_ws(
            chr(0),
            labelled.sample_id,
            coalesce({{ options_as_shown('variants.reader', 'labelled.option_order') }}, ''),
            labelled.completion_md5
        )) as answer,
        count(*) as n_predictions,
        bool_or(labelled.answer_status = 'valid') as is_in_format
    from labelled
    inner join variants using (audit_run_id, prompt_variant_id)
    semi join verdicts
        on
            labelled.audit_run_id = verdicts.audit_run_id
            and labelled.task_id = verdicts.task_id
            and labelled.sample_id = verdicts.sample_id
            and labelled.completion_md5 = verdicts.completion_md5
    group by all
)

select * from final
