"""Serves the published folder read-only: an index of runs, pages, traces, Parquet marts and the published copy."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import socket
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptaudit.registry.errors import UsageError
from promptaudit.report.blocks.filters import rendered
from promptaudit.report.queries import query
from promptaudit.system.files import private_folder, write_text
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

    from promptaudit.system.display.progress import Progress

MOST_RUNS = 500
LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
"""Host names that a page of another site cannot use to reach this server. The server's own address is added to them."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
_RUNS = """
select audit_run_id, audit_id, state, started_at, finished_at
from marts.dim_audit_runs order by run_index desc limit $most
"""


def view(settings: Settings, progress: Progress, *, host: str, port: int, opens: bool) -> None:
    """Serves the published folder of the warehouse until interrupted.

    On a loopback address, which every user of the machine can reach, it answers requests with the token from the
    address that it prints. On other addresses, or if a login (`user:password`) is set, it asks for the login instead.
    `port` 0 takes a free port; `opens` shows the index in the user's browser.

    Raises:
        UsageError: the host is not loopback and no login is set, or the port cannot be had.
    """
    import uvicorn

    warehouse, is_local = Warehouse(settings.warehouse), _is_local(host)
    login = (settings.view_login.get_secret_value() or None) if settings.view_login else None
    if not is_local and not login:
        msg = (
            f"--host {host} is no loopback address; set PROMPTAUDIT_VIEW_LOGIN to user:password, which it then asks for"
        )
        raise UsageError(msg)
    try:
        taken = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        msg = f"--host {host} --port {port}: {os.strerror(error.errno or 0)}"
        raise UsageError(msg) from None
    with taken, contextlib.ExitStack() as stack:
        port = taken.getsockname()[1]
        token = None if login else secrets.token_urlsafe(32)
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/{f'?token={token}' if token else ''}"
        progress.say(f"serving {warehouse.published.path.parent} at {url}; Ctrl-C ends it")
        if opens:
            import webbrowser

            webbrowser.open(stack.enter_context(_leading_to(url, warehouse)))
        served = application(
            warehouse, login, token, hosts=LOCAL | {host} if is_local else None, name=f"promptaudit-{port}"
        )
        config = uvicorn.Config(served, log_level="warning", server_header=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[taken])


@contextlib.contextmanager
def _leading_to(url: str, warehouse: Warehouse) -> Iterator[str]:
    # every user of the machine can list the arguments of a browser's process, so it opens a private page that redirects
    page = warehouse.places.beside(".view.html")
    private_folder(page.parent)
    write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(url)}"><title>view</title>', page)
    try:
        yield page.absolute().as_uri()
    finally:
        page.unlink(missing_ok=True)


def application(
    warehouse: Warehouse, login: str | None, token: str | None, *, hosts: frozenset[str] | None, name: str
) -> FastAPI:
    """Builds the application that serves the published folder, which may appear later.

    It takes only GET and HEAD.

    It checks the login, the token (in the address, later in the cookie `name`) and the request's host against `hosts`,
    each unless it is None.
    """
    from fastapi import FastAPI
    from fastapi.responses import HTMLResponse, PlainTextResponse
    from fastapi.staticfiles import StaticFiles

    class PublishedFiles(StaticFiles):
        async def check_config(self) -> None:
            """Accepts a missing folder, which appears with the first published run."""

    served = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    wanted = None if login is None else f"Basic {b64encode(login.encode()).decode()}"

    @served.middleware("http")
    async def guarded(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        if hosts is not None and _host(request.headers.get("host", "")) not in hosts:
            return PlainTextResponse("this is no name of the server\n", 400, HEADERS)
        if wanted is not None and not _is(request.headers.get("authorization", ""), wanted):
            return PlainTextResponse(
                "a login is wanted\n", 401, HEADERS | {"WWW-Authenticate": 'Basic realm="promptaudit"'}
            )
        is_new = token is not None and not _is(request.cookies.get(name, ""), token)
        if is_new and not _is(request.query_params.get("token", ""), token or ""):
            return PlainTextResponse("open the address with the token that `promptaudit view` says\n", 403, HEADERS)
        answer = await go_on(request)
        answer.headers.update(HEADERS)
        if is_new:
            answer.set_cookie(name, token or "", httponly=True, samesite="strict")
        return answer

    @served.api_route("/", methods=["GET", "HEAD"], response_class=HTMLResponse)
    def index() -> str:
        return index_of(warehouse)

    served.mount("/", PublishedFiles(directory=warehouse.published.path.parent, check_dir=False))
    return served


def _is(given: str, wanted: str) -> bool:
    # compares in constant time, so that the time does not show how much is right
    return secrets.compare_digest(given.encode(errors="replace"), wanted.encode())


def _host(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def index_of(warehouse: Warehouse) -> str:
    """Renders the newest 500 runs, linked to their pages if these exist, and the comparisons that have a page."""
    runs = warehouse.published.read(_RUNS, most=MOST_RUNS) if warehouse.published.exists() else []
    folder = warehouse.published.path.parent
    pages = {row["audit_run_id"]: warehouse.places.report(row["audit_run_id"]) for row in runs}
    compared = warehouse.places.compared() if runs else {}
    comparisons = warehouse.published.read(query("compared"), beginnings=list(compared)) if compared else []
    return rendered(
        "runs.html.j2",
        runs=runs,
        pages={run: page.relative_to(folder).as_posix() for run, page in pages.items() if page.is_file()},
        comparisons=comparisons[:MOST_RUNS],
        compared={beginning: path.relative_to(folder).as_posix() for beginning, path in compared.items()},
        copy=warehouse.published.path.name,
        most=MOST_RUNS,
    )


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
