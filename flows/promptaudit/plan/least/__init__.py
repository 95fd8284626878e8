"""Plans how many samples, wordings and repetitions an audit needs, from the answers of one of its runs."""
