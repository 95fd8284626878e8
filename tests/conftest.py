"""What every test stands on: offline, no telemetry, no key of the developer's, nothing written outside its folder."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from flows.settings import silence
from flows.system.garbage import collect_rarely

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

silence()
collect_rarely()
# kept for the next tests, and for the next run of them
os.environ["PROMPTAUDIT_CACHE"] = str(Path(__file__).parents[1] / ".pytest_cache" / "promptaudit")
# files that take long, longest first: begun last, one of them would go on while the other workers have nothing left to do
LONG = (
    "end_to_end/test_prefect.py", "docs/test_readme.py", "report/test_browser.py", "end_to_end/test_stopped_early.py",
    "packaging/test_deploy.py", "end_to_end/test_try.py", "end_to_end/test_incomplete_grid.py", "end_to_end/test_evidence.py",
    "end_to_end/test_paper_audits.py", "end_to_end/test_nights.py", "evidence/test_retain.py", "erase/test_erase.py",
    "comparison/test_compare.py", "end_to_end/test_judged_run.py", "comparison/test_confirmed_verdicts.py",
    "end_to_end/test_annotate.py", "end_to_end/test_night_resumes.py", "end_to_end/test_http_run.py",
    "lineage/openlineage/test_events.py", "udfs/test_calibration.py", "report/sections/test_sections_of_answers.py",
    "dbt/test_unit_tests.py", "end_to_end/test_ground_truth.py",
    "recorded_runs/test_import.py", "dbt/test_analyses.py", "dbt/test_measures.py", "packaging/test_wheel.py",
    "engines/openai_api/test_limits.py", "history/test_measure.py", "audit/test_ask_in_batches.py", "gate/test_check.py",
)  # fmt: skip
GROUND_TRUTH = Path(__file__).parents[1].parent / "shared" / "ground_truth"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in list(os.environ):
        if (name.startswith("PROMPTAUDIT_") and name != "PROMPTAUDIT_CACHE") or name in (
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "PREFECT_API_URL",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path_factory.getbasetemp() / "prefect"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PROMPTAUDIT_TRUST_FILE", str(tmp_path_factory.mktemp("trust") / "trusted.json"))


@pytest.fixture(autouse=True, scope="session")
def _no_process_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    tmp_path_factory.getbasetemp()  # made at its first use, before a test moves the place of temporary files
    yield
    # an ephemeral Prefect server ends with its process, but pytest-xdist ends its workers without their farewells
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`-m slow` is part of every change's checks, so what is marked soak as well would be run there."""
    both = [item.nodeid for item in items if item.get_closest_marker("slow") and item.get_closest_marker("soak")]
    if both:
        msg = f"marked slow and soak: {both[0]}"
        raise pytest.UsageError(msg)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """A worker takes a file at a time, those first that take long."""
    from xdist.scheduler import LoadFileScheduling

    places = {f"tests/{file}": place for place, file in enumerate(LONG)}

    class Scheduling(LoadFileScheduling):
        def _assign_work_unit(self, node: WorkerController) -> None:
            # of those that are not listed, the one with the most tests, as xdist has them in order
            first = min(self.workqueue, key=lambda file: places.get(str(file), len(places)))
            self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)
