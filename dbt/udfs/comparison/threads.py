"""Runs measures side by side in two threads, each product of matrices in one thread.

The products of matrices here are small. Where other work has the processors, a library that shares each product among its
threads waits for all of them at every product: 214 s against 29 s for two runs of 5,000 samples x 20 variants, B = 10,000,
on two processors with ten programs running.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

_THREADS = 2


@cache
def _libraries() -> Any | None:  # noqa: ANN401 - a library without types
    """Returns the libraries of linear algebra that are loaded, looked up once; None where they cannot be told anything."""
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:  # results are the same, a busy machine takes longer
        return None
    return ThreadpoolController()  # type: ignore[no-any-return,unused-ignore]


def _in_one_thread() -> AbstractContextManager[object]:
    libraries = _libraries()
    return nullcontext() if libraries is None else libraries.limit(limits=1, user_api="blas")


@contextmanager
def side_by_side() -> Iterator[ThreadPoolExecutor]:
    """Yields a pool in which array operations run beside each other, each product of matrices in one thread."""
    with _in_one_thread(), ThreadPoolExecutor(_THREADS) as pool:
        yield pool
