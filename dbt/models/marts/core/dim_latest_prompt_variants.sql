-- One row per prompt variant: as it landed in the newest complete run that has it.
{{ config(materialized='view', contract={'enforced': false}) }}
{{ newest_landed('dim_prompt_variants', key='landed.prompt_variant_id') }}
