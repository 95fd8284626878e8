"""Holds what stands in a warehouse and its copies against the seals, and names the first thing that differs.

`differences` says what one is; `chain` looks at the seals themselves, `landed_rows` at what landed, `marts` at what was
derived, `copies` says where the same rows stand, `runs` looks at all of it. Reports are looked at by
`promptaudit.report.verify_file`.
"""

from promptaudit.evidence.verify.runs import VerifyResult, verify

__all__ = ["VerifyResult", "verify"]
