"""Files, processes, settings, Prefect, and words and figures as people see them."""
