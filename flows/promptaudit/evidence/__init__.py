"""Lets a reviewer trust a figure: verify, trace, and the retention of raw rows."""
