"""How fast a provider is asked, and when again."""
