"""`python -m flows.cli` is `promptaudit`."""

from promptaudit.flows.cli import main

main()
