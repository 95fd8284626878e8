-- Whether answers differ because of the prompt, by chance, or because samples differ, in each audit's newest run.
-- NULL shares: rephrasings were asked once, so that prompt and chance cannot be told apart.
select
    audit_id,
    task_id,
    strategy,
    model_id,
    wording_share,
    wording_share_low,
    wording_share_high,
    noise_share,
    item_share,
    case
        when wording_share is null then 'asked once: cannot be told'
        when wording_share_low > 0 then 'prompt matters'
        when wording_share_high < 0.05 then 'prompt hardly matters'
        else 'undecided'
    end as reading,
    sensitivity
from {{ ref('rpt_latest') }}
order by wording_share desc nulls last, audit_id asc, task_id asc, strategy asc, model_id asc
