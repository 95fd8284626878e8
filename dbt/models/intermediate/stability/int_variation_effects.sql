-- One row per run, model, task, strategy and kind of variation: how often two answers differ under variants that differ in this
-- kind alone, what repeating a prompt gives of it, and which kind moves answers most. Of a crossed design all such pairs count.
with counted as {{ of_this_build('int_labels_counted') }},

planned as {{ of_this_build('int_cells_planned') }},

variations as {{ of_this_build('int_variations') }},

-- of a variant that is asked again for some of its samples, each of these stands for as many as it was drawn from
asked_again as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        max(n_planned) / min(n_planned) as n_stands_for
    from planned
    group by all
),

members as (
    select
        audit_run_id,
        task_id,
        strategy,
        list({
            'kind': kind_index, 'variant': variant, 'line': line_index, 'value': value_index, 'unit': unit_index
        } order by kind_index, variant) as entries
    from variations
    group by all
),

named as (
    select distinct
        audit_run_id,
        task_id,
        strategy,
        prompt_variant_id,
        variant
    from variations
),

answers as (
    select
        counted.audit_run_id,
        counted.model_id,
        counted.task_id,
        counted.strategy,
        list(counted.sample_index) as samples,
        list(named.variant) as variants,
        list(counted.label_index) as labels,
        list(asked_again.n_stands_for) as weights,
        list(counted.n_answers::double) as counts
    from counted
    inner join asked_again using (audit_run_id, model_id, prompt_variant_id)
    inner join named using (audit_run_id, task_id, strategy, prompt_variant_id)
    group by all
),

measured as (
    select
        answers.audit_run_id,
        answers.model_id,
        answers.task_id,
        answers.strategy,
        unnest(
            try_variation_effects(
                {{ group_keys('answers', is_row=true) }},
                answers.samples,
                answers.variants,
                answers.labels,
                answers.counts,
                answers.weights,
                members.entries
            )
        ) as effect
    from answers
    inner join members using (audit_run_id, task_id, strategy)
),

kinds as (
    select distinct
        audit_run_id,
        task_id,
        strategy,
        variation,
        kind_index
    from variations
),

final as (
    select
        measured.audit_run_id,
        measured.model_id,
        measured.task_id,
        measured.strategy,
        kinds.variation,
        measured.effect.n_samples as n_samples,
        measured.effect.disagreement as disagreement,
        measured.effect.noise as noise,
        measured.effect.noise_from as noise_from,
        measured.effect.effect as effect,
        measured.effect.effect_low as effect_low,
        measured.effect.effect_high as effect_high,
        measured.effect.effect_share as effect_share,
        measured.effect.verdict as verdict
    from measured
    inner join kinds
        on
            measured.audit_run_id = kinds.audit_run_id
            and measured.task_id = kinds.task_id
            and measured.strategy = kinds.strategy
            and measured.effect.kind = kinds.kind_index
)

select * from final
