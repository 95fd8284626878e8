-- One row per run, model, prompt variant, sample, label (-1 is N/A) and what missing asks are counted as (na or modal), of the
-- groups that lack answers to some of their asks: how often the label was given or counted, its share, and its part of p_tau.
-- Counted as modal, a missing ask has the label that the sample got most often, and where a sample got none, the group's.
{{ config(materialized='view') }}
with formats as {{ of_this_build('int_answer_formats') }},

variants_asked as {{ of_this_build('int_variants_asked') }},

wordings as {{ of_this_build('int_wordings_numbered') }},

samples as {{ of_this_build('stg_samples') }},

grid as {{ of_this_build('stg_grid') }},

labels_counted as {{ of_this_build('int_labels_counted') }},

-- without any answer there is no figure to bound
lacking as (
    select distinct
        formats.audit_run_id,
        formats.model_id,
        formats.task_id,
        formats.strategy
    from formats
    semi join labels_counted using (audit_run_id, model_id, task_id, strategy)
    where formats.n_landed - formats.n_error < formats.n_planned
),

given as (
    select labels_counted.*
    from labels_counted
    semi join lacking using (audit_run_id, model_id, task_id, strategy)
),

variants as (
    select
        lacking.audit_run_id,
        lacking.model_id,
        lacking.task_id,
        lacking.strategy,
        variants_asked.prompt_variant_id,
        wordings.wording_index,
        wordings.repetitions,
        count(*) over one_wording as n_variants_of_wording,
        count(distinct wordings.wording_index) over one_group as n_wordings
    from lacking
    inner join variants_asked using (audit_run_id, model_id, task_id, strategy)
    inner join wordings using (audit_run_id, task_id, strategy, prompt_variant_id)
    window
        one_group as (partition by lacking.audit_run_id, lacking.model_id, lacking.task_id, lacking.strategy),
        one_wording as (
            partition by
                lacking.audit_run_id, lacking.model_id, lacking.task_id, lacking.strategy, wordings.wording_index
        )
),

dealt_repetitions as (
    select
        audit_run_id,
        prompt_variant_id,
        count(*) as n_repetitions
    from grid
    group by all
),

dealt_samples as (
    select
        audit_run_id,
        prompt_variant_id,
        unnest(sample_ids) as sample_id
    from grid
),

dealt as (
    select
        *,
        count(*) as n_dealt
    from dealt_samples
    group by all
),

-- a repetition that is dealt to some samples is an ask of these alone, the others are asks of every sample
asks as (
    select
        variants.*,
        samples.sample_index,
        len(variants.repetitions) - coalesce(dealt_repetitions.n_repetitions, 0) + coalesce(dealt.n_dealt, 0) as n_asks
    from variants
    inner join samples using (audit_run_id, task_id)
    left join dealt_repetitions using (audit_run_id, prompt_variant_id)
    left join dealt using (audit_run_id, prompt_variant_id, sample_id)
    where n_asks > 0
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
        asks.audit_run_id,
        asks.model_id,
        asks.task_id,
        asks.strategy,
        asks.prompt_variant_id,
        asks.sample_index,
        asks.n_asks - coalesce(answered.n_answers, 0) as n_missing
    from asks
    left join answered using (audit_run_id, model_id, prompt_variant_id, sample_index)
    where asks.n_asks > coalesce(answered.n_answers, 0)
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
        summed.n_answers / asks.n_asks as p_variant,
        p_variant / asks.n_variants_of_wording / asks.n_wordings as p_tau_part,
        asks.n_wordings
    from summed
    inner join asks using (audit_run_id, model_id, task_id, strategy, prompt_variant_id, sample_index)
    inner join samples using (audit_run_id, task_id, sample_index)
)

select * from final
