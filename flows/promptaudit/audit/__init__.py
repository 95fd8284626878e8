"""An audit from its cards to its marts: a run and its steps, the format gate, rebuild, erase."""
