{# The comparisons this build makes: those of the session variable `comparison_ids`; without it all where the build is of
   every run, but those of a retired one, and none where it is of some: a night derives its measures first and compares them
   afterwards. #}
{% macro compared_in_this_build(column='comparison_id') -%}
    coalesce(
        list_contains(getvariable('comparison_ids'), {{ column }}),
        getvariable('audit_run_ids') is null
        and not coalesce(list_contains(getvariable('retired_comparison_ids'), {{ column }}), false)
    )
{%- endmacro %}
