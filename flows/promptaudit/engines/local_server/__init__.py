"""Servers of models that a run starts on this machine, shares among its engines, and ends."""
