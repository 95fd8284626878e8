{# How many classes the answers to a task may be of, its labels and N/A, as the body of a common table expression. #}
{% macro classes_of(labels) -%}
    (
        select
            audit_run_id,
            task_id,
            count(*)::integer + 1 as n_classes
        from {{ labels }}
        group by all
    )
{%- endmacro %}
