select audit_run_id from raw.retirements
where list_contains($runs, audit_run_id)
union
select audit_run_id from raw.erasures
where list_contains($runs, audit_run_id)
union
select audit_run_id from raw.audit_runs
where list_contains($runs, audit_run_id) and state = 'running'
