"""Writes the gate's result as JUnit XML and as Markdown, for programs that read a pipeline's results.

Names, reasons and commands are other people's words: in XML they are escaped and lose what XML forbids, in Markdown
they stand in code spans, where nothing is markup, a link or a mention.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from promptaudit.gate.outcome import GateResult, RuleResult
from promptaudit.gate.terminal import figures_of, lines_of_rule, name_of, shown_rows
from promptaudit.system.display.figures import cut, shown
from promptaudit.system.display.markdown import code, table
from promptaudit.system.files import SHARED, write_text

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIGNS = {"passed": "✅", "first_night": "✅", "waived": "🟡", "failed": "❌", "unmeasured": "❔"}


def junit(result: GateResult) -> str:
    """Writes JUnit XML of one suite, a test case a rule. A failed rule has a failure, one without a figure an error."""
    n_failed, n_unmeasured = (
        sum(rule.outcome == outcome for rule in result.rules) for outcome in ("failed", "unmeasured")
    )
    counts = {
        "tests": str(len(result.rules)),
        "failures": str(n_failed),
        "errors": str(n_unmeasured),
        "skipped": "0",
        "time": "0",
    }
    root = ET.Element("testsuites", {"name": "promptaudit", **counts})
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": _xml(cut(result.audit_id, 200)),
            **counts,
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
            ET.SubElement(case, "system-out").text = _xml("\n".join(lines_of_rule(rule)))
        else:
            moved = next((row.moved for row in rule.rows if row.moved), None)
            message = rule.reason if moved is None else f"{moved}; {rule.reason}"
            flip = result.flip
            is_its_own = flip is not None and any(row.model_id == flip.model_id for row in rule.rows)
            lines = [*lines_of_rule(rule), *([flip.text] if flip is not None and is_its_own else [])]
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
    rows, n_more = shown_rows(rule, shown)
    details = [code(rule.reason), *(code(f"{name_of(row)}: {figures_of(row)}") for row in rows)]
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


def write_junit(result: GateResult, path: Path) -> Path:
    """Writes the JUnit XML to `path`; readers see the old file or the new one. Raises WarehouseError if it cannot."""
    return write_text(junit(result), path, SHARED)


def write_markdown(result: GateResult, path: Path) -> Path:
    """Writes the Markdown to `path`; readers see the old file or the new one. Raises WarehouseError if it cannot."""
    return write_text(markdown(result), path, SHARED)
