"""OpenLineage events of a run, and their receiver."""
