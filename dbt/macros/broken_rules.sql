{# Counts, in one statement, the rows that break the generic tests of these models: `rule` and `n_rows`, no row where all hold.
   Of a rule about a figure it says where the figure stands and which rows break it: a build has it NULL there, and goes on.
   dbt takes some 25 ms a test, and a build would run a hundred of them one by one. The rules stand where dbt wants them, in the
   models' YAML; `dbt test` runs them singly too. A `to` of a relationship is a model of the same list. #}
{% macro broken_rules(models) -%}
    {%- set relations = {} -%}
    {%- for name in models -%}
        {%- do relations.update({name: ref(name)}) -%}
    {%- endfor -%}
    {%- set rules = [] -%}
    {%- if execute -%}
        {%- for node in graph.nodes.values()
            if node.resource_type == 'test' and node.test_metadata and node.attached_node.split('.')[-1] in relations -%}
            {%- if node.config.where or node.config.severity | lower != 'error' -%}
                {{ exceptions.raise_compiler_error(node.name ~ ': grouped tests know no where and no severity') }}
            {%- endif -%}
            {%- do rules.append(node) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for node in rules %}
        {%- set model = node.attached_node.split('.')[-1] -%}
        {%- set arguments = dict(node.test_metadata.kwargs) -%}
        {%- do arguments.update({'to': relations[arguments['to'].split("'")[1]]}) if 'to' in arguments -%}
        {%- do arguments.update({'model': relations[model]}) %}
        {%- set rule = node.test_metadata.name -%}
        {%- set breaks = context.get('breaks_' ~ rule) -%}
        {%- set of_figure = [relations[model].schema ~ '.' ~ model, node.column_name, breaks(**arguments)] if breaks else [] %}
        select
            '{{ rule }} of {{ model }}{{ '.' ~ node.column_name if node.column_name }}' as rule,
            count(*) as n_rows,
            {{ "'" ~ of_figure[0] ~ "'" if breaks else 'null' }} as relation,
            {{ "'" ~ of_figure[1] ~ "'" if breaks else 'null' }} as column_name,
            {{ "'" ~ of_figure[2] | replace("'", "''") ~ "'" if breaks else 'null' }} as condition
        from ({{ context['test_' ~ rule](**arguments) }})
        having count(*) > 0
        {{ 'union all' if not loop.last }}
    {%- else %}
        select
            null::varchar as rule,
            0 as n_rows,
            null::varchar as relation,
            null::varchar as column_name,
            null::varchar as condition
        where false
    {%- endfor %}
{%- endmacro %}
