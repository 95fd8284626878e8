"""Holds what stands in a warehouse and its copies against the seals, and names what differs.

`checks` defines a check and runs checks. `chain` checks the seals themselves, `landed_rows` the rows that landed,
`marts` what was derived. `copies` reads the places that hold the same rows, and `runs` checks all of it. Reports are
checked by `promptaudit.report.verify_file`.
"""

from promptaudit.evidence.verify.runs import VerifyResult, verify

__all__ = ["VerifyResult", "verify"]
