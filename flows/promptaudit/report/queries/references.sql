-- models of this program that answer by chance, or as another one does with errors of a known share
select
    model_id,
    model as kind
from marts.dim_models
where audit_run_id = $run and engine = 'embedded' and model in ('random', 'noisy')
order by kind desc, model_id asc
