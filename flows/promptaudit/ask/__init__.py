"""Asks models and judges what is missing, and lands what they say."""
