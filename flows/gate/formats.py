"""What the gate said, as JUnit's XML and as Markdown, for whatever reads a pipeline's results.

Names, reasons and commands are other people's words: in XML they are escaped and lose what XML forbids, in Markdown they stand
in code spans, where nothing is markup, a link or a mention.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from flows.display.figures import cut, shown
from flows.display.markdown import code, table
from flows.gate.outcome import Checked, Result
from flows.system.files import SHARED, write_text

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIGNS = {"passed": "✅", "first_night": "✅", "waived": "🟡", "failed": "❌", "unmeasured": "❔"}


def junit(checked: Checked) -> str:
    """One test suite; a test case a rule. A failed rule has a failure, one without a figure an error, any other neither."""
    n_failed, n_unmeasured = (
        sum(result.outcome == outcome for result in checked.results) for outcome in ("failed", "unmeasured")
    )
    counts = {
        "tests": str(len(checked.results)), "failures": str(n_failed), "errors": str(n_unmeasured), "skipped": "0",
        "time": "0",
    }  # fmt: skip
    root = ET.Element("testsuites", {"name": "promptaudit", **counts})
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": _xml(cut(checked.audit_id, 200)),
            **counts,
            "timestamp": checked.checked_at.replace(microsecond=0).isoformat(),
        },
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (("audit_run_id", checked.audit_run_id), ("exit_code", str(checked.exit_code))):
        ET.SubElement(properties, "property", {"name": name, "value": _xml(value)})
    for result in checked.results:
        case = ET.SubElement(
            suite,
            "testcase",
            {"name": _xml(cut(result.rule, 1000)), "classname": _xml(f"gate.{checked.audit_id}"), "time": "0"},
        )
        tag = {"failed": "failure", "unmeasured": "error"}.get(result.outcome)
        if tag is None:
            ET.SubElement(case, "system-out").text = _xml("\n".join(result.lines()))
        else:
            said = {"type": result.outcome, "message": _xml(cut(result.reason, 1000))}
            ET.SubElement(case, tag, said).text = _xml("\n".join(result.lines()))
    ET.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def markdown(checked: Checked) -> str:
    """A heading, and a table with a row a rule."""
    lines = [f"### {code(checked.headline)}", ""]
    if not checked.results:
        return "\n".join(lines)
    lines += table(("", "Rule", "Outcome", "Found", "Look closer"), map(_row, checked.results))
    return "\n".join([*lines, ""])


def _row(result: Result) -> tuple[str, ...]:
    findings, n_more = result.shown()
    found = [code(result.reason), *(code(f"{finding.where()}: {finding.found()}") for finding in findings)]
    if n_more:
        found.append(f"and {n_more} more")
    return (
        _SIGNS[result.outcome],
        code(result.rule),
        result.outcome.replace("_", " "),
        "<br>".join(found),
        "<br>".join(code(command) for command in result.look_closer),
    )


def _xml(text: str) -> str:
    """The text with what cannot be seen written out, and without what XML forbids; its line breaks stay."""
    return _FORBIDDEN.sub("", "\n".join(shown(line) for line in text.split("\n")))


def write_junit(checked: Checked, path: Path) -> Path:
    """Writes the JUnit report: a reader sees the old file or the new one. Raises WarehouseError where it cannot."""
    return write_text(junit(checked), path, SHARED)


def write_markdown(checked: Checked, path: Path) -> Path:
    """Writes the Markdown table, likewise."""
    return write_text(markdown(checked), path, SHARED)
