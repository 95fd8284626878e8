"""Holds what stands in a warehouse and its copies against the seals, and names what differs.

`checks` says what a check is and walks them: `chain` has the seals themselves, `landed_rows` what landed, `marts` what was
derived, `copies` the places where the same rows stand, `runs` all of it. Reports have `promptaudit.report.verify_file`.
"""

from promptaudit.evidence.verify.runs import VerifyResult, verify

__all__ = ["VerifyResult", "verify"]
