-- Comparisons whose ids begin with one of $beginnings, the newest first: which two, and how many measures came out how.
select
    found.comparison_id,
    found.base_run_id,
    found.candidate_run_id,
    if(bool_and(found.base_model_id = found.model_id) is true, null, any_value(found.base_model_id)) as base_model_id,
    any_value(found.model_id) as model_id,
    if(bool_and(found.base_strategy = found.strategy) is true, null, any_value(found.base_strategy)) as base_strategy,
    any_value(found.strategy) as strategy,
    any_value(bases.audit_id) as base_audit_id,
    any_value(candidates.audit_id) as audit_id,
    any_value(candidates.started_at) as started_at,
    count_if(found.verdict = 'regressed') as n_regressed,
    count_if(found.verdict = 'improved') as n_improved,
    count_if(found.verdict = 'changed') as n_changed,
    count_if(found.verdict = 'none_shown') as n_none_shown
from marts.rpt_run_comparisons as found
left join marts.dim_audit_runs as bases on found.base_run_id = bases.audit_run_id
left join marts.dim_audit_runs as candidates on found.candidate_run_id = candidates.audit_run_id
where list_contains($beginnings::varchar[], left(found.comparison_id, 12))
group by all
order by any_value(candidates.run_index) desc, found.comparison_id asc
