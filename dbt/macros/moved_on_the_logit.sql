{# Where the bound of one rate lies for another, both as far from it on the logit, and the least or greatest of it and the other
   rate. A bound of 0 or 1 stays, as does that of a rate of 0 or 1. #}
{% macro moved_on_the_logit(bound, rate, to, extreme) -%}
    case
        when {{ bound }} is null then null
        when {{ bound }} in (0, 1) or {{ rate }} in (0, 1) or {{ to }} in (0, 1) then {{ extreme }}({{ to }}, {{ bound }})
        else {{ extreme }}(
            {{ to }},
            1 / (1 + (1 - {{ bound }}) / {{ bound }} * (1 - {{ to }}) / {{ to }} * {{ rate }} / (1 - {{ rate }}))
        )
    end
{%- endmacro %}
