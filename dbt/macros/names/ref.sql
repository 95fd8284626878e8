{# Tables are named without the catalog they lie in, so that a view answers wherever the file is copied to, and
   attached as whatever is not the name of a schema of it. #}
{% macro ref() -%}
    {{ return(builtins.ref(*varargs, **kwargs).include(database=false)) }}
{%- endmacro %}

{% macro source() -%}
    {{ return(builtins.source(*varargs).include(database=false)) }}
{%- endmacro %}
