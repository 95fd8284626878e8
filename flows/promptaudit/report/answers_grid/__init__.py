"""The answers grid of a report: wordings × samples, one grid for each model, task and strategy."""
