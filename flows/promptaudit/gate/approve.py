"""Decides whether a candidate may be signed: no figure of a comparison is worse than the base's, by its interval."""

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
    """Parses the rule `no worse on MEASURE than base`, or on every measure for `all`. Raises UsageError."""
    on = "" if measure == EVERY else f' on "{measure}"'
    try:
        rule = parse_rule(f"no worse{on} than base")
    except RuleError as error:
        msg = f"--no-worse {measure[:80]}: {str(error).partition(': ')[2]}"
        raise UsageError(msg) from None
    return cast("SameRule", rule)


def approve(rule: SameRule, comparison: RunComparison, base: str) -> RuleResult:
    """Checks every figure of a comparison against the rule. `base` is the name of the base."""
    figures = comparison.figures
    groups = {figure.group for figure in figures}
    return check_comparison(rule, figures, f"against {cut(base)}", groups, groups)
