"""What is done with cards before a run: they are checked, written, and priced."""
