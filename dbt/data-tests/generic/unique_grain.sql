{# the columns a description calls the grain really are it; NULL is a value of a grain here #}
{% test unique_grain(model, columns) %}
select
    {{ columns | join(', ') }},
    count(*) as n_rows
from {{ model }}
where {{ compared_in_this_build() if 'comparison_id' in columns else in_this_build() }}
group by all
having count(*) > 1
{% endtest %}
