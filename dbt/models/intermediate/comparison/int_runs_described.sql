-- One row per run, model, task, judge and thing that a run recorded about itself; NULL where it holds for every model or task,
-- or is of no judge.
{{ config(materialized='view') }}
with predictions as {{ of_this_build('fct_predictions') }},

opened_engines as {{ of_this_build('stg_engines') }},

model_cards as {{ of_this_build('stg_models') }},

task_cards as {{ of_this_build('stg_tasks') }},

variants as {{ of_this_build('stg_prompt_variants', where='not is_refused') }},

asked_samples as {{ of_this_build('stg_samples') }},

task_labels as {{ of_this_build('stg_task_labels') }},

scores as {{ of_this_build('fct_scores', where="scoring_method != 'people'") }},

verdicts as {{ of_this_build('fct_verdicts', where='is_current') }},

judge_cards as {{ of_this_build('stg_judges') }},

audit_runs as {{ of_this_build('stg_audit_runs') }},

scorecards as {{ of_this_build('rpt_audit') }},

served as (
    select
        audit_run_id,
        model_id,
        list_sort(list(distinct served_model) filter (served_model is not null)) as served_models,
        list_sort(list(distinct system_fingerprint) filter (system_fingerprint is not null)) as system_fingerprints
    from predictions
    group by all
),

-- what serves a model elsewhere is its provider's, what a run started is ours
served_by as (
    select
        opened_engines.*,
        concat_ws(' ', opened_engines.engine, opened_engines.engine_version) as program,
        coalesce(
            opened_engines.engine in ('vllm_server', 'llama_cpp') and (model_cards.card ->> '$.base_url') is null, false
        ) as is_here
    from opened_engines
    left join model_cards
        on opened_engines.audit_run_id = model_cards.audit_run_id and opened_engines.model_id = model_cards.model_id
),

engines as (
    select
        audit_run_id,
        model_id,
        list_sort(list(distinct program) filter (not is_here)) as engines,
        list_sort(list(distinct program) filter (is_here)) as servers,
        list_sort(list(distinct weights_sha256) filter (weights_sha256 is not null)) as weights,
        list_sort(list(distinct chat_template) filter (is_here and chat_template is not null)) as chat_templates
    from served_by
    group by all
),

models as (
    select
        audit_run_id,
        model_id,
        [{{ as_sent_to_the_model('card') }}] as card
    from model_cards
),

tasks as (
    select
        audit_run_id,
        task_id,
        [instruction] as instruction,
        [output_format] as output_format,
        [concat_ws(' ', reader, refusal_pattern, scoring_methods, token_f1_threshold::varchar)] as reader
    from task_cards
),

prompts as (
    select
        audit_run_id,
        task_id,
        [
            count(*) || ' prompt variants, '
            || left(md5(string_agg(concat_ws(' ', prompt_variant_id, prompt, template), ';' order by prompt_variant_id)), 8)
        ] as prompts
    from variants
    where model_ids is null
    group by all
),

asked as (
    select
        *,
        unnest(model_ids) as model_id
    from variants
),

-- what a model reworded for itself, or was asked of another's
own_prompts as (
    select
        audit_run_id,
        model_id,
        task_id,
        [
            count(*) || ' prompt variants of its own, '
            || left(md5(string_agg(concat_ws(' ', prompt_variant_id, prompt, template), ';' order by prompt_variant_id)), 8)
        ] as prompts
    from asked
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
    from asked_samples
    group by all
),

labels as (
    select
        audit_run_id,
        task_id,
        list(label order by label_index) as labels
    from task_labels
    group by all
),

methods as (
    select
        audit_run_id,
        task_id,
        list_sort(list(distinct scoring_method || ' ' || scoring_version)) as scoring_versions
    from scores
    group by all
),

judges as (
    select
        audit_run_id,
        list(judge_id || ' ' || left(judge_key, 8) order by judge_id) as judges
    from judge_cards
    group by all
),

-- who served a judge, and the members of a panel
seats as (
    select
        audit_run_id,
        judge_id,
        unnest(from_json(panel, '["VARCHAR"]')) as member
    from judge_cards
    where panel is not null
    union all
    select
        audit_run_id,
        judge_id,
        judge_id as member
    from judge_cards
    where panel is null
),

judges_served as (
    select
        seats.audit_run_id,
        seats.judge_id,
        list_sort(list(distinct verdicts.served_model) filter (verdicts.served_model is not null)) as served_models,
        list_sort(list(distinct verdicts.system_fingerprint) filter (verdicts.system_fingerprint is not null))
            as system_fingerprints
    from seats
    inner join verdicts
        on seats.audit_run_id = verdicts.audit_run_id and 'judge:' || seats.member = verdicts.rater
    group by all
),

runs as (
    select
        audit_run_id,
        [code_version] as code_version,
        [library_versions] as library_versions
    from audit_runs
),

versions as (
    select
        audit_run_id,
        [any_value(measure_version)::varchar] as measure_version
    from scorecards
    group by all
),

{% set facts = [
    ('served', 'model_id', 'served_models', 'served_model'),
    ('served', 'model_id', 'system_fingerprints', 'system_fingerprint'),
    ('engines', 'model_id', 'engines', 'engine'),
    ('engines', 'model_id', 'servers', 'server'),
    ('engines', 'model_id', 'weights', 'weights'),
    ('engines', 'model_id', 'chat_templates', 'chat_template'),
    ('models', 'model_id', 'card', 'model_card'),
    ('tasks', 'task_id', 'instruction', 'instruction'),
    ('tasks', 'task_id', 'output_format', 'output_format'),
    ('tasks', 'task_id', 'reader', 'reader'),
    ('prompts', 'task_id', 'prompts', 'prompts'),
    ('own_prompts', 'model_id and task_id', 'prompts', 'prompts'),
    ('samples', 'task_id', 'samples', 'samples'),
    ('labels', 'task_id', 'labels', 'labels'),
    ('methods', 'task_id', 'scoring_versions', 'scoring_version'),
    ('judges', none, 'judges', 'judge_card'),
    ('judges_served', 'judge_id', 'served_models', 'judge_served_model'),
    ('judges_served', 'judge_id', 'system_fingerprints', 'judge_system_fingerprint'),
    ('runs', none, 'code_version', 'code_version'),
    ('runs', none, 'library_versions', 'library_versions'),
    ('versions', none, 'measure_version', 'measure_version'),
] -%}
final as (
    {%- for source, key, column, what in facts %}
        select
            audit_run_id,
            {{ 'model_id' if key and 'model_id' in key else 'null::varchar as model_id' }},
            {{ 'task_id' if key and 'task_id' in key else 'null::varchar as task_id' }},
            {{ 'judge_id' if key == 'judge_id' else 'null::varchar as judge_id' }},
            '{{ what }}' as what,
            {{ column }}::varchar[] as found
        from {{ source }}
        where {{ column }} is not null
        {{ 'union all' if not loop.last }}
    {%- endfor %}
)

select * from final
