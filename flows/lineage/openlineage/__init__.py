"""What is told of a run to a receiver of OpenLineage events."""
