"""Measures of how much the answers of one group depend on the wording."""
