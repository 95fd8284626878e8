"""Which columns a figure is made of, and the events of a run for a lineage tool."""
