"""The measures, readers and scoring methods as pure functions, which SQL calls by name.

They work on numpy arrays and know neither cards nor files; `register` gives them to DuckDB.
"""

RUN_IDS = "PROMPTAUDIT_RUN_IDS"
"""The environment variable with the ids of the runs that a build derives, separated by commas. Without it: every run."""

COMPARISON_IDS = "PROMPTAUDIT_COMPARISON_IDS"
"""The environment variable with the ids of the comparisons that a build derives, separated by commas. Without it, the macro
`compared_in_this_build` decides."""

TRUSTED_READERS = "PROMPTAUDIT_TRUSTED_READERS"
"""The environment variable with the readers of the user's own code that a build may call, as a JSON list of
`promptaudit.udfs.readers.own_code.TrustedReader`. Without it: none."""
