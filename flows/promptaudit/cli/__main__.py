"""Runs `promptaudit` as `python -m promptaudit.cli`."""

from promptaudit.cli import main

main()
