{# Whether a model is of this project and asks for its rows alone: no hook, grant, index or comment of a project that uses it. #}
{% macro is_plain() -%}
    {%- set more = [pre_hooks, post_hooks, config.get('grants'), config.get('indexes'), config.get('persist_docs')] -%}
    {%- do return(model.package_name == 'promptaudit' and not more | select | list) -%}
{%- endmacro %}
