"""Asks a few samples of a run again, with the prompts as they were and changed, and compares."""
