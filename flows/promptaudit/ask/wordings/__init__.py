"""The wordings of a run: how they come about, are kept, edited and landed as prompt variants."""
