"""Trials: a few samples of a run are asked again, with the prompts as they were and changed, and compared."""
