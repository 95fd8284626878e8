-- one row a sample on whose answers people can rule: its right answer is known, or a judge of its task rules without one
select
    samples.task_id,
    samples.sample_id
from raw.samples as samples
where
    samples.audit_run_id = $run
    and (
        samples.gold_label is not null
        or samples.reference_answers is not null
        or exists (
            select 1 from raw.judges as judges
            where
                judges.audit_run_id = $run
                and json_extract_string(judges.card, '$.references') = 'none'
                and coalesce(
                    json_contains(nullif(json_extract(judges.card, '$.tasks'), '[]'), to_json(samples.task_id)), true
                )
        )
    )
