select distinct
    coalesce(models.model, engines.served_model, engines.model_id) as name,
    engines.endpoint
from raw.engines
left join raw.models using (audit_run_id, model_id)
where audit_run_id = $run and starts_with(engines.model_id, 'judge:') = $of_judges
union
select
    model,
    'embedded' as endpoint
from raw.models
where audit_run_id = $run and engine = 'embedded' and not $of_judges
order by all
