-- Up to $run itself, which may be unfinished, newest first.
select
    nights.audit_run_id,
    nights.started_at,
    nights.run_index
from marts.dim_audit_runs as this
inner join dim_nights as nights
    on
        this.audit_id = nights.audit_id
        -- a trial is no night, and has none before it
        and (
            this.audit_run_id = nights.audit_run_id
            or (
                this.origin != 'trial' and nights.night_number is not null
                and this.run_index > nights.run_index
            )
        )
where this.audit_run_id = $run
order by nights.run_index desc
limit $most
