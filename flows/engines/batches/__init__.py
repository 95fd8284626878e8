"""Batch interfaces: a provider's, or vLLM's on this machine."""
