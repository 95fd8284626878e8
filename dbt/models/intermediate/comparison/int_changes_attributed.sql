-- One row per comparison, model, task and strategy of which the two runs recorded something differently: the causes, the first
-- that applies first. Of a judge's change they name the judge: it is a cause of what that judge scored alone.
with paired as {{ all_of('int_groups_paired') }},

changed as {{ all_of('rpt_run_changes', where=compared_in_this_build()) }},

grouped as (
    select
        paired.comparison_id,
        paired.model_id,
        paired.task_id,
        paired.strategy,
        changed.cause,
        changed.cause_phrase,
        changed.judge_id,
        bool_and(changed.what = 'judge_card') as is_of_judges,
        string_agg(
            changed.what || if(
                len(changed.base) + len(changed.candidate) < 100, ' ' || changed.base || ' -> ' || changed.candidate, ''
            ),
            ', ' order by changed.what
        ) as details
    from paired
    inner join changed
        on
            paired.comparison_id = changed.comparison_id
            and paired.model_id = coalesce(changed.model_id, paired.model_id)
            and paired.task_id = coalesce(changed.task_id, paired.task_id)
    group by all
),

placed as (
    select
        *,
        cause_precedence(cause) as precedence,
        cause_phrase
        || if(cause = 'we_changed_the_data', ', of which only what both runs asked is compared', '')
        || ' (' || details || ')' as said
    from grouped
),

final as (
    select
        comparison_id,
        model_id,
        task_id,
        strategy,
        min_by(cause, precedence) filter (judge_id is null and not is_of_judges) as cause_of_labels,
        list(
            {'cause': cause, 'judge': 'judge:' || judge_id, 'said': said} order by precedence, judge_id
        ) as causes
    from placed
    group by all
)

select * from final
