-- a panel has a card and no replies of its own
with replies as (
    select
        rater,
        count(*) as n_replies,
        count(*) filter (is_settled and is_current) as n_rulings,
        count(*) filter (is_settled and is_current and is_match is null) as n_unreadable,
        sum(cost_usd) as cost_usd
    from marts.fct_verdicts
    where audit_run_id = $run and starts_with(rater, 'judge:')
    group by all
)

select
    judges.judge_id,
    judges.model_id,
    judges.judge_key,
    judges.repetitions,
    judges.max_asks,
    from_json(judges.panel, '["VARCHAR"]') as panel,
    replies.* exclude (rater)
from raw.judges as judges
left join replies on replies.rater = 'judge:' || judges.judge_id
where judges.audit_run_id = $run
qualify judges.recorded_at = max(judges.recorded_at) over (partition by judges.judge_id)
order by judges.judge_id
