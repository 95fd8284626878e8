-- Up to $run itself, newest first.
select
    nights.audit_run_id,
    nights.started_at
from dim_nights as this
inner join dim_nights as nights
    on
        this.audit_id = nights.audit_id
        -- a trial is no night, and has none before it
        and (this.audit_run_id = nights.audit_run_id or this.night_number > nights.night_number)
where this.audit_run_id = $run
order by nights.started_at desc, nights.audit_run_id desc
limit $most
