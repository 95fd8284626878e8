"""What of the report stands in a terminal."""
