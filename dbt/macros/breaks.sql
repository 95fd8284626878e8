{# Which rows of a model break a rule about a figure, as a condition: a test selects them, and a build that finds some has the
   figure NULL there (`promptaudit.marts.settle`). #}
{% macro breaks_sums_to_one(model, column_name, by) -%}
    ({{ by | join(', ') }}) in (
        select ({{ by | join(', ') }}) from {{ model }}
        where {{ in_this_build() }}
        group by {{ by | join(', ') }}
        having abs(sum({{ column_name }}) - 1) > 1e-9
    )
{%- endmacro %}

{# The rules that follow from the `meta` of a model's columns, as lists of rule, column and what breaks it. A column with a
   `range`, or with a unit whose `ranges` in dbt_project.yml has two ends, keeps within it; so does an end of an interval within
   its figure's. A figure lies between its `_low` and `_high`, and its `_wordings_low` and `_wordings_high`. NaN breaks a range,
   NULL breaks nothing. #}
{% macro rules_of_figures(columns) -%}
    {%- set rules = [] -%}
    {%- for name, column in columns.items() -%}
        {%- set end = '_low' if name.endswith('_low') else '_high' if name.endswith('_high') else '' -%}
        {%- set stem = name[:name | length - end | length] -%}
        {%- set own = column.config.meta -%}
        {%- set meta = own if own.unit or own.range or stem not in columns else columns[stem].config.meta -%}
        {%- set range = meta.range or var('ranges').get(meta.unit, [none, none]) -%}
        {%- if none not in range -%}
            {%- set is_within = name ~ ' between ' ~ range[0] ~ ' - 1e-9 and ' ~ range[1] ~ ' + 1e-9' -%}
            {%- do rules.append(['within', name, 'not (' ~ is_within ~ ')']) -%}
        {%- endif -%}
        {%- set figure = stem if stem in columns else stem | replace('_wordings', '') -%}
        {%- if end and figure in columns -%}
            {%- set beyond = figure ~ (' < ' ~ name ~ ' - 1e-9' if end == '_low' else ' > ' ~ name ~ ' + 1e-9') -%}
            {%- do rules.append(['in_its_interval', stem if stem in columns else name, beyond]) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(rules) -%}
{%- endmacro %}
