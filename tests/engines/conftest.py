"""One running server for the tests of engines, and an environment without keys or proxies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.openai_server import RunningServer, running_server


@pytest.fixture(scope="session")
def _started() -> Iterator[RunningServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def server(_started: RunningServer) -> RunningServer:
    """A server that answers at once, and fails as `<<fault>>` in the text says; its counters are at zero."""
    _started.reset()
    return _started


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
