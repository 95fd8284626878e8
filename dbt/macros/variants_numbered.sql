{# The prompt variants of some rows, numbered in the order of their ids, as the body of a common table expression. To number the
   rows themselves would sort all of them. #}
{% macro variants_numbered(rows, within='audit_run_id, task_id, strategy') -%}
    (
        select
            *,
            dense_rank() over (partition by {{ within }} order by prompt_variant_id)::integer as variant
        from (select distinct {{ within }}, prompt_variant_id from {{ rows }})
    )
{%- endmacro %}
