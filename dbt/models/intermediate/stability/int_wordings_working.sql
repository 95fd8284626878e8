-- One row per run, model, task, strategy and prompt variant: how often it works, and whether it breaks, its format or otherwise.
-- It works where it is right; without gold labels by the chance that another variant gives its label. Also how far
-- its labels differ from the others'.
with answers as {{ of_this_build('int_labels_counted') }},

samples as {{ of_this_build('int_disagreements') }},

cells as {{ of_this_build('int_cells_averaged') }},

formats as {{ of_this_build('int_variants_asked') }},

labels as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        label_index,
        sum(p_variant) as p_summed
    from answers
    group by all
),

compared as (
    select
        answers.audit_run_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        answers.prompt_variant_id,
        answers.sample_index,
        1 - sum(answers.p_variant * (labels.p_summed - answers.p_variant)) / (any_value(samples.n_variants) - 1)
            as disagreement
    from answers
    inner join labels using (audit_run_id, model_id, task_id, strategy, sample_index, label_index)
    inner join samples using (audit_run_id, model_id, task_id, strategy, sample_index)
    where samples.n_variants > 1
    group by all
),

differing as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        count(*) as n_samples,
        avg(disagreement) as disagreement
    from compared
    group by all
),

numbered as {{ variants_numbered('cells') }},

groups as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        bool_or(accuracy is not null) as has_gold
    from cells
    group by all
),

worked as (
    select
        cells.audit_run_id,
        cells.model_id,
        cells.task_id,
        cells.strategy,
        cells.prompt_variant_id,
        cells.sample_index,
        numbered.variant,
        if(groups.has_gold, cells.accuracy, 1 - compared.disagreement) as value
    from cells
    inner join numbered using (audit_run_id, task_id, strategy, prompt_variant_id)
    inner join groups using (audit_run_id, model_id, task_id, strategy)
    left join compared using (audit_run_id, model_id, task_id, strategy, prompt_variant_id, sample_index)
),

named as (
    select distinct
        audit_run_id,
        model_id,
        task_id,
        strategy,
        prompt_variant_id,
        variant
    from worked
),

broken as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        unnest(try_breaking_wordings(
            {{ group_keys() }},
            list(sample_index), list(variant), list(value)
        )) as wording
    from worked
    group by audit_run_id, model_id, task_id, strategy
),

final as (
    select
        named.audit_run_id,
        named.model_id,
        named.task_id,
        named.strategy,
        named.prompt_variant_id,
        broken.wording.rate as working_rate,
        broken.wording.of_others as working_rate_of_others,
        coalesce(broken.wording.is_breaking, false) or formats.is_breaking as is_breaking,
        differing.n_samples as n_samples_compared,
        differing.disagreement
    from named
    inner join formats using (audit_run_id, model_id, task_id, strategy, prompt_variant_id)
    left join differing using (audit_run_id, model_id, task_id, strategy, prompt_variant_id)
    left join broken
        on
            named.audit_run_id = broken.audit_run_id
            and named.model_id = broken.model_id
            and named.task_id = broken.task_id
            and named.strategy = broken.strategy
            and named.variant = broken.wording.variant
)

select * from final
