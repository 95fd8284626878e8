{# A view with one row per `key`: of the rows that a mart has of it, that of the newest complete run. #}
{% macro newest_landed(mart, key) -%}
with landed as (
    select * from {{ ref(mart).include(database=false) }}
),

runs as (
    select
        audit_run_id,
        run_index
    from {{ ref('dim_nights').include(database=false) }}
),

final as (
    select landed.*
    from landed
    inner join runs using (audit_run_id)
    qualify row_number() over (partition by {{ key }} order by runs.run_index desc) = 1
)

select * from final
{%- endmacro %}
