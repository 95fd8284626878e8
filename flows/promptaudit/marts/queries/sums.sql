select
    part,
    unhex(sha256(text)) as digest
from texts
order by all
