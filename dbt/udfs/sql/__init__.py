"""Lets SQL call the measures: columns of DuckDB in, Arrow arrays out."""
