"""The scoring methods: each decides whether a completion is right, in a module of its own without SQL or files.

Every score carries the version of its method, from the macro `scoring_version`. Scores of different versions are not
compared; a rebuild computes the old ones again.
"""
