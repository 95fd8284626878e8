-- One row per task and sample: as it landed in the newest complete run that has it.
{{ config(materialized='view', contract={'enforced': false}) }}
{{ newest_landed('dim_samples', key='landed.task_id, landed.sample_id') }}
