"""vLLM on this machine."""
