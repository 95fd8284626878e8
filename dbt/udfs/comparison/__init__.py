"""Compares two runs on what both have: differences, intervals, and p-values from exchanging samples and variants."""

from promptaudit.udfs.comparison.accuracies import compare_accuracies
from promptaudit.udfs.comparison.answers import compare_answers
from promptaudit.udfs.comparison.compared import Compared
from promptaudit.udfs.comparison.detectable import detectable_difference

__all__ = ["Compared", "compare_accuracies", "compare_answers", "detectable_difference"]
