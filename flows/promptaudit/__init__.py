"""How and when audits run; a room stands above what it uses.

python         what `import promptaudit` gives, which runs commands and reads what they published
cli            one command, one call
nightly        one night, its Prefect flow and its deployments
asker          one shard of a run, asked by a process of its own
erase, trial, annotation, recorded_runs    other ways to make or change a run
audit          the path: design, plan, paraphrase, infer, land, validate, judge, derive
report         the page and the scorecard
alerts, diagnosis, history, query          readers of published marts
gate           the rules of a card held against a run
evidence       verify, trace, retain
comparison     two runs held against each other
marts          from raw rows to what readers see: transform, seal, publish
lineage, trust, rephrasers, engines        where figures come from; who is asked, what rewords, what answers
warehouse      the only room that imports DuckDB
display, system, settings                  words and figures for people; files, ids and processes; options
"""
