"""How many samples, wordings and repetitions an audit needs: components of variance, widths of intervals, least designs."""

N_LOOKS = 5
"""Equal batches of samples of a run that may stop early, and its looks: one after each batch, the last at all samples."""
