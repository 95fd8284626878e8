"""The batch interface of a provider."""
