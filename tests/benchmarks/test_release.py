"""What a command costs beside the last release, both checked out and run in turn in this environment."""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.release import ROOT, check_out, command_line, environment

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]

TIMES = 5
FOUR = "model,sample_id,completion,gold_label,variant_index\nm,a,yes,yes,0\nm,b,no,no,0\nm,a,yes,yes,1\nm,b,yes,no,1\n"
NIGHT = """
small:
  tasks: [question_type]
  models: [lexical]
  strategies: [simple]
  rephrasing: {rephraser: rules, variants: 4}
  repetitions: {original: 3, variants: 3}
  samples: {limit: 20, seed: 42}
  gate: ["sensitivity_high <= 1", "no regressed on micro_f1"]
"""


@dataclass(frozen=True)
class Version:
    """A checkout, the folder it works in, and the user's cache it keeps."""

    checkout: Path
    folder: Path

    def run(self, *arguments: str) -> tuple[float, float]:
        """Runs a command from the shell; returns its seconds by the clock, and of processors with all it starts."""
        own = environment(self.checkout) | {"PROMPTAUDIT_CACHE": str(self.folder / "cache"), "COLUMNS": "120"}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        line = [sys.executable, "-P", "-m", command_line(self.checkout), *arguments]
        ran = subprocess.run(line, cwd=self.folder, env=own, capture_output=True, text=True, check=False)
        taken, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        assert ran.returncode in (0, 1), ran.stderr
        return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def clear(self) -> None:
        """Takes the warehouse away."""
        shutil.rmtree(self.folder / "warehouse", ignore_errors=True)


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Version, Version]:
    """This checkout and the last release's, each with a folder of cards and answers."""
    found = []
    for checkout in (ROOT, check_out(tmp_path_factory.mktemp("release"))):
        folder = tmp_path_factory.mktemp("folder")
        (folder / "four.csv").write_text(FOUR)
        (folder / "registry" / "audits").mkdir(parents=True)
        (folder / "registry" / "audits" / "small.yml").write_text(NIGHT)
        found.append(Version(checkout, folder))
    return found[0], found[1]


def held(versions: tuple[Version, Version], line: tuple[str, ...], most: float, *, anew: bool) -> None:
    """Both versions in turn, five times; `most` is what of the release's processor seconds may be left."""
    taken: list[list[tuple[float, float]]] = [[], []]
    for _ in range(TIMES + 1):  # the first fills the caches and does not count
        for version, own in zip(versions, taken, strict=True):
            if anew:
                version.clear()
            own.append(version.run(*line))
    ours, theirs = ([statistics.median(values) for values in zip(*own[1:], strict=True)] for own in taken)
    ratio = ours[1] / theirs[1]
    print(
        f"\n{' '.join(line)}: {ours[0]:.1f} s, {ours[1]:.1f} s of processors; the release {theirs[0]:.1f} s, {theirs[1]:.1f} s; "
        f"{ours[0] / theirs[0]:.2f} and {ratio:.2f} of it"
    )
    assert ratio < most


def test_an_import_of_four_answers(versions: tuple[Version, Version]) -> None:
    held(versions, ("import", "four.csv", "--labels", "yes,no", "--audit", "four"), 13 / 22, anew=True)


def test_the_quickstart(versions: tuple[Version, Version]) -> None:
    held(versions, ("run", "quickstart"), 35 / 56, anew=True)


@pytest.mark.parametrize(
    ("line", "most"),
    [
        (("report",), 0.4),
        (("verify",), 1),  # of sixty marts for thirty, and of the files of three views
        (("run", "quickstart"), 0.9),
        (("check",), 0.8),
        (("plan",), 1.1),
        (("sql", "select 1"), 0.6),
        (("history", "sensitivity", "--model", "lexical", "--task", "question_type", "--strategy", "detail"), 0.7),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_is_asked_of_the_quickstart(versions: tuple[Version, Version], line: tuple[str, ...], most: float) -> None:
    for version in versions:
        version.run("run", "quickstart")
    held(versions, line, most, anew=False)


def test_a_night_of_240_answers(versions: tuple[Version, Version]) -> None:
    for version in versions:
        version.clear()
        version.run("nightly", "small")
    held(versions, ("nightly", "small", "--new"), 0.5, anew=False)
