"""Measures over the templates of a task: how accuracy spreads, and how they rank models."""
