"""`python -m flows.cli` is `promptaudit`."""

from flows.cli import main

main()
