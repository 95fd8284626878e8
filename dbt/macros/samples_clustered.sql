{# Each sample of a relation with the number of its cluster: the least of its samples. One without a cluster is its own. #}
{% macro samples_clustered(samples) -%}
    (
        select
            audit_run_id,
            task_id,
            sample_index,
            min(sample_index) over (
                partition by audit_run_id, task_id, cluster, if(cluster is null, sample_index, null)
            ) as cluster_index
        from {{ samples }}
    )
{%- endmacro %}
