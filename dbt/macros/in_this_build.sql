{# The runs this build is about: those of the session variable `audit_run_ids`, else all but the retired, whose raw rows are in
   the archive and whose marts would come out empty.
   A variable and no dbt var: a changed var would have dbt read the whole project again, 5 s a build.
   The bounds are constants, so DuckDB skips the row groups of every other night and a night costs what it brought. #}
{% macro in_this_build(column='audit_run_id') -%}
    {{ column }} between coalesce(getvariable('first_audit_run_id'), '') and coalesce(getvariable('last_audit_run_id'), '~')
    and coalesce(
        list_contains(getvariable('audit_run_ids'), {{ column }}),
        not list_contains(getvariable('retired_run_ids'), {{ column }}),
        true
    )
{%- endmacro %}

{# The rows that a model has, as the body of a common table expression; `where` is a condition that they meet. #}
{% macro all_of(model, where=none) -%}
    (
        select * from {{ ref(model).include(database=false) }}{{ ' where ' ~ where if where }}
    )
{%- endmacro %}

{# Those of this build's runs; `where` is a condition that they meet besides. #}
{% macro of_this_build(model, where=none) -%}
    {{ all_of(model, ('(' ~ where ~ ') and ' if where else '') ~ in_this_build()) }}
{%- endmacro %}
