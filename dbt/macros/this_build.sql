{# The runs this build is about: those named in `audit_run_ids`, else, in an incremental model, those it does not hold yet.
   A constant list lets DuckDB skip the row groups of every other night, so a night costs what the night brought. #}
{% macro in_this_build(column='audit_run_id') -%}
    {%- if var('audit_run_ids') -%}
        {{ column }} in ('{{ var('audit_run_ids') | join("', '") }}')
    {%- elif is_incremental() -%}
        {{ column }} not in (select known.audit_run_id from {{ this }} as known)
    {%- else -%}
        true
    {%- endif -%}
{%- endmacro %}

{# the same for a test: the rows of the runs that were just built, else all #}
{% macro in_tested_build() -%}
    {%- if var('audit_run_ids') -%}
        audit_run_id in ('{{ var('audit_run_ids') | join("', '") }}')
    {%- else -%}
        true
    {%- endif -%}
{%- endmacro %}
