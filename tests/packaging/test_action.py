"""The GitHub action of infra/examples: the shell of its steps in a repository of cards, as a runner runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.support.shell import environment, promptaudit

ACTION = yaml.safe_load((Path(__file__).parents[2] / "infra/examples/action.yml").read_text(encoding="utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
CARD = """\
mine:
  tasks: [question_type]
  models: [lexical]
  strategies: [simple]
  rephrasing: {rephraser: rules, variants: 3}
  repetitions: {original: 1, variants: 1}
  samples: {limit: 6}
  resamples: 100
  gate: ["micro_f1 >= LEAST"]
"""
RECORDER = """\
#!/bin/sh
echo "$*" >> "$CALLS"
case "$1" in
  run) echo mine >> "$CALLS.nights" && cp registry/audits/mine.yml "$CALLS.$$.card" ;;
  sql) cat "$CALLS.nights" ;;
  check) exit "$GATE" ;;
esac
"""


@dataclass
class Repository:
    """A clone of a pull request: the base and the request are its two commits."""

    folder: Path
    tools: Path

    @property
    def summary(self) -> Path:
        return self.tools / "summary.md"

    def git(self, *line: str) -> None:
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["/usr/bin/env", "git", *who, *line], cwd=self.folder, check=True, capture_output=True)

    def step(self, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs the shell of a step, with the inputs put in where GitHub puts them: into its variables alone."""
        inputs = {"audit": "mine", "package": "promptaudit", "max-usd": ""}
        given = {
            key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], value)
            for key, value in STEPS[name].get("env", {}).items()
        }
        path = os.pathsep.join([str(self.tools), str(Path(sys.executable).parent), os.environ["PATH"]])
        return subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
            cwd=self.folder,
            env=environment(PATH=path, GITHUB_STEP_SUMMARY=str(self.summary), **given, **variables),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The request lowers what the gate asks for to what LEAST stands for there."""
    made = Repository(tmp_path / "clone", tmp_path / "tools")
    made.tools.mkdir()
    card = made.folder / "registry/audits/mine.yml"
    card.parent.mkdir(parents=True)
    made.git("init", "--quiet")
    for least in ("0", "0.99"):
        card.write_text(CARD.replace("LEAST", least))
        made.git("add", "registry")
        made.git("commit", "--quiet", "-m", f"At least {least}")
    return made


def test_the_base_is_run_from_its_own_cards_once_and_the_gate_decides(repository: Repository) -> None:
    shim, calls = repository.tools / "promptaudit", repository.tools / "calls"
    shim.write_text(RECORDER)
    shim.chmod(0o755)
    variables = {"CALLS": str(calls), "GATE": "0"}
    card = repository.folder / "registry/audits/mine.yml"
    for name in ("baseline", "run", "gate"):
        done = repository.step(name, **variables)
        assert done.returncode == 0, done.stderr
        assert "0.99" in card.read_text(), "the cards of the request stand again"
    nights = "sql select audit_id from marts.dim_nights --format csv"
    assert calls.read_text().splitlines() == [
        nights,
        "validate mine",
        "run mine",
        "run mine --new",
        nights,
        "compare mine~1 mine",
        f"check mine --junit junit.xml --markdown {repository.summary}",
    ]
    (of_base,) = [path for path in repository.tools.glob("calls.*.card") if "0.99" not in path.read_text()]
    assert ">= 0" in of_base.read_text()
    calls.unlink()
    assert repository.step("baseline", **variables).returncode == 0
    assert calls.read_text().splitlines() == [nights], "the audit has runs by now"
    assert repository.step("gate", CALLS=str(calls), GATE="1").returncode == 1


def test_a_base_without_the_audit_is_no_failure(repository: Repository) -> None:
    repository.git("update-ref", "-d", "HEAD")  # a first commit has no base
    repository.git("commit", "--quiet", "-m", "The audit")
    done = repository.step("baseline")
    assert done.returncode == 0, done.stderr
    assert "nothing to compare with" in done.stdout


@pytest.mark.parametrize("trusted", ["[]", None])
def test_a_request_cannot_trust_hosts_of_its_own(repository: Repository, trusted: str | None) -> None:
    path = repository.folder / "trusted.json"
    for text in (trusted, '["https://elsewhere.example"]'):
        if text is not None:
            path.write_text(text)
            repository.git("add", "trusted.json")
        repository.git("commit", "--quiet", "--allow-empty", "-m", "Hosts")
    assert repository.step("trust", PROMPTAUDIT_TRUST_FILE="trusted.json").returncode == 0
    assert (path.read_text() if path.exists() else None) == trusted


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_request_that_fails_the_gate_fails_and_says_why(repository: Repository) -> None:
    repository.git("checkout", "HEAD^1", "--", "registry")
    assert promptaudit(repository.folder, "run", "mine").code == 0
    repository.git("checkout", "HEAD", "--", "registry")
    done = repository.step("run")
    assert done.returncode == 0, done.stderr
    gated = repository.step("gate")
    assert gated.returncode == 1, gated.stderr
    assert "mine" in gated.stdout
    assert "| `micro_f1 >= 0.99` | failed |" in repository.summary.read_text()
    assert "<testsuite" in (repository.folder / "junit.xml").read_text()
    upload = ACTION["runs"]["steps"][-1]
    assert upload["if"] == "${{ always() }}"
    for path in upload["with"]["path"].split():
        assert (repository.folder / path).is_file()
