"""Whether somebody may sign a candidate: each figure of a comparison is no worse than the base's, by its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from promptaudit.gate.outcome import Outcome, RuleResult
from promptaudit.gate.verdict_rules import check_comparison
from promptaudit.marts.comparison.result import RunComparison
from promptaudit.registry.errors import UsageError
from promptaudit.registry.gate_rules import SameRule
from promptaudit.registry.gates import RuleError, parse_rule
from promptaudit.system.display.figures import cut

EXIT_CODES: Mapping[Outcome, int] = {"passed": 0, "failed": 1, "unmeasured": 3}
EVERY = "all"


def parse_approval(measure: str) -> SameRule:
    """Returns the rule `no worse on MEASURE than base`, or the one on every measure for `all`; raises UsageError."""
    on = "" if measure == EVERY else f' on "{measure}"'
    try:
        rule = parse_rule(f"no worse{on} than base")
    except RuleError as error:
        msg = f"--no-worse {measure[:80]}: {str(error).partition(': ')[2]}"
        raise UsageError(msg) from None
    return cast("SameRule", rule)


def approve(rule: SameRule, comparison: RunComparison, base: str) -> RuleResult:
    """Holds every figure of a comparison against the rule; `base` is what the base was called."""
    figures = comparison.figures
    groups = {figure.group for figure in figures}
    return check_comparison(rule, figures, f"against {cut(base)}", groups, groups)
