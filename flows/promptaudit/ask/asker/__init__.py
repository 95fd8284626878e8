"""An asker: asks one shard of a run, in a process of its own, and hands over what it is answered."""
