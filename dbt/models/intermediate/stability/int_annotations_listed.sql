-- One row per run, scope and group: its annotations as parallel lists, ready for krippendorff's alpha.
with annotators as {{ of_this_build('int_annotators') }},

measured as {{ of_this_build('int_predictions_measured') }},

final as (
    select
        annotators.audit_run_id,
        annotators.scope,
        annotators.group_model_id as model_id,
        annotators.task_id,
        annotators.strategy,
        annotators.group_temperature as paraphrase_temperature,
        list(measured.sample_index) as samples,
        list(annotators.annotator) as annotators,
        list(measured.family_index) as families,
        list(annotators.replicate) as replicates,
        list(measured.annotation) as annotations,
        -- they are only compared with each other: texts of up to 12 signs take a third of the memory
        list(
            if(measured.completion_md5 is null, null, to_base((hash(measured.completion_md5) >> 2)::bigint, 36))
        ) as completions
    from annotators
    inner join measured using (audit_run_id, model_id, prompt_variant_id, repetition)
    group by all
)

select * from final
