{# a distribution: the column sums to 1 within each group, to rounding #}
{% test sums_to_one(model, column_name, by) %}
select * from {{ model }}
where {{ breaks_sums_to_one(model, column_name, by) }}
{% endtest %}
