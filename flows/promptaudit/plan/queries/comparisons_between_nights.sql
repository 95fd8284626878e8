-- how many differences were tested between a run and another, the most of its comparisons; label_churn is apart from them
with tested as (
    select
        comparison_id,
        count(*) as n
    from marts.rpt_run_comparisons
    where candidate_run_id = $run and p_value is not null and measure != 'label_churn'
    group by all
)

select max(n) as n from tested
