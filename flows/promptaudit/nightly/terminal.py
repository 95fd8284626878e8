"""Writes a night and its deployments as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from promptaudit.audit.terminal import lines_of as lines_of_run
from promptaudit.gate.terminal import lines_of as lines_of_gate

if TYPE_CHECKING:
    from promptaudit.nightly.after_run import NightResult
    from promptaudit.nightly.deployments import Deployment
    from promptaudit.nightly.rehearse import Rehearsal, RehearsedNight


def lines_of(result: NightResult, options: str = "") -> list[str]:
    """Writes everything a terminal shows of a night: its run, its state against normal nights, the gate, the message.

    The commands to look closer end with the options.
    """
    states, verdicts = _counted(result.states), _counted(result.verdicts)
    lines = [*lines_of_run(result.run), f"against normal nights: {states or 'nothing is known of this run'}"]
    lines += [f"figures: {verdicts}"] if verdicts else []
    lines += lines_of_gate(result.check, options)
    if result.message is not None:
        lines.append(f"told ({result.delivery}): {result.message.title}")
    if result.n_retired:
        lines.append(f"raw rows of {result.n_retired} older runs moved to the archive")
    return lines


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in counts.items())


def line_of_rehearsed(night: RehearsedNight) -> str:
    """Writes a night's date, its state against normal nights, its exit code, and the title of its message, if any."""
    title = "" if night.title is None else f"  {night.title}"
    return f"{night.started_at:%Y-%m-%d}  {night.state.replace('_', ' '):<12}  exit code {night.exit_code}{title}"


def lines_of_rehearsal(result: Rehearsal) -> list[str]:
    """Writes on which night a rehearsal reported its fault, with the whole message and where its page lies."""
    who = f"{result.model_id} / {result.task_id} / {result.strategy}"
    against = f"against {result.n_normal} normal nights"
    night = result.reporting_night
    if night is None:
        return [f"NOT TOLD  {result.fault}: {who}, on none of {len(result.nights)} nights, {against}"]
    lines = [f"TOLD      {result.fault}: {who}, on night {result.told_on}, {against}"]
    lines += ["", night.title or "", "", *(night.message or "").splitlines()]
    page = (
        f"report    {night.report}" if night.report else "kept      nothing; --folder keeps the nights and their pages"
    )
    return [*lines, "", page]


def lines_of_deployment(deployment: Deployment) -> list[str]:
    """Writes each deployment with its pool and schedule, then the limits, the automations and the server."""
    lines = []
    for each in deployment.deployments:
        schedule = each["schedules"][0]["cron"] if each["schedules"] else None
        when = "when it is asked for; its card has no schedule" if schedule is None else f"on '{schedule}' (UTC)"
        lines.append(f"deployed  nightly/{each['name']} to pool '{each['work_pool']['name']}', {when}")
    limits = f"limits    {', '.join(deployment.limits)}: one at a time each"
    automations = (f"automated {name.removeprefix('promptaudit: ')}" for name in deployment.automations)
    return [*lines, limits, *automations, f"server    {deployment.url}"]
