"""Runs that are made of answers recorded elsewhere."""
