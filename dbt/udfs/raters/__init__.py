"""Agreement of judges, people and rules."""
