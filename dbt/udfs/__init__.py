"""The measures of promptaudit as pure functions on numpy arrays; `plugin` registers them in DuckDB."""

RUN_IDS = "PROMPTAUDIT_RUN_IDS"
"""The environment variable with the ids of the runs that a build derives, separated by commas. Without it: every run."""

COMPARISON_IDS = "PROMPTAUDIT_COMPARISON_IDS"
"""The environment variable with the ids of the comparisons that a build derives, separated by commas. Without it, the macro
`compared_in_this_build` decides."""
