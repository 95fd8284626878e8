-- Whether variants that were asked differ in another respect than their wording
select
    coalesce(
        bool_or(not list_contains($worded_alone, variation)), false
    ) as has_other_kinds
from marts.dim_prompt_variants
where audit_run_id = $run and refused_because is null
