"""Readers of answers: what a completion says, as a label or an option."""
