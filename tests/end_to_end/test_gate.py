"""The gate as a pipeline has it: a shell script that goes by exit codes, a JUnit reader, commands taken from messages."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml

from promptaudit.system.clock import now
from tests.support.handmade_warehouse import MARTS, Gated
from tests.support.shell import TIMEOUT_S, environment, promptaudit

pytestmark = pytest.mark.slow

PROMPTAUDIT = f'promptaudit() {{ "{sys.executable}" -m promptaudit.cli "$@"; }}\n'
CARD = "own:\n  tasks: [question_type]\n  models: [lexical]\n  max_age: 2d\n  gate:\n"
PASSES = "sensitivity_corrected_high <= 0.2"
FAILS = "micro_f1 >= 0.9 at task_id = question_type"
UNMEASURED = "pss_inter_low >= 0.8"
REGRESSED = "no regressed on micro_f1"


@dataclass(frozen=True)
class Night:
    """A folder with a card, two published runs of it and what they differ in."""

    folder: Path
    base: str
    run: str

    def gate(self, *rules: str) -> None:
        """Writes the card anew, with these rules."""
        (self.folder / "registry/audits/own.yml").write_text(CARD + "".join(f"    - '{rule}'\n" for rule in rules))

    def sh(self, script: str) -> subprocess.CompletedProcess[str]:
        """Runs a POSIX shell script in the folder."""
        return subprocess.run(
            ["/bin/sh", "-u", "-c", PROMPTAUDIT + script],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )


@pytest.fixture
def night(tmp_path: Path) -> Night:
    gated = Gated(tmp_path, [path.stem for path in MARTS.rglob("*.yml")])
    base, run = (gated.run(name, audit="own", hours=hours, gate=[PASSES]) for name, hours in (("b", 25), ("a", 1)))
    names = {"model_id": "lexical", "task_id": "question_type"}
    for each, f1 in ((base, 0.95), (run, 0.85)):
        gated.row(
            "rpt_audit",
            each,
            **names,
            micro_f1=f1,
            micro_f1_low=f1 - 0.02,
            micro_f1_high=f1 + 0.02,
            sensitivity_corrected=0.1,
            sensitivity_corrected_low=0.05,
            sensitivity_corrected_high=0.15,
        )
    columns = {"difference": -0.1, "difference_low": -0.13, "difference_high": -0.07, "q_value": 0.001}
    verdict = {
        "measure": "micro_f1",
        "verdict": "regressed",
        "base": 0.95,
        "candidate": 0.85,
        "reason": "we changed the prompt",
    }
    gated.compared(base, run, {**names, "base_model_id": "lexical", **verdict, **columns})
    gated.published()
    (tmp_path / "registry/audits").mkdir(parents=True)
    return Night(tmp_path, base, run)


def test_a_release_is_blocked_by_the_exit_code(night: Night) -> None:
    for name, rules in (("good", [PASSES]), ("bad", [PASSES, FAILS]), ("unknown", [PASSES, UNMEASURED])):
        night.gate(*rules)
        (night.folder / "registry").rename(night.folder / name)
        (night.folder / "registry/audits").mkdir(parents=True)
    script = """
        for cards in good bad unknown; do
            if promptaudit check --quiet --registry "$cards" > said.txt
            then echo "$cards released"
            else echo "$cards blocked $?"
            fi
            head -c 12 said.txt
            echo
        done
    """
    done = night.sh(script)
    head = "gate of run "
    assert done.stdout.splitlines() == ["good released", head, "bad blocked 1", head, "unknown blocked 3", head], (
        done.stderr
    )


def test_what_is_known_to_be_bad_outweighs_what_is_not_known(night: Night) -> None:
    night.gate(UNMEASURED, REGRESSED)
    assert promptaudit(night.folder, "check").code == 1


def test_what_failed_is_in_junit_in_markdown_and_on_the_terminal(night: Night) -> None:
    night.gate(PASSES, FAILS, UNMEASURED, REGRESSED)
    done = night.sh("promptaudit check latest --junit gate.xml --markdown gate.md; code=$?; echo; echo code $code")
    assert done.stdout.splitlines()[-1] == "code 1"
    assert "4 rules: 2 failed, 1 could not be measured, 1 passed" in done.stdout
    assert "micro_f1 0.850 [0.830, 0.870]" in done.stdout
    assert (
        "micro_f1 0.950 -> 0.850; difference -0.100 [-0.130, -0.070]; by chance 1 time in 1,000; we changed the prompt"
        in done.stdout
    )
    assert f"look closer: promptaudit compare {night.base} {night.run}" in done.stdout

    report = JUnitXml.fromfile(str(night.folder / "gate.xml"))
    (suite,) = report
    assert (suite.name, suite.tests, suite.failures, suite.errors) == ("own", 4, 2, 1)
    outcomes = {case.name: [type(result) for result in case.result] for case in suite}
    assert outcomes == {PASSES: [], FAILS: [Failure], UNMEASURED: [Error], REGRESSED: [Failure]}
    (failure,) = next(case for case in suite if case.name == REGRESSED).result
    assert failure.message == f"1 of 1 comparisons is regressed, against last night ({night.base})"
    assert f"promptaudit compare {night.base} {night.run}" in failure.text

    table = (night.folder / "gate.md").read_text().splitlines()
    assert len(table) == 4 + 4  # heading, blank, head and rule; a row a rule
    assert f"| `{FAILS}` | failed | `the only row fails`<br>" in "\n".join(table)


def test_the_command_that_a_message_names_shows_the_row(night: Night) -> None:
    night.gate(FAILS)
    script = "promptaudit check | sed -n 's/^ *look closer: \\(promptaudit sql .*\\)$/\\1/p' > closer.sh; . ./closer.sh"
    done = night.sh(script)
    assert done.returncode == 0, done.stderr
    for word in ("lexical", "question_type", "0.85", "0.83", "0.87"):
        assert word in done.stdout


def test_a_rule_that_cannot_be_read_is_a_card_error(night: Night) -> None:
    night.gate(PASSES, "micro_f1 > = 0.9")
    for command in ("check", "validate"):
        ended = promptaudit(night.folder, command)
        assert ended.code == 2
        assert ended.one_line() == (
            "CardError: audits/own.yml line 7: gate.1: character 12: a number is wanted, found 'micro_f1 > = 0.9'"
        )


def test_what_is_accepted_passes_and_what_is_pinned_is_compared_with(night: Night) -> None:
    night.gate(FAILS, REGRESSED)
    assert promptaudit(night.folder, "check").code == 1
    until = (now() + timedelta(days=9)).date().isoformat()
    ended = promptaudit(night.folder, "accept", "latest", "--reason", "the new prompt is wanted", "--until", until)
    assert ended.code == 0, ended.err
    assert ended.out.startswith(f"run {night.run}: 2 failed rows accepted until {until} 23:59:59 UTC")
    ended = promptaudit(night.folder, "check", "--json")
    assert ended.code == 0
    assert [rule["outcome"] for rule in ended.json()["rules"]] == ["waived", "waived"]
    nothing = promptaudit(night.folder, "accept", "latest", "--reason", "again", "--until", until)
    assert nothing.code == 2
    assert "fails no rule: there is nothing to accept" in nothing.one_line()

    night.gate("no regressed against release-4")
    ended = promptaudit(night.folder, "check", "--json")
    assert ended.code == 3
    assert ended.json()["rules"][0]["look_closer"] == ["promptaudit pin RUN release-4"]
    assert promptaudit(night.folder, "pin", night.base, "release-4").code == 0
    ended = promptaudit(night.folder, "check", "--json")
    assert ended.code == 1
    assert ended.json()["rules"][0]["base_run_id"] == night.base


def test_json_is_all_there_is_on_standard_output(night: Night) -> None:
    night.gate(FAILS)
    done = night.sh("promptaudit check --json")
    assert done.returncode == 1
    (rule,) = json.loads(done.stdout)["rules"]
    (row,) = rule["rows"]
    assert (row["figure"], row["low"], row["high"], row["model_id"]) == (0.85, 0.83, 0.87, "lexical")
    assert done.stderr == ""
