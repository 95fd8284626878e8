{# The rows of a relation with `n_tests` and `q_value`: their p-values, none of them NULL, adjusted within each family. #}
{% macro benjamini_hochberg(relation, family) -%}
    select
        *,
        least(1, min(p_value * n_tests / n_at_most) over (partition by {{ family }} order by p_value desc)) as q_value
    from (
        select
            *,
            count(*) over (partition by {{ family }}) as n_tests,
            count(*) over (partition by {{ family }} order by p_value) as n_at_most
        from {{ relation }}
    )
{%- endmacro %}
