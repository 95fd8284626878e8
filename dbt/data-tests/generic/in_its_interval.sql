{# a figure lies in its interval; a resampled one need not hold it #}
{% test in_its_interval(model, column_name) %}
select * from {{ model }}
where {{ breaks_in_its_interval(model, column_name) }}
{% endtest %}
