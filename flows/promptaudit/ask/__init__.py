"""Makes the wordings of a run, asks models and judges what is missing, and lands what they say."""
