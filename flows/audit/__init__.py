"""The path of an audit, one verb a module, from its cards to its marts."""
