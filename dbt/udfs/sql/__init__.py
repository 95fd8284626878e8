"""Calls of the measures by SQL: columns of DuckDB in, Arrow arrays out."""
