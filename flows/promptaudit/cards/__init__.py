"""What is done with cards before a run: they are checked, written, priced and trusted."""
