"""`python -m promptaudit.flows.cli` is `promptaudit`."""

from promptaudit.flows.cli import main

main()
