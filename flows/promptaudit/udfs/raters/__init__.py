"""The agreement of judges, people and rules."""
