-- Would catch what happened: with the original asked more often, invalid_rate weighed answers and its interval
-- variants, so that the printed interval left the printed figure out. Consistency is resampled, which need not hold it.
select *
from (
    select
        audit_run_id,
        model_id,
        task_id,
        strategy,
        unnest([
            {%- for measure in [
                'sensitivity', 'sensitivity_corrected', 'consistency_rate', 'micro_f1', 'invalid_rate', 'pss_intra',
                'pss_inter'
            ] %}
                {
                    'measure': '{{ measure }}',
                    'low': {{ measure }}_low,
                    'figure': {{ measure }},
                    'high': {{ measure }}_high
                }{{ ',' if not loop.last }}
            {%- endfor %}
        ]) as interval
    from {{ ref('rpt_audit') }}
    where {{ in_this_build() }}
)
where
    interval.figure < interval.low - 1e-9
    or interval.figure > interval.high + 1e-9
