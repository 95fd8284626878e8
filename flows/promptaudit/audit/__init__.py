"""An audit from its cards to its marts: its runs, and the steps of each."""
