"""Which columns a column of a mart is made of."""
