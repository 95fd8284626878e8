"""A measure over the nights of an audit."""
