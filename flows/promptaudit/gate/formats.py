"""Writes the gate's result as JUnit XML and as Markdown, for programs that read a pipeline's results.

Names, reasons and commands are other people's words: in XML they are escaped and lose what XML forbids, in Markdown
they stand in code spans, where nothing is markup, a link or a mention.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

from promptaudit.gate.outcome import GateResult, RuleResult
from promptaudit.system.display.figures import cut, shown
from promptaudit.system.display.markdown import code, table

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIGNS = {"passed": "✅", "first_night": "✅", "waived": "🟡", "failed": "❌", "unmeasured": "❔"}


def junit(result: GateResult) -> str:
    """Writes JUnit XML of one suite, a test case a rule. A failed rule has a failure, one without a figure an error."""
    n = Counter(rule.outcome for rule in result.rules)
    counts = {"tests": len(result.rules), "failures": n["failed"], "errors": n["unmeasured"], "skipped": 0, "time": 0}
    counted = {name: str(count) for name, count in counts.items()}
    root = ET.Element("testsuites", {"name": "promptaudit", **counted})
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": _xml(cut(result.audit_id, 200)),
            **counted,
            "timestamp": result.checked_at.replace(microsecond=0).isoformat(),
        },
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (("audit_run_id", result.audit_run_id), ("exit_code", str(result.exit_code))):
        ET.SubElement(properties, "property", {"name": name, "value": _xml(value)})
    for rule in result.rules:
        case = ET.SubElement(
            suite,
            "testcase",
            {"name": _xml(cut(rule.rule, 1000)), "classname": _xml(f"gate.{result.audit_id}"), "time": "0"},
        )
        tag = {"failed": "failure", "unmeasured": "error"}.get(rule.outcome)
        if tag is None:
            ET.SubElement(case, "system-out").text = _xml("\n".join(rule.lines()))
        else:
            moved = next((row.moved for row in rule.rows if row.moved), None)
            message = rule.reason if moved is None else f"{moved}; {rule.reason}"
            flip = result.flip
            is_its_own = flip is not None and any(row.model_id == flip.model_id for row in rule.rows)
            lines = [*rule.lines(), *([flip.text] if flip is not None and is_its_own else [])]
            attributes = {"type": rule.outcome, "message": _xml(cut(message, 1000))}
            ET.SubElement(case, tag, attributes).text = _xml("\n".join(lines))
    ET.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def markdown(result: GateResult) -> str:
    """Writes Markdown: a heading, and a table with a row a rule."""
    lines = [f"### {code(result.headline)}", ""]
    if not result.rules:
        return "\n".join(lines)
    shown: set[object] = set()
    lines += table(("", "Rule", "Outcome", "Found", "Look closer"), [_row(rule, shown) for rule in result.rules])
    lines += [] if result.example is None else ["", f"Example: {code(result.example)}"]
    return "\n".join([*lines, ""])


def _row(rule: RuleResult, shown: set[object]) -> tuple[str, ...]:
    rows, n_more = rule.shown_rows(shown)
    details = [code(rule.reason), *(code(f"{row.name}: {row.figures}") for row in rows)]
    if n_more:
        details.append(f"and {n_more} more")
    return (
        _SIGNS[rule.outcome],
        code(rule.rule),
        rule.outcome.replace("_", " "),
        "<br>".join(details),
        "<br>".join(code(command) for command in rule.look_closer),
    )


def _xml(text: str) -> str:
    # what cannot be seen is written out, what XML forbids left out; line breaks stay
    return _FORBIDDEN.sub("", "\n".join(shown(line) for line in text.split("\n")))
