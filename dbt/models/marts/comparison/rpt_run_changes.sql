-- One row per comparison, model, task, judge and thing that the two runs recorded differently.
-- Model or task is NULL where it holds for every one, judge where it is of none alone.
{{ config(pre_hook='{{ delete_compared_in_this_build() }}') }}
with comparisons as {{ all_of('stg_comparisons', where=compared_in_this_build()) }},

described as {{ of_this_build('int_runs_described') }},

bases as (
    select
        comparisons.comparison_id,
        if(described.model_id is null, null, coalesce(comparisons.candidate_model_id, described.model_id)) as model_id,
        described.task_id,
        described.judge_id,
        described.what,
        described.found
    from comparisons
    inner join described on comparisons.base_run_id = described.audit_run_id
    where
        comparisons.base_model_id is null or described.model_id is null or comparisons.base_model_id = described.model_id
),

candidates as (
    select
        comparisons.comparison_id,
        described.model_id,
        described.task_id,
        described.judge_id,
        described.what,
        described.found
    from comparisons
    inner join described on comparisons.candidate_run_id = described.audit_run_id
    where
        comparisons.candidate_model_id is null
        or described.model_id is null
        or comparisons.candidate_model_id = described.model_id
),

paired as (
    select
        coalesce(bases.comparison_id, candidates.comparison_id) as comparison_id,
        coalesce(bases.model_id, candidates.model_id) as model_id,
        coalesce(bases.task_id, candidates.task_id) as task_id,
        coalesce(bases.judge_id, candidates.judge_id) as judge_id,
        coalesce(bases.what, candidates.what) as what,
        bases.found as base,
        candidates.found as candidate
    from bases
    full join candidates
        on
            bases.comparison_id = candidates.comparison_id
            and bases.what = candidates.what
            and bases.model_id is not distinct from candidates.model_id
            and bases.task_id is not distinct from candidates.task_id
            and bases.judge_id is not distinct from candidates.judge_id
),

changed as (
    select
        comparison_id,
        model_id,
        task_id,
        judge_id,
        what,
        array_to_string(base, ', ') as base,
        array_to_string(candidate, ', ') as candidate
    from paired
    where
        base is distinct from candidate
        -- a provider serves one model from several stacks: while one of them is still there it is the same
        and not (what in ('system_fingerprint', 'judge_system_fingerprint') and coalesce(list_has_any(base, candidate), false))
        -- who leaves a name out one night has not changed it
        and not (
            what in (
                'served_model', 'system_fingerprint', 'engine', 'server', 'weights', 'chat_template', 'judge_served_model',
                'judge_system_fingerprint'
            )
            and (base is null or candidate is null)
        )
),

attributed as (
    select
        changed.comparison_id,
        comparisons.base_run_id,
        comparisons.candidate_run_id,
        changed.model_id,
        changed.task_id,
        changed.judge_id,
        changed.what,
        case
            when changed.what in ('samples', 'labels') then 'we_changed_the_data'
            when changed.what in ('instruction', 'output_format', 'prompts') then 'we_changed_the_prompt'
            when changed.what in ('model_card', 'server', 'weights', 'chat_template') then 'we_changed_the_model'
            when changed.what in ('served_model', 'system_fingerprint', 'engine') then 'provider_changed_the_model'
            when changed.judge_id is not null then 'provider_changed_the_judge'
            when changed.what in ('reader', 'scoring_version', 'judge_card') then 'we_changed_the_scoring'
            else 'promptaudit_changed'
        end as cause,
        {%- for side in ['base', 'candidate'] %}
            if(
                length(changed.{{ side }}) <= 200,
                changed.{{ side }},
                left(changed.{{ side }}, 180) || '... ' || left(md5(changed.{{ side }}), 8)
            ) as {{ side }},
        {%- endfor %}
        {{ measure_version() }}
    from changed
    inner join comparisons using (comparison_id)
),

final as (
    select
        * exclude (measure_version),
        cause_phrase(cause) as cause_phrase,
        measure_version
    from attributed
)

select * from final
