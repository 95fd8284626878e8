"""Commands of the nightly audit: nightly, serve, compare, check, accept, pin, history."""
