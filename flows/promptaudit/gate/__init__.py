"""Holds a run against the rules of its audit's card, and tells people what is wrong."""
