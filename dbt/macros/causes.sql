{# What may have changed between two runs, and how it is said; of several causes the first here is the cause. #}
{% macro causes() -%}
    {{ return([
        ('we_changed_the_prompt', 'we changed the prompt'),
        ('we_changed_the_model', 'we changed the model'),
        ('provider_changed_the_model', 'the provider changed the model'),
        ('we_changed_the_scoring', 'we changed the scoring'),
        ('provider_changed_the_judge', "the judge's provider changed the judge"),
        ('promptaudit_changed', 'promptaudit changed'),
        ('we_changed_the_data', 'we changed the data, of which only what both runs asked is compared'),
    ]) }}
{%- endmacro %}

{# the place of a cause among them, from 1 #}
{% macro precedence_of_cause(column) -%}
    case {{ column }}
    {%- for cause, phrase in causes() %}
        when '{{ cause }}' then {{ loop.index }}
    {%- endfor %}
    end
{%- endmacro %}

{# a cause in words #}
{% macro phrase_of_cause(column) -%}
    case {{ column }}
    {%- for cause, phrase in causes() %}
        when '{{ cause }}' then '{{ phrase | replace("'", "''") }}'
    {%- endfor %}
    end
{%- endmacro %}
