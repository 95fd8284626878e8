"""The measures of promptaudit as pure functions on numpy arrays; `plugin` gives them to DuckDB."""
