"""Words and figures as people see them: numbers, Markdown, progress, masked texts."""
