"""What a run will ask: its design, its grid of cells, its requests, what it may spend, and the least that answers a question."""
