"""Two runs held against each other."""
