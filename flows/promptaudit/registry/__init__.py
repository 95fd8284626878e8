"""Defines what may be run: cards, their loader and the samples they name. It imports neither Prefect nor DuckDB nor dbt."""
