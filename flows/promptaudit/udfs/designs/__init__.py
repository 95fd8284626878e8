"""How many samples, wordings and repetitions an audit needs: components of variance, widths of intervals, least designs."""
