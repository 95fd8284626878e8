"""The page about one comparison: which two, what differs by how much, an example, every measure."""
