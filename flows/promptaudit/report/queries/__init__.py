"""What the report asks of the published copy: each query is about one run (`$run`) and gives few rows.

Texts are fetched with one character more than is shown (`left(…, $long)`), so that a cut is seen. A sample is chosen by
the smallest md5 of the run's seed and its name. It is the same on every machine and with any number of other samples.
"""

from __future__ import annotations

from promptaudit.warehouse.sql import over, sql

TOP_SAMPLES = 20
EXAMPLES = 3
MOST_ROWS = 200
MOST_BASES = 4
MOST_DISAGREEMENTS = 12  # a task
MOST_REFERENCES = 5
SAMPLED = 150  # dots a model and strategy
N_BINS = 50  # of a density

LIMITS = {
    "top_samples": TOP_SAMPLES,
    "examples": EXAMPLES,
    "most_rows": MOST_ROWS,
    "most_bases": MOST_BASES,
    "most_disagreements": MOST_DISAGREEMENTS,
    "most_references": MOST_REFERENCES,
    "sampled": SAMPLED,
    "n_bins": N_BINS,
}
"""Values that are bound in queries about any run."""

_READS = {
    "top": ("top_samples",),
    "top_sensitivities": ("top_samples",),
    "top_labels": ("top_samples", "top_answers"),
    "top_examples": ("top_samples", "top_answers"),
    "rulings": ("ruled",),
    "disagreements": ("ruled",),
}


def query(name: str) -> str:
    """Reads the text of a query, preceded by the queries that it reads by name."""
    return over(sql("report", name), **{each: sql("report", each) for each in _READS.get(name, ())})
