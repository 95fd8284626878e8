"""Engines that run inside this process and need no network."""
