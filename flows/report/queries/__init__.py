"""What the report asks the published copy."""
