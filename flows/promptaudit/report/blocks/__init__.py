"""What sections of the report are made of: blocks, cells of tables, and what fits on a page."""
