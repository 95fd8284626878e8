r"""Compares a completion's final answer with a reference answer as mathematics.

`final_answer` finds the final answer in a completion. Then the first of these that applies decides:

- Both are plain numbers (`number`): compared exactly, without any computer algebra. 0.333 is not 1/3, 50% is 1/2,
  `50 years` answers `50` but `50` does not answer `50 years`; signs and names of currencies and degrees are dropped.
- The two texts are the same but for spacing, `\text{}`, the signs around them and, of words, capitals: equal. `(B)` is
  `B`.
- Both read as formulas (`formula`): compared by sympy and math-verify in a separate process (`worker`), which
  a hostile formula can neither hang, nor exhaust, nor leave (`algebra` lists the rules).
- Anything else is unscored, with a reason. Words are read nowhere: "fifty" is not 50.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Sequence
from typing import NamedTuple, Self

from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.scoring.math.final_answer import (
    MAX_READ_AS_ONE,
    boxed_answer,
    final_answer,
    reference_answer,
    stated_quantity,
    tidied,
)
from promptaudit.udfs.scoring.math.formula import Formula, OverlongFormula, UnreadableFormula, read_formula
from promptaudit.udfs.scoring.math.pool import MathProcess
from promptaudit.udfs.sql_function import sql_function

SECONDS_PER_PAIR = 1.5
"""The comparison of two formulas ends after so much wall time."""

_MAX_KEPT = 100_000  # comparisons kept between calls: about 30 MB
_WRAPPERS = re.compile(r"\\(?:text(?:rm|bf|it)?|math(?:rm|bf|it)|mbox)\s*\{([^{}]*)\}")
_INVISIBLE = re.compile(r"\\(?:left|right|displaystyle)(?![A-Za-z])|\\[,;:! ]|\s+")


class MathReading(NamedTuple):
    """One comparison: whether an answer equals a reference; where that is unknown (None), the reason.

    The reasons: `no answer` (the completion has none), `no reference` (there is none, or it is blank), `unreadable`
    (one of the two is no formula), `too long` (over 1,000 characters, or digits in an exponent), `timeout` and `too
    much memory` (the comparison was ended).
    """

    is_equal: bool | None
    reason: str | None


class MathEqual:
    """Compares final answers with references. Its worker starts once, with the first pair that needs it.

    Several threads may share one. `close`, or the end of the `with` block, ends the worker; so does the end of this
    process, of whatever cause. A pair of formulas takes 1.5 s at the most once the worker has started.

    Args:
        seconds_per_pair: wall time after which a comparison is ended as `timeout`.
        n_processes: comparisons that run at the same time, each in up to 1 GiB; 0 is one a processor, four at the most.
    """

    def __init__(self, seconds_per_pair: float = SECONDS_PER_PAIR, n_processes: int = 0) -> None:
        self._process = MathProcess(seconds_per_pair, n_processes)
        self._kept: dict[tuple[str, str], MathReading] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Returns the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the worker."""
        self.close()

    def close(self) -> None:
        """Ends the worker; a later call starts another."""
        with self._lock:
            self._process.close()

    def equal(self, completion: str, references: Sequence[str]) -> MathReading:
        """Compares the completion's final answer with the references; errors as in `equal_all`."""
        return self.equal_all([(completion, references)])[0]

    def equal_all(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[MathReading]:
        """Compares many completions with their references; a repeated pair is compared once.

        Args:
            pairs: completion and its references.

        Returns:
            One reading a pair, in their order: equal where any reference is, undecided where none is and a
            comparison was not decided, with the reason of the first such.

        Raises:
            OSError: the worker cannot run here: there is no `os.fork`, or it does not start.
        """
        keys = [(completion, tuple(references)) for completion, references in pairs]
        compared = {key: _compared(*key) for key in dict.fromkeys(keys)}
        jobs = dict.fromkeys(found for all_found in compared.values() for found in all_found if isinstance(found, _Job))
        decided = self._decided(list(jobs)) if jobs else {}
        readings = {
            key: _combined([decided[found] if isinstance(found, _Job) else found for found in all_found])
            for key, all_found in compared.items()
        }
        return [readings[key] for key in keys]

    def _decided(self, jobs: list[_Job]) -> dict[_Job, MathReading]:
        with self._lock:
            unknown = [job for job in jobs if job not in self._kept]
            found = zip(unknown, map(MathReading._make, self._process.compare(unknown)), strict=True)
            decided = {job: self._kept[job] for job in jobs if job in self._kept} | dict(found)
            if len(self._kept) + len(unknown) > _MAX_KEPT:
                self._kept.clear()
            # a comparison may have been ended for lack of a processor: the next call tries again
            self._kept.update((job, decided[job]) for job in unknown if decided[job].reason in (None, "unreadable"))
            return decided


# The comparison of a whole build; its worker starts with the first formula and ends with the process.
_OF_BUILD = MathEqual()


@sql_function(at_once=True)
def math_equal(completion: Sequence[str], references: Sequence[list[str] | None]) -> list[MathReading]:
    """Decides whether each completion's final answer, without a reasoning block before it, equals a reference."""
    pairs = zip(completion, references, strict=True)
    return _OF_BUILD.equal_all([(parted(text).answer, known or []) for text, known in pairs])


@sql_function(at_once=True)
def math_boxed(completion: Sequence[str], references: Sequence[list[str] | None]) -> list[MathReading]:
    r"""Runs `math_equal` on the content of the last `\boxed{}` or `\fbox{}`; a completion without one has no answer."""
    boxes = [boxed_answer(parted(text).answer) for text in completion]
    alone = ["" if box is None else rf"\boxed{{{box}}}" for box in boxes]
    return _OF_BUILD.equal_all([(box, known or []) for box, known in zip(alone, references, strict=True)])


class _Job(NamedTuple):
    # two formulas for the worker
    answer: str
    reference: str


def _compared(completion: str, references: Sequence[str]) -> list[MathReading | _Job]:
    # one entry for each reference: a reading where this process can decide, else a job
    stated = [answer for answer in map(reference_answer, references) if answer]
    if not stated:
        return [MathReading(None, "no reference")]
    answer = final_answer(completion)
    if not answer:
        return [MathReading(None, "no answer")]
    return [_compared_texts(answer, reference) for reference in stated]


def _compared_texts(answer: str, reference: str) -> MathReading | _Job:
    quantity, reference_quantity = stated_quantity(answer), stated_quantity(reference)
    if quantity is not None and reference_quantity is not None:
        return MathReading(quantity.equals(reference_quantity), None)
    words, reference_words = _unwrapped(answer), _unwrapped(reference)
    if words == reference_words:
        return MathReading(is_equal=True, reason=None)
    formula, reference_formula = _formula(answer), _formula(reference)
    if isinstance(formula, str) or isinstance(reference_formula, str):
        if formula == reference_formula and words.casefold() == reference_words.casefold():
            return MathReading(is_equal=True, reason=None)
        return MathReading(None, formula if isinstance(formula, str) else str(reference_formula))
    if reference_formula.unit != formula.unit[: len(reference_formula.unit)]:
        return MathReading(is_equal=False, reason=None)
    job = _Job(formula.latex, reference_formula.latex)
    return MathReading(is_equal=True, reason=None) if job.answer == job.reference else job


@functools.lru_cache(maxsize=2**12)
def _formula(text: str) -> Formula | str:
    # or the reason why there is none
    try:
        return read_formula(tidied(text)) if len(text) <= MAX_READ_AS_ONE else "too long"
    except UnreadableFormula:
        return "unreadable"
    except OverlongFormula:
        return "too long"


def _unwrapped(text: str) -> str:
    # without invisible characters and layout commands
    if len(text) > MAX_READ_AS_ONE:
        return text
    words = " ".join(_INVISIBLE.sub(" ", _WRAPPERS.sub(r"\1", tidied(text))).split())
    return words[1] if len(words) == len("(B)") and (words[0], words[2]) == ("(", ")") else words


def _combined(readings: list[MathReading]) -> MathReading:
    if any(reading.is_equal for reading in readings):
        return MathReading(is_equal=True, reason=None)
    return next((reading for reading in readings if reading.is_equal is None), readings[0])
