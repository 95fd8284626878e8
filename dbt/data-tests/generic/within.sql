{# a figure keeps to its range; NULL is undefined and passes #}
{% test within(model, column_name, low, high) %}
select * from {{ model }}
where {{ breaks_within(model, column_name, low, high) }}
{% endtest %}
