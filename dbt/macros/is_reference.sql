{# Whether a model is of this program and answers by chance, or as another one does with errors on purpose. #}
{% macro is_reference(models) -%}
    ({{ models }}.engine = 'embedded' and {{ models }}.model in ('random', 'noisy'))
{%- endmacro %}
