"""What `import promptaudit` gives: audits, their figures as polars frames, the measures as functions.

    import promptaudit as pa

    run = pa.run("quickstart", warehouse="warehouse/audit.duckdb")    # as `promptaudit run`, in a process of its own
    run.scorecard, run.table("fct_sensitivity"), run.report()
    pss = pa.intra_pss(annotate, samples, repetitions=30)             # any callable (text, prompt) -> answer
    inter = pa.inter_pss(annotate, samples, prompt="...", paraphrase=pa.rules(), temperatures=[.1, 1, 2], variants=10)
    pa.open("warehouse").latest("nightly").scorecard
    pa.import_answers(frame, labels=["0", "1"], warehouse="warehouse/audit.duckdb")
    pa.measures.krippendorff_alpha([["a", "a"], ["b", "a"], ["b", "b"]])
    pa.register(duckdb.connect())                                     # the measures as functions of SQL

Frames go in as polars, or as anything with the Arrow interface (pandas, DuckDB, pyarrow), and come out as polars. Importing
this package takes a few milliseconds; a heavy library is imported by the function that needs it.
"""
