"""The commands of README and of the guide print what the pages say, in one empty folder; README's blocks in any order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.shell import Ended, environment, promptaudit

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (
    README,
    *(
        ROOT / f"infra/guide/{name}.md"
        for name in ("recorded_answers", "nights", "evidence", "cards", "designs", "scoring", "prompts")
    ),
)
"""README, then the pages of the guide that go on in the folder that it leaves."""
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = r"\b([0-9a-f]{32})\b"
SHELL = frozenset("|<>&;$`\\")
"""Signs of a command that only a shell can run."""
VARYING = (
    (re.compile(r"is complete and .* old"), "is complete and <age> old"),
    (re.compile(r"\b(rpt_audit\.\w+)\.[0-9a-f]{12}\b"), r"\1.<row>"),
    (re.compile(r"\bseal [0-9a-f]{12}\b"), "seal <seal>"),
    (re.compile(r"\bcomparison-[0-9a-f]{12}\b"), "comparison-<comparison>"),
    (re.compile(r"\b(0\.\d{13})\d{1,4}\b"), r"\1"),  # the last bits of a parallel sum
)


def blocks(pages: Sequence[Path]) -> list[str]:
    return [block for page in pages for block in BLOCK.findall(page.read_text(encoding="utf-8"))]


def steps(blocks: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Commands with the lines they print; a command goes on to the end of its here-document."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks:
        end = None
        for line in block.splitlines():
            if line.startswith("$ ") and end is None:
                found.append((line[2:], []))
                marker = re.search(r"<<'(\w+)'", line)
                end = marker[1] if marker else None
            elif end is not None:
                command, printed = found[-1]
                found[-1] = (f"{command}\n{line}", printed)
                end = None if line == end else end
            else:
                found[-1][1].append(line)
    return found


def fixed(text: str) -> str:
    """The text with what differs from run to run put aside."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text


def pattern(lines: list[str]) -> str:
    """`...` alone stands for any lines, at a line's end for the rest of it; the id of a run is a group."""
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        elif line.endswith(" ..."):
            parts.append(re.escape(fixed(line[:-4])) + r"[^\n]*\n(?:.*\n)*?")
        else:
            parts.append(re.escape(fixed(line)) + r"\n")
    return re.sub(RUN, lambda _: RUN, "".join(parts))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(steps(blocks(PAGES[:1])[::-1]), marks=pytest.mark.slow, id="README, its last block first"),
        pytest.param(steps(blocks(PAGES)), marks=pytest.mark.soak, id="README and the guide"),
    ],
)
def test_commands_print_what_the_pages_say(tmp_path: Path, shown: Sequence[tuple[str, list[str]]]) -> None:
    assert len(shown) > 8
    runs: dict[str, str] = {}  # as the pages name them, and as they were
    for command, lines in shown:
        ended = in_shell(tmp_path, command) if SHELL & set(command) else here(tmp_path, command)
        assert ended.code == 0, f"{command}\n{ended.err}"
        printed = re.fullmatch(pattern(lines), fixed(ended.out))
        assert printed, f"{command}\n{ended.out}"
        for name, run in zip(re.findall(RUN, "\n".join(lines)), printed.groups(), strict=True):
            assert runs.setdefault(name, run) == run, f"{command}\n{ended.out}"
    assert len(set(runs.values())) == len(runs)


def here(folder: Path, command: str) -> Ended:
    """Runs a command that any shell takes as it stands in this process, where libraries are imported and dbt has its project."""
    program, *arguments = shlex.split(command)
    assert program == "promptaudit"
    return promptaudit(folder, *arguments)


def in_shell(folder: Path, command: str) -> Ended:
    """Runs a command by bash, as a reader does."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    line = ["/bin/bash", "-c", command]
    done = subprocess.run(
        line, cwd=folder, env=environment(PATH=path), capture_output=True, text=True, timeout=400, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_pages_with_commands_are_tried() -> None:
    with_commands = {
        page for page in (ROOT / "infra/guide").glob("*.md") if BLOCK.search(page.read_text(encoding="utf-8"))
    }
    assert with_commands == set(PAGES[1:])


def test_links_lead_somewhere() -> None:
    for page in (README, *(ROOT / "infra").glob("*.md"), *(ROOT / "infra/guide").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_is_read_in_a_few_minutes() -> None:
    read = re.sub(
        r"```text\nthe path\n.*?```", "", README.read_text(encoding="utf-8"), flags=re.DOTALL
    )  # a list to look up
    assert len(read.split()) < 1500


def test_the_two_commands_are_targets() -> None:
    makefile = (README.parent / "Makefile").read_text()
    for target in ("audit", "test", "lint", "build", "docs"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "make audit" in README.read_text()
