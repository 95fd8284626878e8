"""The charts of the report, and how they are drawn."""
