"""A person's own SQL on the published copy."""
