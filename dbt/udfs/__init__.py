"""The measures of promptaudit as pure functions on numpy arrays; `plugin` gives them to DuckDB."""

RUN_IDS = "PROMPTAUDIT_RUN_IDS"
"""The environment variable that names the runs a build is about, comma between; none: every run."""

COMPARISON_IDS = "PROMPTAUDIT_COMPARISON_IDS"
"""The environment variable that names the comparisons a build is about, comma between; none: see the macro."""
