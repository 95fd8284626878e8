"""What `promptaudit view` serves: a real server on loopback over the published folder, and what it refuses."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import stat
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tests.report.conftest import Reported
from tests.support.prefect_server import wait_for
from tests.support.shell import promptaudit, start

pytestmark = pytest.mark.slow

LOGIN = "reader:a pass+wörd"


class Site:
    """A started server: asks it, byte for byte, with the token of its address as a browser has it from the second page on."""

    def __init__(self, said: str) -> None:
        found = re.search(r" at http://(.+?):(\d+)/(?:\?token=([\w-]{43}))?; Ctrl-C ends it$", said)
        assert found is not None, said
        self.host, self.port, self.token = found[1].strip("[]"), int(found[2]), found[3]
        self.cookies = {"Cookie": f"promptaudit-{self.port}={self.token}"} if self.token else {}

    def response(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        """The answer to one request without the cookie."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        connection.request(method, path, headers=headers)
        return connection.getresponse()

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
        """The status and the body of one request."""
        answer = self.response(path, method, **self.cookies, **headers)
        return answer.status, answer.read()


@contextmanager
def viewing(warehouse: Path, folder: Path, *options: str, **variables: str) -> Iterator[Site]:
    """Serves what a warehouse published until the block ends, as a user would who stands in a folder."""
    served = start(folder, "--warehouse", warehouse, "view", "--port", "0", *options, **variables)
    try:
        assert served.stderr is not None
        yield Site(served.stderr.readline())
    finally:
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 130
        for stream in (served.stdout, served.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture(scope="module")
def site(ordinary: Reported) -> Iterator[Site]:
    with viewing(ordinary.warehouse, ordinary.warehouse.parent, "--no-browser") as served:
        yield served


def test_an_index_leads_to_the_pages_of_runs_and_to_the_published_copy(
    site: Site, ordinary: Reported, tmp_path: Path
) -> None:
    status, index = site.ask("/")
    page = f"reports/{ordinary.audit_run_id}.html"
    assert status == 200
    assert f'href="{page}"'.encode() in index
    assert site.ask("/", "HEAD") == (200, b"")
    assert site.ask(f"/{page}") == (200, (ordinary.warehouse.parent / "published" / page).read_bytes())
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(site.ask("/audit.duckdb")[1])
    with duckdb.connect(str(copy), read_only=True) as con:
        assert con.execute("select count(*) from marts.rpt_audit").fetchone() is not None


def test_names_of_audits_are_no_html(site: Site) -> None:
    index = site.ask("/")[1].decode()
    assert "<b>hostile" not in index
    assert "&lt;b&gt;hostile" in index


@pytest.mark.parametrize(
    "path", ["/../audit.duckdb", "/%2e%2e/audit.duckdb", "/..%2faudit.duckdb", "//etc/passwd", "/%00"]
)
def test_nothing_outside_of_the_published_folder_is_served(site: Site, path: str) -> None:
    assert site.ask(path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_written(site: Site, ordinary: Reported, method: str) -> None:
    assert site.ask(f"/reports/{ordinary.audit_run_id}.html", method)[0] == 405


def test_a_page_of_another_site_cannot_call_it_by_a_name_of_its_own(site: Site) -> None:
    assert site.ask("/", Host="evil.example")[0] == 400


def test_another_user_of_the_machine_gets_no_page_without_the_token(site: Site) -> None:
    wrong = {"Cookie": f"promptaudit-{site.port}={site.token[:-1]}x"}
    for path in ("/", "/audit.duckdb", "/report.html", "/nowhere", "/?token=", f"/?token={site.token[:-1]}"):
        assert [site.response(path).status, site.response(path, **wrong).status] == [403, 403], path
    first = site.response(f"/?token={site.token}")
    assert first.status == 200
    assert first.headers["Set-Cookie"] == f"promptaudit-{site.port}={site.token}; HttpOnly; Path=/; SameSite=strict"
    assert site.response("/", Cookie=first.headers["Set-Cookie"].partition(";")[0]).headers["Set-Cookie"] is None


@pytest.mark.parametrize("host", ["127.0.0.2", "::1"])
def test_it_answers_at_the_address_that_it_says_and_no_list_of_processes_has_the_token(
    ordinary: Reported, tmp_path: Path, host: str
) -> None:
    browser = tmp_path / "browser"
    opened = tmp_path / "opened"
    browser.write_text(
        f"#!{sys.executable}\nimport sys, pathlib\npathlib.Path({str(opened)!r}).write_text(sys.argv[1])\n"
    )
    browser.chmod(0o700)
    with viewing(ordinary.warehouse, tmp_path, "--host", host, BROWSER=f"{browser} %s") as site:
        assert (site.host, site.ask("/")[0]) == (host, 200)
        wait_for(lambda: opened.exists() and opened.read_text(), "the browser")
        page = Path(opened.read_text().removeprefix("file://"))
        assert site.token not in page.name
        assert (stat.S_IMODE(page.stat().st_mode), site.token in page.read_text()) == (0o600, True)
    assert not page.exists()


def test_a_login_is_asked_for_where_one_is_set(ordinary: Reported) -> None:
    folder = ordinary.warehouse.parent
    with viewing(ordinary.warehouse, folder, "--no-browser", PROMPTAUDIT_VIEW_LOGIN=LOGIN) as site:
        assert site.token is None
        right, wrong = (f"Basic {b64encode(login.encode()).decode()}" for login in (LOGIN, LOGIN + "x"))
        assert [site.ask(path)[0] for path in ("/", "/audit.duckdb", "/report.html")] == [401] * 3
        assert site.ask("/", Authorization=wrong)[0] == 401
        assert site.ask("/", Authorization=right)[0] == 200


def test_elsewhere_than_on_loopback_it_wants_a_login(ordinary: Reported) -> None:
    ended = promptaudit(ordinary.warehouse.parent, "--warehouse", ordinary.warehouse, "view", "--host", "192.0.2.1")
    assert ended.code == 2
    assert ended.one_line().startswith(
        "UsageError: --host 192.0.2.1 is no loopback address; set PROMPTAUDIT_VIEW_LOGIN"
    )


def test_a_port_that_is_taken_is_one_line(ordinary: Reported) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = promptaudit(ordinary.warehouse.parent, "--warehouse", ordinary.warehouse, "view", "--port", port)
    assert ended.code == 2
    assert ended.one_line() == f"UsageError: --host 127.0.0.1 --port {port}: Address already in use"


def test_before_the_first_run_the_index_says_so(tmp_path: Path) -> None:
    with viewing(tmp_path / "warehouse/audit.duckdb", tmp_path, "--no-browser") as site:
        status, index = site.ask("/")
        assert (status, b"No run is published yet." in index) == (200, True)
        assert site.ask("/report.html")[0] == 404
