-- One row per model of a run: what was asked, with which parameters, and what answered.
select
    models.model_id,
    models.engine,
    models.model,
    list_sort(list(distinct answers.sampling) filter (where answers.sampling is not null)) as sampling,
    list_sort(list(distinct answers.served_model) filter (where answers.served_model is not null)) as served_models,
    list_sort(list(distinct answers.system_fingerprint) filter (where answers.system_fingerprint is not null)) as fingerprints
from marts.dim_models as models
left join raw.predictions as answers
    on models.audit_run_id = answers.audit_run_id and models.model_id = answers.model_id
where models.audit_run_id = $run
group by all
order by models.model_id
