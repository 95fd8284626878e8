"""Prompt stability: agreement of annotators, which are repetitions, prompt variants or models."""
