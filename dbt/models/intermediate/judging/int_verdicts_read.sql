-- One row per run, rater, repetition and answer or control that was ruled on: the verdict that counts, of a judge under its
-- rubric as it is written. Scores, agreements, anchors and controls are of these alone.
{{ config(materialized='view') }}
with verdicts as {{ of_this_build('int_verdicts_by_wording') }},

final as (
    select * exclude (wording_index)
    from verdicts
    where wording_index = 0
)

select * from final
