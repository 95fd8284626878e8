"""Diagnosis of a run: sensitive samples, groups of samples, confused labels, formats."""
