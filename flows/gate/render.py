"""What the gate said, as JUnit's XML and as Markdown, for whatever reads a pipeline's results.

Names, reasons and commands are other people's words: in XML they are escaped and lose what XML forbids, in Markdown they stand
in code spans, where nothing is markup, a link or a mention.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

from flows.gate.checked import Checked, Result
from flows.report.text import cut, shown
from models_registry.errors import WarehouseError

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIGNS = {"passed": "✅", "first_night": "✅", "waived": "🟡", "failed": "❌", "unmeasured": "❔"}
_MAX_CELL = 1000


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
    lines = [f"### {_code(checked.headline)}", ""]
    if not checked.results:
        return "\n".join(lines)
    lines += ["| | Rule | Outcome | Found | Look closer |", "| --- | --- | --- | --- | --- |"]
    lines += [_row(result) for result in checked.results]
    return "\n".join([*lines, ""])


def _row(result: Result) -> str:
    findings, n_more = result.shown()
    found = [_code(result.reason), *(_code(f"{finding.where()}: {finding.found()}") for finding in findings)]
    if n_more:
        found.append(f"and {n_more} more")
    cells = (
        _SIGNS[result.outcome],
        _code(result.rule),
        result.outcome.replace("_", " "),
        "<br>".join(found),
        "<br>".join(_code(command) for command in result.look_closer),
    )
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """A code span of one table cell, whatever back quotes and bars the text has."""
    safe = cut(text, _MAX_CELL).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    space = " " if safe[:1] in ("`", " ") or safe[-1:] in ("`", " ") else ""
    return f"{fence}{space}{safe or ' '}{space}{fence}"


def _xml(text: str) -> str:
    """The text with what cannot be seen written out, and without what XML forbids; its line breaks stay."""
    return _FORBIDDEN.sub("", "\n".join(shown(line) for line in text.split("\n")))


def write_junit(checked: Checked, path: Path) -> Path:
    """Writes the JUnit report: a reader sees the old file or the new one. Raises WarehouseError where it cannot."""
    return _write(checked.junit(), path)


def write_markdown(checked: Checked, path: Path) -> Path:
    """Writes the Markdown table, likewise."""
    return _write(checked.markdown(), path)


def _write(text: str, path: Path) -> Path:
    target = Path(os.path.realpath(path))  # a link stays one
    draft = target.with_name(target.name + ".new")
    try:
        if path.is_relative_to("/dev"):  # standard output, however it is redirected
            with path.open("a", encoding="utf-8") as stream:
                stream.write(text)
            return path
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        msg = f"{path}: cannot be written: {error.strerror}"
        raise WarehouseError(msg) from None
    return path
