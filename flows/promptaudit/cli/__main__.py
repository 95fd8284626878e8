"""`python -m promptaudit.cli` is `promptaudit`."""

from promptaudit.cli import main

main()
