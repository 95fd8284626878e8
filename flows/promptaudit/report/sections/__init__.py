"""The sections of the report, one a module."""
