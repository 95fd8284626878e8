-- One row per run, task and set of raters: how far they agree on the answers that all of them ruled on. Answers that say the
-- same are ruled on once and count each; `_distinct` counts them once. task_id NULL is all tasks of the raters together.
-- Sets are pairs of judges, panels, persons, their majority (`people`) and rules (no majority with its own member), all
-- persons, all judges, and the repetitions of one judge. What a rule cannot score it does not count as right.
with answers as {{ of_this_build('int_answers_rated') }},

judges as {{ of_this_build('stg_judges', where='panel is not null') }},

verdicts as (
    select
        *,
        {{ answer_key('sample_id', 'reader', 'completion_md5') }} as answer
    from {{ ref('int_verdicts_read') }}
    where control_id is null and is_match is not null and starts_with(rater, 'judge:') and {{ in_this_build() }}
),

said as (
    select distinct
        audit_run_id,
        task_id,
        answer,
        n_answers
    from answers
),

-- the majority of a single person is that person
rated as (
    select *
    from answers
    where is_match is not null
    qualify
        kind != 'people'
        or count(distinct if(kind = 'person', rater, null)) over (partition by audit_run_id, task_id) > 1
),

members as (
    select
        audit_run_id,
        'judge:' || judge_id as rater,
        'judge:' || unnest(from_json(panel, '["VARCHAR"]')) as member
    from judges
),

pairs as (
    select
        first.audit_run_id,
        first.task_id,
        least(first.kind, second.kind) || ' and ' || greatest(first.kind, second.kind) as kind,
        first.rater || ' | ' || second.rater as raters,
        first.answer,
        first.n_answers,
        unnest([first.rater, second.rater]) as rater,
        unnest([first.is_match, second.is_match]) as is_match
    from rated as first
    inner join rated as second
        on
            first.audit_run_id = second.audit_run_id
            and first.task_id = second.task_id
            and first.answer = second.answer
            and first.rater < second.rater
            and not (first.kind = 'rule' and second.kind = 'rule')
            and not (first.kind = 'people' and second.kind = 'person')
    -- a panel agrees with its members by their own votes, as people do with each person
    where not exists (
        select 1 from members
        where
            members.audit_run_id = first.audit_run_id
            and members.rater in (first.rater, second.rater)
            and members.member in (first.rater, second.rater)
    )
),

groups as (
    select
        rated.audit_run_id,
        rated.task_id,
        if(rated.kind = 'person', 'people', 'judges') as kind,
        rated.answer,
        rated.n_answers,
        rated.rater,
        rated.is_match
    from rated
    anti join members using (audit_run_id, rater)
    where rated.kind in ('person', 'judge')
),

named as (
    select
        audit_run_id,
        task_id,
        kind,
        string_agg(distinct rater, ' | ' order by rater) as raters
    from groups
    group by all
    having count(distinct rater) > 2
),

grouped as (
    select
        groups.audit_run_id,
        groups.task_id,
        groups.kind,
        named.raters,
        groups.answer,
        groups.n_answers,
        groups.rater,
        groups.is_match
    from groups
    inner join named using (audit_run_id, task_id, kind)
),

repeated as (
    select
        audit_run_id,
        task_id,
        'repetitions' as kind,
        rater || ' repetitions' as raters,
        answer,
        n_answers,
        repetition::varchar as rater,
        is_match
    from verdicts
    inner join said using (audit_run_id, task_id, answer)
    qualify max(repetition) over (partition by audit_run_id, rater) > 1
),

entries as (
    select * from pairs
    union all by name
    select * from grouped
    union all by name
    select * from repeated
),

coded as (
    select
        *,
        -- codes of an answer and of a rater within their set
        dense_rank() over (partition by audit_run_id, raters order by task_id, answer)::integer as item,
        dense_rank() over (partition by audit_run_id, raters order by rater)::integer as rater_code,
        count(distinct task_id) over (partition by audit_run_id, raters) > 1 as is_of_many_tasks
    from entries
),

with_all_tasks as (
    select * from coded
    union all by name
    select * replace (null as task_id)
    from coded
    where is_of_many_tasks
),

measured as (
    select
        audit_run_id,
        task_id,
        raters,
        kind,
        count(distinct rater)::integer as n_raters,
    {%- for times, agreement in [('n_answers', 'agreement'), ('1', 'agreement_distinct')] %}
        try_rater_agreement(
            {{ group_keys(keys=['audit_run_id', 'task_id']) }},
            list(item), list(rater_code), list(is_match::integer), list({{ times }})
        ) as {{ agreement }}{{ ',' if not loop.last }}
    {%- endfor %}
    from with_all_tasks
    group by all
),

final as (
    select
        audit_run_id,
        task_id,
        raters,
        kind,
        n_raters,
        agreement.cohen_kappa,
        agreement.fleiss_kappa,
        agreement.agreement_rate,
        agreement.perfect_agreement_rate,
        agreement.n_rated::integer as n_rated,
        agreement_distinct.cohen_kappa as cohen_kappa_distinct,
        agreement_distinct.fleiss_kappa as fleiss_kappa_distinct,
        agreement_distinct.agreement_rate as agreement_rate_distinct,
        agreement_distinct.n_rated::integer as n_rated_distinct,
        {{ measure_version() }}
    from measured
)

select * from final
