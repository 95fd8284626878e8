with hashed as (
    select
        part,
        sha256(text) as digest
    from texts
)

select
    part,
    count(*) as n_rows,
    sha256(string_agg(digest, '' order by digest)) as digest
from hashed
group by part
