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

from tests.support.shell import environment

ACTION = yaml.safe_load((Path(__file__).parents[2] / "infra/examples/action.yml").read_text(encoding="utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
CARD = """\
mine:
  tasks: [kinds]
  models: [lexical]
  strategies: [detail]
  rephrasing: {rephraser: rules, variants: 3}
  repetitions: {original: 1, variants: 1}
  resamples: 100
  gate: ["micro_f1 >= 0.9"]
"""
TASK = """\
kinds:
  kind: classification
  labels: {fruit: "APPLE", tool: "HAMMER"}
  instruction: Say what kind of thing is meant.
  output_format: Reply with the label alone.
  reader: label_in_text
  data: {path: kinds.csv, id: id, input: text, gold_label: kind}
"""
DESCRIPTIONS = ("apple, pear, plum", "hammer, saw, drill")
RECORDER = """\
#!/bin/sh
echo "$*" >> "$CALLS"
[ "$1" = pr ] && while [ $# -gt 1 ]; do shift; done && cat "$1" > "$CALLS.body"
true
"""
SHIM = """\
#!/bin/sh
echo "$*" >> "$CALLS"
case "$1" in
  run) echo '{"audit_run_id": "b"}' ;;
  try) echo '{"audit_run_id": "t", "effects": [{"strategy": "simple"}, {"strategy": "detail"}]}' && exit "$TRIED" ;;
  compare) echo said > "$RUNNER_TEMP/promptaudit/part.md" && exit "$COMPARED" ;;
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

    @property
    def temp(self) -> Path:
        return self.tools / "temp"

    @property
    def output(self) -> Path:
        return self.tools / "output"

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
            env=environment(
                PATH=path,
                GITHUB_STEP_SUMMARY=str(self.summary),
                GITHUB_OUTPUT=str(self.output),
                RUNNER_TEMP=str(self.temp),
                CALLS=str(self.tools / "calls"),
                **(given | variables),
            ),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The request gives each label the other one's description."""
    made = Repository(tmp_path / "clone", tmp_path / "tools")
    made.temp.mkdir(parents=True)
    (made.tools / "gh").write_text(RECORDER)
    (made.tools / "gh").chmod(0o755)
    for name in ("audits", "tasks"):
        (made.folder / "registry" / name).mkdir(parents=True)
    (made.folder / "registry/audits/mine.yml").write_text(CARD)
    things = [
        (word, kind) for kind, words in zip(("fruit", "tool"), DESCRIPTIONS, strict=True) for word in words.split(", ")
    ]
    rows = [f"{n},a {word} of {n},{kind}" for n, (word, kind) in enumerate(things * 4)]
    (made.folder / "registry/kinds.csv").write_text("\n".join(["id,text,kind", *rows]))
    made.git("init", "--quiet")
    for fruit, tool in (DESCRIPTIONS, DESCRIPTIONS[::-1]):
        card = made.folder / "registry/tasks/kinds.yml"
        card.write_text(TASK.replace("APPLE", fruit).replace("HAMMER", tool))
        made.git("add", "registry")
        made.git("commit", "--quiet", "-m", f"A fruit is {fruit}")
    return made


def test_a_base_without_the_audit_is_no_failure(repository: Repository) -> None:
    repository.git("update-ref", "-d", "HEAD")  # a first commit has no base
    repository.git("commit", "--quiet", "-m", "The audit")
    done = repository.step("base")
    assert done.returncode == 0, done.stderr
    assert "nothing to compare with" in done.stdout
    assert not repository.output.exists()


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


@pytest.mark.parametrize(("tried", "compared", "code"), [(0, 0, 0), (0, 1, 1), (0, 3, 0), (2, 1, 1), (4, 0, 4)])
def test_what_is_worse_fails_and_what_is_not_known_does_not(
    repository: Repository, tried: int, compared: int, code: int
) -> None:
    shim = repository.tools / "promptaudit"
    shim.write_text(SHIM)
    shim.chmod(0o755)
    done = repository.step("base")
    assert done.returncode == 0, done.stderr
    assert repository.output.read_text() == "run=b\n"
    done = repository.step("compare", BASE="b", TRIED=str(tried), COMPARED=str(compared))
    assert done.returncode == code, done.stderr
    pairs = {0: ["t::detail t::detail+tried", "t::simple t::simple+tried"], 2: ["b mine"]}.get(tried, [])
    part = repository.temp / "promptaudit/part.md"
    calls = [f"compare {pair} --no-worse all --markdown {part}" for pair in pairs]
    called = (repository.tools / "calls").read_text().splitlines()
    assert called == ["validate mine", "run mine --json", "try b --edited --on all --json", *calls]
    assert (repository.temp / "promptaudit/comment.md").read_text() == "said\n" * len(pairs)
    assert repository.summary.read_text() == "said\n" * len(pairs)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_worse_prompt_is_asked_beside_the_bases_and_fails_with_three_answers_that_changed(
    repository: Repository,
) -> None:
    for name in ("base", "run"):
        done = repository.step(name)
        assert done.returncode == 0, done.stderr
    (output,) = repository.output.read_text().splitlines()
    base = output.removeprefix("run=")
    gated, compared = repository.step("gate"), repository.step("compare", BASE=base)
    assert (gated.returncode, compared.returncode) == (1, 1), compared.stderr
    assert "| `micro_f1 >= 0.9` | failed |" in repository.summary.read_text()
    assert "<testsuite" in (repository.folder / "junit.xml").read_text()
    said = repository.step("comment", REQUEST="7", PAGES="https://github.example/pages", GITHUB_REPOSITORY="ada/cards")
    assert said.returncode == 0, said.stderr
    calls = repository.tools / "calls"
    assert calls.read_text().startswith("pr comment 7 --repo ada/cards --edit-last --create-if-none --body-file ")
    comment = (repository.tools / "calls.body").read_text()
    decision, *_ = comment.splitlines()
    assert decision.startswith(
        "### `detail+tried is worse than detail: micro_f1 0.000 for 1.000 on 24 samples of kinds"
    )
    assert "❌ `no worse than base` failed: " in comment
    assert comment.count("Sample `") == 3
    assert comment.endswith("[The pages, as files](https://github.example/pages)\n")
    (upload,) = (step for step in ACTION["runs"]["steps"] if step.get("id") == "pages")
    assert upload["if"] == "${{ always() }}"
    for path in upload["with"]["path"].split():
        assert (repository.folder / path).exists(), path
    # where no prompt is edited the two runs are compared, which chance alone may tell apart
    repository.git("checkout", "HEAD^1", "--", "registry")
    compared = repository.step("compare", BASE=base)
    assert compared.returncode == 0, compared.stderr
    assert "::notice::not one edited prompt" in compared.stdout
    assert (repository.temp / "promptaudit/comment.md").read_text().startswith("### `Unconfirmed: ")
