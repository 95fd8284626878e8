{# a figure keeps to its range; NULL is undefined and passes #}
{% test within(model, column_name, low, high) %}
select {{ column_name }}
from {{ model }}
where {{ in_this_build() }} and not ({{ column_name }} between {{ low }} - 1e-9 and {{ high }} + 1e-9)
{% endtest %}
