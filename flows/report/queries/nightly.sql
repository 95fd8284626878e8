-- Of each night of the audit what the scorecard has and the section on nights prints.
select
    found.audit_run_id,
    found.task_id,
    found.strategy,
    found.model_id,
    found.n_samples,
    found.n_variants,
    found.n_variants_quarantined,
    found.n_repetitions,
    found.measure_version,
    found.sensitivity,
    found.sensitivity_corrected,
    found.sensitivity_corrected_low,
    found.sensitivity_corrected_high,
    found.consistency,
    found.consistency_low,
    found.consistency_high,
    found.pss_inter,
    found.pss_inter_low,
    found.pss_inter_high,
    found.micro_f1,
    found.micro_f1_low,
    found.micro_f1_high,
    found.invalid_rate,
    found.invalid_rate_low,
    found.invalid_rate_high
from marts.rpt_audit as found
inner join nights using (audit_run_id)
order by nights.started_at, found.audit_run_id
