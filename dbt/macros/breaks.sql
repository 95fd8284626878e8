{# Which rows of a model break a rule about a figure, as a condition: a test selects them, and a build that finds some has the
   figure NULL there (`promptaudit.flows.marts.settle`). #}
{% macro breaks_within(model, column_name, low, high) -%}
    {{ in_this_build() }} and not ({{ column_name }} between {{ low }} - 1e-9 and {{ high }} + 1e-9)
{%- endmacro %}

{% macro breaks_in_its_interval(model, column_name) -%}
    {{ in_this_build() }}
    and ({{ column_name }} < {{ column_name }}_low - 1e-9 or {{ column_name }} > {{ column_name }}_high + 1e-9)
{%- endmacro %}

{% macro breaks_sums_to_one(model, column_name, by) -%}
    ({{ by | join(', ') }}) in (
        select ({{ by | join(', ') }}) from {{ model }}
        where {{ in_this_build() }}
        group by {{ by | join(', ') }}
        having abs(sum({{ column_name }}) - 1) > 1e-9
    )
{%- endmacro %}
