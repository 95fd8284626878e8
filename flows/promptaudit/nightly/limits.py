"""Holds the named limits of Prefect for a night: each provider, each GPU. The warehouse has a lock of its own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import urlsplit

import httpx
from prefect import get_client
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun
from prefect.concurrency.sync import concurrency
from prefect.runtime import flow_run

from promptaudit.engines.openai_api.addresses import base_urls
from promptaudit.nightly.artifacts import Bar, key_of
from promptaudit.registry.errors import MeasureError
from promptaudit.registry.registry import Registry

LEASE_S = 60  # how long a killed night's places stay taken: the least Prefect allows; its own default is 300
FREE_AGAIN_S, POLL_S = 90.0, 5.0  # by then the server has noticed that a lease is over; how often it is asked
HOLDS = "holds "  # begins the tags of a flow run that name what it holds


@contextlib.contextmanager
def hold_limits(limits: Sequence[str], bar: Bar, ended: Collection[str] = ()) -> Iterator[None]:
    """Waits for the named limits, as far as the server has them, and holds them for the block.

    A line says what is waited for and which nights hold it. A limit that stays taken while no night holds it does not
    keep this one: a server that was restarted may have forgotten who held it. An inactive limit keeps none. While the
    server is away a night goes on without limits. `ended` are ids of flow runs that hold nothing, whatever the server
    says: it takes 15 minutes to notice that a process is gone. A copy of a warehouse has ids of the original's, too.

    Raises MeasureError for a limit of 0, by which an operator stops nights, where it is not raised soon: a night that
    waited would keep the nights of other audits from the warehouse.
    """
    stopped: list[str] = []
    with contextlib.ExitStack() as stack:
        if limits:
            bar.show(lambda: stopped.extend(_take(stack, limits, bar, ended)))
        if stopped:
            msg = f"the limit {stopped[0]} is 0, which stops nights; `prefect gcl update {stopped[0]} --limit 1` lets them run"
            raise MeasureError(msg)
        try:
            yield
        finally:
            bar.is_away = False  # it may be back
            bar.show(stack.close)


def _take(stack: contextlib.ExitStack, limits: Sequence[str], bar: Bar, ended: Collection[str]) -> list[str]:
    # returns the limits of 0 that keep it
    said, unheld_since = "", time.monotonic()
    with get_client(sync_client=True) as client:
        _tag(client, ())
        while True:
            with contextlib.suppress(_Taken):
                stack.enter_context(_places(limits))
                break
            full, holders = _full(client, limits), _holders(client, limits, ended)
            taken, stopped = " and ".join(full), [name for name, limit in full.items() if limit == 0]
            unheld_since = time.monotonic() if holders and not stopped else unheld_since
            if time.monotonic() - unheld_since > FREE_AGAIN_S:
                if stopped:
                    return stopped
                frees = " and ".join(f"`prefect gcl update {name} --active-slots 0`" for name in full)
                bar.log_warning(
                    f"{taken} stays taken, though no night holds it: a server that was restarted may have forgotten who did. "
                    f"This night goes on without; {frees} frees it"
                )
                break
            if stopped:
                why = f"a limit of 0 lets no night run; `prefect gcl update {stopped[0]} --limit 1` does"
            elif holders:
                why = f"which {', '.join(holders)} hold{'s' if len(holders) == 1 else ''}"
            else:
                without = f"after {FREE_AGAIN_S:g} s this night goes on without"
                why = f"which no night holds; what a killed one held is free in {LEASE_S} s, and {without}"
            line = f"waiting for {taken}, {why}"
            if line != said:
                bar.log(line)
            said = line
            time.sleep(POLL_S)
        _tag(client, limits)
    stack.callback(_untag)
    return []


class _Taken(Exception):
    """Says that a limit has no place left, or none at all."""


@contextlib.contextmanager
def _places(limits: Sequence[str]) -> Iterator[None]:
    places = concurrency([*limits], lease_duration=LEASE_S, strict=False, max_retries=0)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(places)
        except Exception as error:
            cause = error.__cause__
            # of a limit of 0 the server says that it is less than what is asked for
            if isinstance(cause, httpx.HTTPStatusError) and cause.response.status_code in (
                httpx.codes.LOCKED,
                httpx.codes.UNPROCESSABLE_ENTITY,
            ):
                raise _Taken from None
            raise
        yield


def _full(client: SyncPrefectClient, limits: Sequence[str]) -> dict[str, int | None]:
    # those without a place, and how many each has; all of them if one became free meanwhile
    found = {each.name: each for each in client.read_global_concurrency_limits(limit=200) if each.active}
    full: dict[str, int | None] = {
        name: found[name].limit for name in limits if name in found and found[name].active_slots >= found[name].limit
    }
    return full or dict.fromkeys(limits)


def _holders(client: SyncPrefectClient, limits: Sequence[str], ended: Collection[str]) -> list[str]:
    running = {"state": {"type": {"any_": ["RUNNING"]}}, "tags": {"any_": [f"{HOLDS}{name}" for name in limits]}}
    runs: list[FlowRun] = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(running))
    return sorted({run.name for run in runs if str(run.id) not in ended})


def _tag(client: SyncPrefectClient, limits: Sequence[str]) -> None:
    # Prefect's leases do not outlive a restart of its server, and tags of a flow run do
    run = client.read_flow_run(flow_run.id)
    tags = [*(tag for tag in run.tags if not tag.startswith(HOLDS)), *(f"{HOLDS}{name}" for name in limits)]
    if set(tags) != set(run.tags):
        client.update_flow_run(run.id, tags=tags)


def _untag() -> None:
    with get_client(sync_client=True) as client:
        _tag(client, ())


def forget_limits(bar: Bar) -> None:
    """Takes back what an earlier try of this flow run, which may have been killed, says that it holds."""
    bar.show(_untag)


def limits_of(registry: Registry, audit_id: str) -> list[str]:
    """Names the limits of a night: each provider, each GPU. Raises CardError."""
    names = set()
    cards = [registry.model(model_id) for model_id in registry.models_of(audit_id)]
    for card in cards:
        if card.is_by_vllm or card.starts_server:
            names.add("gpu-0")
        elif card.engine in ("openai_api", "batch", "llama_cpp"):
            names |= {f"provider-{key_of(_provider(urlsplit(url).hostname or ''))}" for url in base_urls(card)}
    return sorted(names)


def _provider(host: str) -> str:
    # `openai` for api.openai.com; an address or a plain host as it is
    labels = host.split(".")
    is_address = host.replace(".", "").isdigit()
    return "-".join(labels) if is_address or len(labels) < 2 else labels[-2]  # noqa: PLR2004 - a host and its domain
