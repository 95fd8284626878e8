with hashed as (
    select
        sha256(text) as digest,
        md5_number_upper(key_text) as key
    from texts
)

select
    ('0x' || digest[1:16])::ubigint as row_high,
    ('0x' || digest[17:32])::ubigint as row_low,
    key
from hashed
order by all
