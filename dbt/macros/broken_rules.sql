{# Counts, in one statement, the rows that break the rules of these models: `rule` and `n_rows`, no row where all hold. Of a rule
   about a figure it says where the figure stands and which rows break it: a build has it NULL there, and goes on.
   The rules are the generic tests of the models' YAML, which `dbt test` runs singly too, and those of `rules_of_figures`, which
   are counted in one pass over a model: dbt takes some 25 ms a test, and a build would run hundreds of them one by one. A `to`
   of a relationship is a model of the same list. #}
{% macro broken_rules(models) -%}
    {%- set relations = {} -%}
    {%- for name in models -%}
        {%- do relations.update({name: ref(name)}) -%}
    {%- endfor -%}
    {%- set columns, figure_rules = {}, {} -%}
    {%- set rules = [] -%}
    {%- if execute -%}
        {%- for node in graph.nodes.values() -%}
            {%- if node.resource_type == 'model' and node.name in relations -%}
                {%- do columns.update({node.name: node.columns}) -%}
                {%- do figure_rules.update({node.name: rules_of_figures(node.columns)}) -%}
            {%- elif node.resource_type == 'test' and node.test_metadata and node.attached_node.split('.')[-1] in relations -%}
                {%- if node.config.where or node.config.severity | lower != 'error' -%}
                    {{ exceptions.raise_compiler_error(node.name ~ ': grouped tests know no where and no severity') }}
                {%- endif -%}
                {%- do rules.append(node) -%}
            {%- endif -%}
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
        union all
    {%- endfor %}
    {%- for model in figure_rules if figure_rules[model] %}
        {%- set build = compared_in_this_build() if 'comparison_id' in columns[model] else in_this_build() -%}
        {%- set counts = [] -%}
        {%- for rule, column, condition in figure_rules[model] -%}
            {%- do counts.append("{'rule': '" ~ rule ~ "', 'column_name': '" ~ column ~ "', 'condition': '" ~ condition
                ~ "', 'n_rows': count_if(" ~ condition ~ ")}") -%}
        {%- endfor %}
        select
            rule || ' of {{ model }}.' || column_name as rule,
            n_rows,
            '{{ relations[model].schema }}.{{ model }}' as relation,
            column_name,
            '{{ build | replace("'", "''") }} and ' || condition as condition
        from (
            select unnest([{{ counts | join(', ') }}], recursive := true)
            from {{ relations[model] }}
            where {{ build }}
        )
        where n_rows > 0
        union all
    {%- endfor %}
        select
            null::varchar as rule,
            0 as n_rows,
            null::varchar as relation,
            null::varchar as column_name,
            null::varchar as condition
        where false
{%- endmacro %}
