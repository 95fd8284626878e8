"""Which wording to ship: what speaks for each, and the card of the chosen one."""
