"""Lands the files that askers write, and counts how much of each one's lease has landed.

Every step may be cut short and repeated: rows that landed twice add nothing, and a file is counted once, because the
lease names the counted files before they are removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from promptaudit.ask.shards.messages import (
    ASKER,
    LANDER,
    LEASE,
    OPEN,
    TERMS,
    AskerState,
    LanderState,
    Lease,
    Lost,
    MessageT,
    read_message,
    write_message,
)
from promptaudit.registry.errors import BrokenFile
from promptaudit.system.processes import is_running
from promptaudit.system.shared_folder import SharedFolder, shared_folder
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.segments import Segment, Segments, replay

SILENT_S = 60.0
"""Sets how long an asker of another machine may be silent before it counts as dead.

Its lease is removed then, so that it ends if it lives.
"""
LANDED_AT_ONCE = 64_000_000
"""Sets the bytes of segments that are landed in one transaction."""
LOST = "lost.json"
NO_REQUEST = "^(ClientConnector|ConnectionTimeout)"
"""Matches the beginning of the error of a try that found no connection, and so was no request."""


@dataclass(slots=True)
class Asker:
    """Tracks one asker. `lease` is None before it is admitted."""

    shard: int
    name: str  # of its folder
    lease: Lease | None = None
    state: AskerState | None = None
    seen_at: float = field(default_factory=time.monotonic)
    silent_s: float = 0.0
    is_settled: bool = False

    @property
    def prefix(self) -> str:
        """Builds what the names of its files begin with."""
        return f"{self.shard}/{self.name}/"

    @property
    def has_ended(self) -> bool:
        """Checks whether the asker has reported its end, after all of its files."""
        return self.state is not None and self.state.state == "ended"

    @property
    def is_dead(self) -> bool:
        """Checks whether its process is gone, or, if that cannot be seen from here, gave no sign for a minute."""
        if self.state is None:  # the first that an asker writes was removed: an earlier start had done with it
            return True
        is_there = is_running(self.state.machine, self.state.pid, self.state.began_at)
        return self.silent_s > SILENT_S if is_there is None else not is_there

    @property
    def is_waiting(self) -> bool:
        """Checks whether it can do nothing with all that it was lent."""
        state, lease = self.state, self.lease
        if state is None or lease is None:
            return False
        return state.is_waiting and (state.max_requests, state.max_usd) == (lease.max_requests, lease.max_usd)

    @property
    def is_over(self) -> bool:
        """Checks whether nothing more comes from it."""
        return self.is_settled or self.has_ended or self.is_dead


class SegmentLanding:
    """Tracks the known askers of a run and lands their files. For one thread at a time."""

    def __init__(
        self,
        warehouse: Warehouse,
        folder: SharedFolder,
        audit_run_id: str,
        say: Callable[[str], None],
        take: Callable[[pl.DataFrame], None] = lambda _: None,
    ) -> None:
        self.folder, self._take = folder, take
        self._segments = Segments(warehouse, folder, audit_run_id, say)
        self.askers: dict[str, Asker] = {}

    def of(self, shard: int) -> list[Asker]:
        """Lists the askers of a shard."""
        return [asker for asker in self.askers.values() if asker.shard == shard]

    def hear(self) -> None:
        """Reads the state of each asker, new ones too."""
        for name in self.folder.names():
            parts = name.split("/")
            if len(parts) < 3 or not parts[0].isdecimal():  # noqa: PLR2004 - shard, asker, file
                continue
            folder = f"{parts[0]}/{parts[1]}"
            asker = self.askers.get(folder)
            if asker is None:
                asker = self.askers[folder] = Asker(int(parts[0]), parts[1])
                asker.lease = self.read_message(asker.prefix + LEASE, Lease)
            if parts[2:] == [ASKER] and not asker.is_settled:
                state = self.read_message(name, AskerState)
                if state is not None and state != asker.state:
                    asker.state, asker.seen_at = state, time.monotonic()
                # as seen by this look: what was written while the lander was busy is no silence
                asker.silent_s = time.monotonic() - asker.seen_at

    def read_message(self, name: str, kind: type[MessageT]) -> MessageT | None:
        """Reads a message; None if there is none, or if the file, which is then set aside, is broken."""
        try:
            return read_message(self.folder, name, kind)
        except BrokenFile as error:
            self._segments.set_aside(name, error)
            return None

    def land(self, askers: Iterable[Asker], *, with_open: bool = False) -> None:
        """Lands the segments of askers, in transactions of some size, and removes what has landed.

        `with_open`: also the segments that were being written when their asker died.
        """
        names = self.folder.names()
        for asker in askers:
            files = [
                name
                for name in self._segments.waiting(names)
                if name.startswith(asker.prefix)
                and name.endswith(".jsonl")
                and (with_open or not name.startswith(f"{asker.prefix}{OPEN}/"))
            ]
            while files:
                files = files[self._land_first(asker, files) :]

    def _land_first(self, asker: Asker, files: Sequence[str]) -> int:
        # sets aside what is not the run's; returns how many files it looked at
        rows: dict[str, Segment] = {}
        n_read = n_bytes = 0
        while n_read < len(files) and n_bytes <= LANDED_AT_ONCE:
            at_once = self._segments.first_of(files[n_read:])
            read = self._segments.read(at_once)
            n_read += len(at_once)
            n_bytes += sum(int(frame.estimated_size()) for _, frame in read.values())
            rows |= read
        rows = self._lent(asker, rows)
        self._segments.land(list(rows.values()))
        if asker.lease is not None:
            new = [each for name, each in rows.items() if name not in asker.lease.counted]
            asker.lease.n_landed += sum(_n_requests(table, frame) for table, frame in new)
            asker.lease.usd_landed += sum(float(f["cost_usd"].sum() or 0) for table, f in new if table == "predictions")
            asker.lease.counted = list(rows)
            write_message(self.folder, asker.prefix + LEASE, asker.lease)
        self._segments.remove(list(rows))
        for table, frame in rows.values():
            if table == "predictions":
                self._take(frame)
        return n_read

    def _lent(self, asker: Asker, rows: dict[str, Segment]) -> dict[str, Segment]:
        # sets aside files with more failed tries than the asker's lease has left
        lease = asker.lease or Lease(max_requests=0)
        if lease.max_requests is None:
            return rows
        n_requests = {name: _n_requests(*each) for name, each in rows.items() if name not in lease.counted}
        tries = [name for name in n_requests if rows[name][0] == "attempts"]
        n_left = lease.max_requests - lease.n_landed - sum(n for name, n in n_requests.items() if name not in tries)
        for name in tries:
            if n_requests[name] > max(n_left, 0):
                msg = f"{name}: {n_requests[name]} failed tries, and {max(n_left, 0)} requests are left of the asker's lease"
                self._segments.set_aside(name, BrokenFile(msg))
                rows = {each: segment for each, segment in rows.items() if each != name}
            else:
                n_left -= n_requests[name]
        return rows

    def settle(self, asker: Asker) -> None:
        """Lands all that is left of an asker that has ended or died; what a dead one was lent counts as lost.

        A supposedly dead asker that lives finds its lease gone and ends; what it writes until then stays for the next
        start.
        """
        if asker.is_settled:
            return
        self.hear()
        self.land([asker], with_open=True)
        if asker.lease is not None and not asker.has_ended:
            self._lose(asker.name, asker.lease)
        asker.is_settled = True
        self._segments.remove(
            [name for name in self.folder.names() if name.startswith(asker.prefix) and not name.endswith(".jsonl")]
        )

    def _lose(self, name: str, lease: Lease) -> None:
        lost = self.read_message(LOST, Lost) or Lost()
        if name in lost.askers:  # counted by a lander that was killed before it removed the lease
            return
        lost.askers.append(name)
        if lease.max_requests is not None:
            lost.n_requests += max(lease.max_requests - lease.n_landed, 0)
        if lease.max_usd is not None:
            lost.usd += max(lease.max_usd - lease.usd_landed, 0.0)
        write_message(self.folder, LOST, lost)


def _n_requests(table: str, rows: pl.DataFrame) -> int:
    # as a run's budget counts them
    if table == "attempts":
        is_none = rows["http_status"].is_null() & rows["error"].str.contains(NO_REQUEST)
        return rows.height - int(is_none.fill_null(value=False).sum())
    return rows.height if table == "predictions" else 0


def lost_in(folder: SharedFolder) -> Lost:
    """Reads what was lent to askers of a run that died; it counts as spent, because what they had sent is unknown."""
    return read_message(folder, LOST, Lost) or Lost()


def askers_folder(warehouse: Warehouse, spool: str | None) -> SharedFolder:
    """Opens the folder that the askers of a warehouse's runs share: as set, else beside the warehouse."""
    return shared_folder(spool or warehouse.places.askers)


