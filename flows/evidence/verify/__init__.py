"""Holds what stands in a warehouse, its copies and its reports against the seals, and names the first thing that differs.

`findings` says what a difference is; `chain` looks at the seals themselves, `rows` at what landed, `marts` at what was
derived, `page` at a report, `verify` at all of it.
"""

from flows.evidence.verify.runs import Verified, verify, verify_report

__all__ = ["Verified", "verify", "verify_report"]
