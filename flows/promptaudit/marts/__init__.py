"""From raw rows to what readers see: transform, seal, publish, compare."""
