"""What every test stands on: offline, no telemetry, no key of the developer's, nothing written outside its folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import psutil
import pytest

from promptaudit.system.garbage import collect_rarely
from promptaudit.system.settings import silence

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

silence()
collect_rarely()
# a shell's background jobs have Ctrl-C ignored, and so would the commands that tests interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)
# the tests of several workers share the processors: threads of one that wait for each other take the time of the others
os.environ.update({"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
# a deadline is of the clock, and a test beside others takes longer
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")
# kept for the next tests, and for the next run of them
os.environ["PROMPTAUDIT_CACHE"] = str(Path(__file__).parents[1] / ".pytest_cache" / "promptaudit")
# a Prefect server is a third of a small run's time; processes of their own have it, and so have the tests of Prefect. It is set
# here since what a file's tests share is made before a test's own environment is.
SWITCHED_OFF = {"PROMPTAUDIT_PREFECT": "off"}
os.environ.update(SWITCHED_OFF)
# files that take long, longest first: begun last, one of them would go on while the other workers have nothing left to do
LONG = (
    "docs/test_readme.py",
    "end_to_end/test_prefect.py",
    "ask/asker/test_work_pool.py",
    "report/test_browser.py",
    "end_to_end/test_evidence.py",
    "end_to_end/test_http_run.py",
    "packaging/test_deploy.py",
    "end_to_end/test_paper_audits.py",
    "marts/test_seal.py",
    "end_to_end/test_night_resumes.py",
    "end_to_end/test_nights.py",
    "marts/test_write_lake.py",
    "evidence/test_retain.py",
    "audit/erase/test_erase.py",
    "end_to_end/test_judged_run.py",
    "packaging/test_action.py",
    "packaging/test_wheel.py",
    "end_to_end/test_try.py",
    "ask/shards/test_lander.py",
    "marts/test_dbt_child.py",
    "python/test_stability.py",
    "end_to_end/test_annotate.py",
    "report/answers_grid/test_grid_in_a_browser.py",
    "exchange/recorded_runs/formats/test_accuracies.py",
    "dbt/test_measures.py",
    "end_to_end/test_simulated.py",
    "end_to_end/test_prompts_as_sent.py",
    "dbt/test_unit_tests.py",
    "report/test_formats_page.py",
    "exchange/recorded_runs/test_hostile_files.py",
    "end_to_end/test_judge_swapped.py",
    "end_to_end/test_kinds.py",
    "end_to_end/test_own_code.py",
    "end_to_end/test_pilot.py",
    "ask/test_faults.py",
    "engines/openai_api/test_limits.py",
)
GROUND_TRUTH = Path(__file__).parents[1].parent / "shared" / "ground_truth"


@pytest.fixture(scope="session")
def _trust(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for what tests trust: each folder more makes the next of them slower to name."""
    return tmp_path_factory.mktemp("trust")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, _trust: Path) -> None:
    for name in list(os.environ):
        is_ours = name.startswith("PROMPTAUDIT_") and name not in ("PROMPTAUDIT_CACHE", *SWITCHED_OFF)
        if is_ours or name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PREFECT_API_URL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path_factory.getbasetemp() / "prefect"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PROMPTAUDIT_TRUST_FILE", str(_trust / f"{uuid.uuid4().hex}.json"))


@pytest.fixture(autouse=True, scope="session")
def _no_process_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    tmp_path_factory.getbasetemp()  # made at its first use, before a test moves the place of temporary files
    yield
    if "tests.support.lakes" in sys.modules:
        sys.modules["tests.support.lakes"].SERVERS.close()
    # a run's own Prefect server ends with its process, but pytest-xdist ends its workers without their farewells
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            child.kill()


@pytest.fixture(scope="session")
def ground_truth() -> Path:
    """The folder of real answers and published figures; a test that needs it skips where it is absent."""
    if not (GROUND_TRUTH / "expected.json").is_file():
        pytest.skip(f"no ground truth at {GROUND_TRUTH}")
    return GROUND_TRUTH


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium; while it is open an event loop runs in this thread, so it closes with the file."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """A worker takes a file at a time, those first that take long; dbt reads the project while they collect, once for all."""
    from xdist.scheduler import LoadFileScheduling

    from promptaudit.system.helper_processes import DBT, start

    start(DBT, "audit.duckdb")
    places = {f"tests/{file}": place for place, file in enumerate(LONG)}

    class Scheduling(LoadFileScheduling):
        def _assign_work_unit(self, node: WorkerController) -> None:
            # of those that are not listed, the one with the most tests, as xdist has them in order
            first = min(self.workqueue, key=lambda file: places.get(str(file), len(places)))
            self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)
