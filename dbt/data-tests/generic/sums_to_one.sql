{# a distribution: the column sums to 1 within each group, to rounding #}
{% test sums_to_one(model, column_name, by) %}
select
    {{ by | join(', ') }},
    sum({{ column_name }}) as total
from {{ model }}
where {{ in_this_build() }}
group by all
having abs(sum({{ column_name }}) - 1) > 1e-9
{% endtest %}
