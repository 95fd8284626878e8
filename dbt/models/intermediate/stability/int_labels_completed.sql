-- One row per run, model, prompt variant, sample, label (-1 is N/A) and what missing asks are counted as (na or modal), of the
-- groups that lack answers to some of their asks: how often the label was given or counted, its share, and its part of p_tau.
-- Counted as modal, a missing ask has the label that the sample got most often, and where a sample got none, the group's.
{{ config(materialized='view') }}
with formats as (
    select * from {{ ref('int_answer_formats') }}
    where {{ in_this_build() }}
),

measured_variants as (
    select * from {{ ref('int_variants_measured') }}
    where not is_quarantined and {{ in_this_build() }}
),

wordings as (
    select * from {{ ref('int_wordings_numbered') }}
    where {{ in_this_build() }}
),

samples as (
    select * from {{ ref('stg_samples') }}
    where {{ in_this_build() }}
),

labels_counted as (
    select * from {{ ref('int_labels_counted') }}
    where {{ in_this_build() }}
),

-- without any answer there is no figure to bound
lacking as (
    select distinct
        formats.audit_run_id,
        formats.model_id,
        formats.task_id,
        formats.strategy
    from formats
    inner join measured_variants using (audit_run_id, model_id, task_id, strategy, prompt_variant_id)
    semi join labels_counted using (audit_run_id, model_id, task_id, strategy)
    where formats.n_landed - formats.n_error < formats.n_planned
),

given as (
    select labels_counted.*
    from labels_counted
    semi join lacking using (audit_run_id, model_id, task_id, strategy)
),

-- every sample is asked under every variant, so a variant weighs the same in each p_tau
variants as (
    select
        lacking.audit_run_id,
        lacking.model_id,
        lacking.task_id,
        lacking.strategy,
        measured_variants.prompt_variant_id,
        wordings.wording_index,
        len(wordings.repetitions) as n_asks,
        count(*) over one_wording as n_variants_of_wording,
        count(distinct wordings.wording_index) over one_group as n_wordings
    from lacking
    inner join measured_variants using (audit_run_id, model_id, task_id, strategy)
    inner join wordings using (audit_run_id, task_id, strategy, prompt_variant_id)
    window
        one_group as (partition by lacking.audit_run_id, lacking.model_id, lacking.task_id, lacking.strategy),
        one_wording as (
            partition by
                lacking.audit_run_id, lacking.model_id, lacking.task_id, lacking.strategy, wordings.wording_index
        )
),

answered as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        sample_index,
        sum(n_answers) as n_answers
    from given
    group by all
),

missing as (
    select
        variants.audit_run_id,
        variants.model_id,
        variants.task_id,
        variants.strategy,
        variants.prompt_variant_id,
        samples.sample_index,
        variants.n_asks - coalesce(answered.n_answers, 0) as n_missing
    from variants
    inner join samples using (audit_run_id, task_id)
    left join answered
        on
            variants.audit_run_id = answered.audit_run_id
            and variants.model_id = answered.model_id
            and variants.prompt_variant_id = answered.prompt_variant_id
            and samples.sample_index = answered.sample_index
    where variants.n_asks > coalesce(answered.n_answers, 0)
),

by_sample as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        sample_index,
        label_index,
        sum(n_answers) as n_answers
    from given
    group by all
),

by_group as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        label_index,
        sum(n_answers) as n_answers
    from by_sample
    group by all
),

-- of equally common labels the first of the card counts, N/A last
modal_of_samples as (
    select * from by_sample
    qualify
        row_number() over (
            partition by audit_run_id, model_id, task_id, strategy, sample_index
            order by n_answers desc, label_index = -1 asc, label_index asc
        ) = 1
),

modal_of_groups as (
    select * from by_group
    qualify
        row_number() over (
            partition by audit_run_id, model_id, task_id, strategy
            order by n_answers desc, label_index = -1 asc, label_index asc
        ) = 1
),

completed as (
    select
        given.audit_run_id,
        given.model_id,
        given.task_id,
        given.strategy,
        given.prompt_variant_id,
        given.sample_index,
        given.label_index,
        given.n_answers,
        unnest(['na', 'modal']) as counted_as
    from given
    union all by name
    select
        * exclude (n_missing),
        -1 as label_index,
        n_missing as n_answers,
        'na' as counted_as
    from missing
    union all by name
    select
        missing.* exclude (n_missing),
        coalesce(modal_of_samples.label_index, modal_of_groups.label_index) as label_index,
        missing.n_missing as n_answers,
        'modal' as counted_as
    from missing
    inner join modal_of_groups using (audit_run_id, model_id, task_id, strategy)
    left join modal_of_samples using (audit_run_id, model_id, task_id, strategy, sample_index)
),

summed as (
    select
        * exclude (n_answers),
        sum(n_answers) as n_answers
    from completed
    group by all
),

final as (
    select
        summed.audit_run_id,
        summed.model_id,
        summed.task_id,
        summed.strategy,
        summed.counted_as,
        summed.prompt_variant_id,
        summed.sample_index,
        samples.gold_label,
        summed.label_index,
        summed.n_answers,
        summed.n_answers / variants.n_asks as p_variant,
        p_variant / variants.n_variants_of_wording / variants.n_wordings as p_tau_part,
        variants.n_wordings
    from summed
    inner join variants using (audit_run_id, model_id, task_id, strategy, prompt_variant_id)
    inner join samples
        on
            summed.audit_run_id = samples.audit_run_id
            and summed.task_id = samples.task_id
            and summed.sample_index = samples.sample_index
)

select * from final
