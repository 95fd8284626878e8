-- Whether the copy has the kinds of unscored answers: the next build fills them in for the runs of an older version.
select count(*) > 0 as is_there
from information_schema.columns
where table_schema = 'marts' and table_name = 'fct_scores' and column_name = 'unscored_kind'
