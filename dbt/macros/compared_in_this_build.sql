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

{# Deletes the comparisons of this build from a mart before it is built: of one that has no row any more the build would leave
   what it had. #}
{% macro delete_compared_in_this_build() -%}
    {% if is_incremental() %}delete from {{ this }} where {{ compared_in_this_build() }}{% endif %}
{%- endmacro %}