def land_left(warehouse: Warehouse, spool: str | None, say: Callable[[str], None]) -> int:
    """Lands what killed runs, and their askers, left in spools; returns how many rows the runs' own spools held.

    Askers that still ask are stopped and waited for. Askers of other warehouses, whose runs may share the folder, are
    left alone. Only for a process that holds the warehouse.
    """
    n_rows = replay(warehouse, say)
    folder = askers_folder(warehouse, spool)
    runs = {name.partition("/")[0] for name in folder.names()}
    if not runs:
        return n_rows
    known = warehouse.read("select audit_run_id from raw.audit_runs where audit_run_id in $runs", runs=sorted(runs))
    for audit_run_id in sorted(row["audit_run_id"] for row in known):
        _land_askers(warehouse, folder.under(audit_run_id), audit_run_id, say)
    return n_rows


def _land_askers(warehouse: Warehouse, folder: SharedFolder, audit_run_id: str, say: Callable[[str], None]) -> None:
    landing = SegmentLanding(warehouse, folder, audit_run_id, say)
    landing.hear()
    landing.read_message(LOST, Lost)  # a broken one would stop the run that goes on
    if not landing.askers:
        return
    say(f"landing what {len(landing.askers)} askers of an earlier start have handed over")
    beat = landing.read_message(LANDER, LanderState) or LanderState(beat=0)
    write_message(folder, LANDER, LanderState(beat=beat.beat + 1, is_over=True))
    while not all(asker.is_over or asker.silent_s > SILENT_S for asker in landing.askers.values()):
        time.sleep(folder.poll_s)
        landing.hear()
    for asker in landing.askers.values():
        landing.settle(asker)
    for name in (TERMS, LANDER):
        folder.remove(name)
    folder.sweep()
