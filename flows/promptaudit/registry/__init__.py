"""Loads the cards that say what may be run, and the data they name.

It imports neither Prefect nor DuckDB nor dbt.
"""
