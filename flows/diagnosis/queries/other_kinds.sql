-- Whether variants that were asked differ in another respect than their wording; a copy of an earlier version has no such column
select
    coalesce(
        bool_or(not list_contains($worded_alone, to_json(variants) ->> 'variation')), false
    ) as has_other_kinds
from marts.dim_prompt_variants as variants
where audit_run_id = $run and refused_because is null
