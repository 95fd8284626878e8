"""Checks that answers kept their format, before anything is aggregated."""
