-- One row per run, model and prompt variant that takes part: the family of its wording by text and answers, and how many unlike
-- wordings those of its task and strategy tell as much as.
with predictions as {{ of_this_build('int_predictions_labelled', where="answer_status != 'error'") }},

wordings as {{ of_this_build('int_wordings_numbered') }},

variants as {{ of_this_build('int_variants_asked') }},

-- an open task has no labels, so no answers that go together
tasks as {{ of_this_build('stg_tasks', where=has_labels('kind')) }},

counted as (
    select
        predictions.audit_run_id,
        predictions.model_id,
        predictions.task_id,
        predictions.strategy,
        wordings.wording_index,
        wordings.family_index,
        predictions.sample_index,
        predictions.label_index,
        count(*)::double as n_answers
    from predictions
    inner join wordings using (audit_run_id, prompt_variant_id)
    inner join variants using (audit_run_id, model_id, prompt_variant_id)
    inner join tasks
        on predictions.audit_run_id = tasks.audit_run_id and predictions.task_id = tasks.task_id
    group by all
),

families as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        unnest(
            try_answer_families(
                {{ group_keys() }},
                list(sample_index), list(wording_index), list(family_index), list(label_index), list(n_answers)
            )
        ) as wording
    from counted
    group by audit_run_id, model_id, task_id, strategy
),

-- joined first: families and variants have only run and model in common, so that joining them directly makes every pair
asked as materialized (
    select
        wordings.audit_run_id,
        variants.model_id,
        wordings.task_id,
        wordings.strategy,
        wordings.prompt_variant_id,
        wordings.wording_index
    from wordings
    inner join variants using (audit_run_id, prompt_variant_id)
),

final as (
    select
        families.audit_run_id,
        families.model_id,
        families.task_id,
        families.strategy,
        asked.prompt_variant_id,
        families.wording.family::integer as family_index,
        round(families.wording.n_effective, 9) as n_wordings_effective
    from families
    inner join asked
        on
            families.audit_run_id = asked.audit_run_id
            and families.model_id = asked.model_id
            and families.task_id = asked.task_id
            and families.strategy = asked.strategy
            and families.wording.variant = asked.wording_index
)

select * from final
