"""Follows a printed figure back to what it rests on: formula, models, raw rows, prompts, models asked, data, cards, code, run.

`scope` says which answers a row of a mart rests on, `gather` reads them and all else from the published copy,
`recompute` derives the figure again from the listed rows alone, `command` does both. `promptaudit.evidence.trace.tree`
draws a tree, `promptaudit.report.trace_pages` a page that the report links to.
"""

from promptaudit.evidence.trace.gather import Trace, trace

__all__ = ["Trace", "trace"]
