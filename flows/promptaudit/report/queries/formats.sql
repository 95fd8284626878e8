select
    task_id,
    strategy,
    model_id,
    prompt_variant_id,
    sum(n_planned)::bigint as n_planned,
    sum(n_landed)::bigint as n_landed,
    sum(n_missing)::bigint as n_missing,
    sum(n_valid)::bigint as n_valid,
    sum(n_empty)::bigint as n_empty,
    sum(n_truncated)::bigint as n_truncated,
    sum(n_refused)::bigint as n_refused,
    sum(n_unparsed)::bigint as n_unparsed,
    sum(n_error)::bigint as n_error,
    bool_or(is_breaking) as is_breaking,
    any_value(breaking_reason) as breaking_reason
from marts.fct_answer_formats
where audit_run_id = $run
group by all
order by all
