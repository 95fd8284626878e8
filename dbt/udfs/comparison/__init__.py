"""Compares two runs on what both have: differences, intervals, and p-values from exchanging samples and variants."""

from udfs.comparison.accuracies import compare_accuracies
from udfs.comparison.answers import compare_answers
from udfs.comparison.compared import Compared
from udfs.comparison.detectable import detectable_difference

__all__ = ["Compared", "compare_accuracies", "compare_answers", "detectable_difference"]
