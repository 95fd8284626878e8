"""What a run will ask and may spend: its design, its grid of cells, its budget."""
