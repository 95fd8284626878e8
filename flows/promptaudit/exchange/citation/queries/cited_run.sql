-- One row: the run as its methods paragraph describes it; `sample_seed` is NULL of an import.
select
    runs.audit_run_id,
    runs.audit_id,
    runs.origin,
    runs.card,
    runs.started_at,
    runs.finished_at,
    runs.seed,
    runs.n_resamples,
    runs.code_version,
    runs.code_commit,
    runs.is_code_dirty,
    runs.library_versions,
    runs.manifest,
    designs.seed as sample_seed
from marts.dim_audit_runs as runs
left join raw.designs as designs on runs.audit_run_id = designs.audit_run_id
where runs.audit_run_id = $run
