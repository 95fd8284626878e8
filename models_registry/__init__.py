"""What may be run: cards, their loader and the samples they name. Knows nothing of Prefect, DuckDB or dbt."""
