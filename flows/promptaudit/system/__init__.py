"""The machine: files, ids, child processes, the user's cache folder."""
