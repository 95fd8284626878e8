{# Of pairs of runs that are held against each other: which confusion grew most, as the body of a common table expression.
   `pairs` is one with audit_run_id, base_run_id, model_id, base_model_id, base_strategy, task_id and strategy, whose grain the result has. Of the
   samples that both asked with the same text, options and gold label: the label that most more of one gold label have as their
   commonest answer than in the base (a NULL label is no readable answer; all NULL where none has more), and how many have another
   commonest answer. No `exclude` of several columns: DuckDB writes those of a view in any order. #}
{% macro confusions_moved(pairs) -%}
    (
        with commonest as (
            select
                audit_run_id,
                model_id,
                task_id,
                strategy,
                sample_id,
                any_value(gold_label) as gold_label,
                -- of equally common ones the first of the card; no valid answer is the last
                arg_max_null(label, (p_tau, label_index >= 0, -label_index)) as label
            from {{ ref('fct_p_tau').include(database=false) }}
            where
                audit_run_id in (select audit_run_id from {{ pairs }})
                or audit_run_id in (select base_run_id from {{ pairs }})
            group by all
        ),

        samples as (
            select * from {{ ref('dim_samples').include(database=false) }}
        ),

        paired as (
            select
                pairs.*,
                candidate.gold_label,
                candidate.label,
                base.label as label_before
            from {{ pairs }} as pairs
            inner join commonest as candidate
                on
                    pairs.audit_run_id = candidate.audit_run_id
                    and pairs.model_id = candidate.model_id
                    and pairs.task_id = candidate.task_id
                    and pairs.strategy = candidate.strategy
            inner join commonest as base
                on
                    pairs.base_run_id = base.audit_run_id
                    and pairs.base_model_id = base.model_id
                    and pairs.task_id = base.task_id
                    and pairs.base_strategy = base.strategy
                    and candidate.sample_id = base.sample_id
                    and candidate.gold_label is not distinct from base.gold_label
            inner join samples as asked
                on
                    pairs.audit_run_id = asked.audit_run_id
                    and pairs.task_id = asked.task_id
                    and candidate.sample_id = asked.sample_id
            inner join samples as asked_before
                on
                    pairs.base_run_id = asked_before.audit_run_id
                    and pairs.task_id = asked_before.task_id
                    and base.sample_id = asked_before.sample_id
                    and asked.input is not distinct from asked_before.input
                    and asked.options is not distinct from asked_before.options
        ),

        groups as (
            select
                audit_run_id,
                base_run_id,
                model_id,
                base_model_id,
                base_strategy,
                task_id,
                strategy,
                count(*) as n_samples,
                count(*) filter (label is distinct from label_before) as n_called_otherwise
            from paired
            group by all
        ),

        said as (
            select
                audit_run_id,
                base_run_id,
                model_id,
                base_model_id,
                base_strategy,
                task_id,
                strategy,
                gold_label,
                count(*) over (
                    partition by audit_run_id, base_run_id, model_id, base_model_id, base_strategy, task_id, strategy, gold_label
                ) as n_moved_samples,
                unnest([label, label_before]) as label,
                unnest([true, false]) as is_candidate
            from paired
            where gold_label is not null
        ),

        counted as (
            select
                audit_run_id,
                base_run_id,
                model_id,
                base_model_id,
                base_strategy,
                task_id,
                strategy,
                n_moved_samples,
                gold_label,
                label,
                count(*) filter (is_candidate) as n_moved,
                count(*) filter (not is_candidate) as n_moved_before
            from said
            where label is distinct from gold_label
            group by all
        ),

        confused as (
            select
                audit_run_id,
                base_run_id,
                model_id,
                base_model_id,
                base_strategy,
                task_id,
                strategy,
                n_moved,
                n_moved_before,
                n_moved_samples,
                gold_label as moved_gold_label,
                label as moved_label
            from counted
            where n_moved > n_moved_before
            qualify
                row_number() over (
                    partition by audit_run_id, base_run_id, model_id, base_model_id, base_strategy, task_id, strategy
                    order by n_moved - n_moved_before desc, gold_label asc, label asc nulls last
                ) = 1
        ),

        final as (
            select *
            from groups
            left join confused using (audit_run_id, base_run_id, model_id, base_model_id, base_strategy, task_id, strategy)
        )

        select * from final
    )
{%- endmacro %}
