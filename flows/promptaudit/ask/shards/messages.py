"""Defines the messages of the lander and the askers of a run, as files of the folder that they share.

`terms.json`                          the lander: what is asked, the same for all
`lander.json`                         the lander: that it is there, or that the askers should end
`<shard>/<asker>/lease.json`          the lander: what this asker may spend
`<shard>/<asker>/landed.parquet`      the lander: which cells of the shard have landed before
`<shard>/<asker>/asker.json`          the asker: that it is there, what it spent, what it wants, how it ended
`<shard>/<asker>/<n>.<table>.jsonl`   the asker: rows for the lander
`<shard>/<asker>/open/…`              the asker: the segment that it writes, in a folder of the same machine or volume
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from promptaudit.plan.cells import Variant
from promptaudit.registry.errors import (
    BrokenFile,
    BudgetReached,
    CardError,
    DataError,
    EngineError,
    MeasureError,
    PromptauditError,
    UntrustedCard,
    UsageError,
    WarehouseError,
)
from promptaudit.system.shared_folder import SharedFolder

KINDS: dict[str, type[PromptauditError]] = {
    kind.__name__: kind
    for kind in (
        BrokenFile,
        BudgetReached,
        CardError,
        DataError,
        EngineError,
        UntrustedCard,
        UsageError,
        WarehouseError,
    )
}
"""Lists the errors that an asker may end with; any other is a MeasureError."""
TERMS, LANDER, LEASE, LANDED, ASKER, OPEN = (
    "terms.json",
    "lander.json",
    "lease.json",
    "landed.parquet",
    "asker.json",
    "open",
)

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""Counts US dollars, or seconds."""
Part = Annotated[float, Field(gt=0, le=1)]


class Message(BaseModel):
    """Describes a file of the shared folder."""

    model_config = ConfigDict(extra="forbid")


MessageT = TypeVar("MessageT", bound=Message)


class Terms(Message):
    """Says what is asked: a plan by its fingerprint, for askers look up the cards themselves; wordings, samples."""

    plan_fingerprint: str
    n_shards: int = Field(ge=1)
    model_ids: tuple[str, ...]
    variants: tuple[Variant, ...]
    sample_ids: dict[str, list[str]]


class LanderState(Message):
    """Signals that the lander is there: `beat` counts on while it is."""

    beat: Count
    is_over: bool = False


class Lease(Message):
    """Sets what an asker may spend in all, None without limit, and its parts of the models' limits a minute.

    `is_final`: there will be no more. `n_landed` and `usd_landed` are what the lander has landed of it, in the files
    `counted` and the ones before them.
    """

    max_requests: Count | None = None
    max_usd: Amount | None = None
    is_final: bool = False
    is_over: bool = False
    parts: dict[str, Part] = Field(default_factory=dict)
    n_landed: Count = 0
    usd_landed: Amount = 0.0
    counted: list[str] = Field(default_factory=list)


class Lost(Message):
    """Adds up what was lent to askers that died, by the names of their folders, and is not given back."""

    n_requests: Count = 0
    usd: Amount = 0.0
    askers: list[str] = Field(default_factory=list)


class Failure(Message):
    """Holds the error that an asker ended with."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: PromptauditError) -> Failure:
        """Turns an error into a message for another process."""
        kind = type(error).__name__
        return cls(kind=kind, text=str(error).removeprefix(f"{kind}: "))

    def error(self) -> PromptauditError:
        """Turns the message into an error again."""
        kind = KINDS.get(self.kind, MeasureError)
        return kind(self.text)


class AskerState(Message):
    """Reports how far an asker is, a process of a machine that began at some time; `beat` counts on while it is there.

    `n_requests` and `usd` are spent or set aside; `wants_requests` and `wants_usd` are what it would have in all, of
    which one request may cost up to `usd_a_request`; `is_waiting`: it can do nothing before it is lent more than
    `max_requests` and `max_usd`; `is_interrupted`: it has written all of its files, and cells of its shard may not have
    been asked.
    """

    machine: str
    pid: Annotated[int, Field(ge=0, lt=2**31)]
    began_at: Amount
    beat: Count
    state: Literal["asking", "ended"] = "asking"
    n_requests: Count = 0
    usd: Amount = 0.0
    wants_requests: Count = 0
    wants_usd: Amount = 0.0
    usd_a_request: Amount = 0.0
    is_waiting: bool = False
    max_requests: Count | None = None
    max_usd: Amount | None = None
    is_interrupted: bool = False
    failure: Failure | None = None
    notes: list[str] = Field(default_factory=list)


def read_message(folder: SharedFolder, name: str, kind: type[MessageT]) -> MessageT | None:
    """Reads a message; None if there is none yet. Raises BrokenFile for a file that is no such message."""
    content = folder.read(name)
    if content is None:
        return None
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        place = f"{field}: {first['msg']}" if field else first["msg"]
        msg = f"{name}: no message of a run's askers: {place}; both sides need the same version of promptaudit"
        raise BrokenFile(msg) from None


def write_message(folder: SharedFolder, name: str, message: Message) -> None:
    """Writes a message."""
    folder.write(name, message.model_dump_json().encode())
