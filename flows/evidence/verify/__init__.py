"""Holds what stands in a warehouse and its copies against the seals, and names the first thing that differs.

`findings` says what a difference is; `chain` looks at the seals themselves, `landed_rows` at what landed, `marts` at what was
derived, `copies` says where the same rows stand, `runs` looks at all of it. Reports are looked at by `flows.report.verify_file`.
"""

from flows.evidence.verify.runs import Verified, verify

__all__ = ["Verified", "verify"]
