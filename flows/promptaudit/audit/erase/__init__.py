"""Takes a sample's texts out of every run, copy and report."""
