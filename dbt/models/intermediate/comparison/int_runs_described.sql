-- One row per run, model, task and thing that a run recorded about itself; NULL where it holds for every model or task.
with served as (
    select
        audit_run_id,
        model_id,
        list_sort(list(distinct served_model) filter (served_model is not null)) as served_models,
        list_sort(list(distinct system_fingerprint) filter (system_fingerprint is not null)) as system_fingerprints
    from {{ ref('fct_predictions') }}
    where {{ in_this_build() }}
    group by all
),

engines as (
    select
        audit_run_id,
        model_id,
        list_sort(list(distinct concat_ws(' ', engine, engine_version))) as engines
    from {{ ref('stg_engines') }}
    where {{ in_this_build() }}
    group by all
),

-- what reaches the model, or where it is reached: no limit and no price changes an answer
models as (
    select
        audit_run_id,
        model_id,
        [json_merge_patch(
            card, '{"limits": null, "price": null, "api_key_env": null, "batch": null, "grid": null}'
        )::varchar] as card
    from {{ ref('stg_models') }}
    where {{ in_this_build() }}
),

tasks as (
    select
        audit_run_id,
        task_id,
        [instruction] as instruction,
        [output_format] as output_format,
        [concat_ws(' ', reader, refusal_pattern, scoring_methods, token_f1_threshold::varchar)] as reader
    from {{ ref('stg_tasks') }}
    where {{ in_this_build() }}
),

prompts as (
    select
        audit_run_id,
        task_id,
        [
            count(*) || ' wordings, '
            || left(md5(string_agg(concat_ws(' ', prompt_variant_id, prompt, template), ';' order by prompt_variant_id)), 8)
        ] as prompts
    from {{ ref('stg_prompt_variants') }}
    where not is_refused and {{ in_this_build() }}
    group by all
),

samples as (
    select
        audit_run_id,
        task_id,
        [
            count(*) || ' samples, '
            || left(md5(string_agg(
                json_array(sample_id, input, gold_label, options, reference_answers)::varchar, ';' order by sample_id
            )), 8)
        ] as samples
    from {{ ref('stg_samples') }}
    where {{ in_this_build() }}
    group by all
),

labels as (
    select
        audit_run_id,
        task_id,
        list(label order by label_index) as labels
    from {{ ref('stg_task_labels') }}
    where {{ in_this_build() }}
    group by all
),

methods as (
    select
        audit_run_id,
        task_id,
        list_sort(list(distinct scoring_method || ' ' || scoring_version)) as scoring_versions
    from {{ ref('fct_scores') }}
    where {{ in_this_build() }}
    group by all
),

judges as (
    select
        audit_run_id,
        list(judge_id || ' ' || left(judge_key, 8) order by judge_id) as judges
    from {{ ref('stg_judges') }}
    where {{ in_this_build() }}
    group by all
),

runs as (
    select
        audit_run_id,
        [code_version] as code_version,
        [library_versions] as library_versions
    from {{ ref('stg_audit_runs') }}
    where {{ in_this_build() }}
),

versions as (
    select
        audit_run_id,
        [any_value(measure_version)::varchar] as measure_version
    from {{ ref('rpt_audit') }}
    where {{ in_this_build() }}
    group by all
)

{% set facts = [
    ('served', 'model_id', ['served_models', 'system_fingerprints']),
    ('engines', 'model_id', ['engines']),
    ('models', 'model_id', ['card']),
    ('tasks', 'task_id', ['instruction', 'output_format', 'reader']),
    ('prompts', 'task_id', ['prompts']),
    ('samples', 'task_id', ['samples']),
    ('labels', 'task_id', ['labels']),
    ('methods', 'task_id', ['scoring_versions']),
    ('judges', none, ['judges']),
    ('runs', none, ['code_version', 'library_versions']),
    ('versions', none, ['measure_version']),
] -%}
{% set names = {
    'served_models': 'served_model', 'system_fingerprints': 'system_fingerprint', 'engines': 'engine',
    'card': 'model_card', 'scoring_versions': 'scoring_version', 'judges': 'judge_card',
} -%}
{% for source, key, columns in facts %}
{%- set outer_loop = loop -%}
{% for column in columns %}
select
    audit_run_id,
    {{ 'model_id' if key == 'model_id' else 'null::varchar as model_id' }},
    {{ 'task_id' if key == 'task_id' else 'null::varchar as task_id' }},
    '{{ names.get(column, column) }}' as what,
    {{ column }}::varchar[] as found
from {{ source }}
where {{ column }} is not null
{{ 'union all' if not (loop.last and outer_loop.last) }}
{%- endfor %}
{%- endfor %}
