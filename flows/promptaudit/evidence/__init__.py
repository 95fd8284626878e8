"""Lets a reviewer trust a figure: trace, verify, and the retention of raw rows."""
