-- One row per comparison, task and sample that both runs asked: the same id, text, options and gold label. Samples without a
-- cluster are one each; a cluster's index is that of its first sample.
with paired as {{ all_of('int_groups_paired', where='reason is null') }},

samples as {{ of_this_build('stg_samples') }},

runs as (
    select distinct
        comparison_id,
        base_run_id,
        candidate_run_id,
        task_id
    from paired
),

final as (
    select
        runs.comparison_id,
        runs.task_id,
        bases.sample_id,
        bases.sample_index,
        bases.gold_label,
        min(bases.sample_index) over (
            partition by
                runs.comparison_id, runs.task_id, candidates.cluster, if(candidates.cluster is null, bases.sample_id, null)
        ) as cluster_index,
        md5(json_array(bases.input, bases.options, bases.gold_label)::varchar) as content
    from runs
    inner join samples as bases
        on runs.base_run_id = bases.audit_run_id and runs.task_id = bases.task_id
    inner join samples as candidates
        on
            runs.candidate_run_id = candidates.audit_run_id
            and bases.task_id = candidates.task_id
            and bases.sample_id = candidates.sample_id
            and bases.input is not distinct from candidates.input
            and bases.options is not distinct from candidates.options
            and bases.gold_label is not distinct from candidates.gold_label
            and bases.reference_answers is not distinct from candidates.reference_answers
)

select * from final
