"""One night of an audit: its Prefect flow, its steps, and the deployments that schedule it."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:  # noqa: ANN401 - as any module's attributes
    """Returns the flow by the name that deployments of earlier versions have of it, `flows.nightly.nightly`."""
    if name == "nightly":
        from flows.nightly.flow import nightly

        return nightly
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
