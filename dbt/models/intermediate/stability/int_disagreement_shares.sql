-- One row per run, model, task and strategy: how much of all disagreement is wording, noise and item, with intervals.
-- NULL unless rephrasings are asked twice.
with counted as {{ of_this_build('int_labels_counted') }},

planned as {{ of_this_build('int_cells_planned') }},

-- of a wording that is asked again for some of its samples, each of these stands for as many as it was drawn from
asked_again as (
    select
        audit_run_id,
        model_id,
        prompt_variant_id,
        max(n_planned) / min(n_planned) as n_stands_for
    from planned
    group by all
),

numbered as {{ variants_numbered('counted') }},

variants as (
    select
        counted.*,
        asked_again.n_stands_for,
        numbered.variant
    from counted
    inner join numbered using (audit_run_id, task_id, strategy, prompt_variant_id)
    inner join asked_again using (audit_run_id, model_id, prompt_variant_id)
),

measured as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        try_disagreement_shares(
            {{ group_keys() }},
            list(sample_index),
            list(variant),
            list(family_index),
            list(label_index),
            list(n_answers::double),
            list(n_stands_for)
        ) as shares
    from variants
    group by all
),

final as (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        shares.wording_share as wording_share,
        shares.wording_share_low as wording_share_low,
        shares.wording_share_high as wording_share_high,
        shares.wording_share_wordings_low as wording_share_wordings_low,
        shares.wording_share_wordings_high as wording_share_wordings_high,
        shares.noise_share as noise_share,
        shares.noise_share_low as noise_share_low,
        shares.noise_share_high as noise_share_high,
        shares.noise_share_wordings_low as noise_share_wordings_low,
        shares.noise_share_wordings_high as noise_share_wordings_high,
        shares.item_share as item_share,
        shares.item_share_low as item_share_low,
        shares.item_share_high as item_share_high,
        shares.item_share_wordings_low as item_share_wordings_low,
        shares.item_share_wordings_high as item_share_wordings_high
    from measured
)

select * from final
