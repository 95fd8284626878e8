{# Who says whether an answer is right: a person, a judge or panel, the majority of the persons who ruled (people), or a rule. #}
{% macro kind_of_rater(column) -%}
    case
        when starts_with({{ column }}, 'person:') then 'person'
        when starts_with({{ column }}, 'judge:') then 'judge'
        when {{ column }} = 'people' then 'people'
        else 'rule'
    end
{%- endmacro %}
