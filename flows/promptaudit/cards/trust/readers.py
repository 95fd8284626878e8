"""Says which readers of the user's own code may be called.

A reader stands in the warehouse, which may be somebody else's: it names a function and the sha256 of its file. Where
the function lies is known from the user's trust file alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from promptaudit.cards.trust.store import load, trust_file
from promptaudit.registry.code_folder import folder_sha256
from promptaudit.registry.errors import CardError, ChangedCode, UntrustedCard
from promptaudit.registry.own_code import Code, installed_sha256
from promptaudit.system.display.progress import visible
from promptaudit.system.settings import settings_of

if TYPE_CHECKING:  # at run time it would say that code is at work
    from promptaudit.udfs.readers.own_code import TrustedReader


def trusted_readers(readers: Mapping[str, str]) -> list[TrustedReader]:
    """Finds the readers that are code and makes sure that all of it is trusted.

    `readers` has each reader as it landed, and who has it. Raises UntrustedCard for code that the user does not trust,
    ChangedCode for code whose file is not as it was trusted.
    """
    own = {reader: json.loads(reader)["python"] for reader in readers if is_own(reader)}
    if not own:
        return []
    known = [each for each in load(trust_file(settings_of())) if isinstance(each, Code) and each.use == "reader"]
    return [_trusted(reader, readers[reader], named, known) for reader, named in own.items()]


def is_own(reader: str) -> bool:
    """Checks whether a reader names code."""
    try:
        card = json.loads(reader)
    except (ValueError, RecursionError):
        return False
    return isinstance(card, dict) and "python" in card


def _trusted(reader: str, who: str, named: object, known: list[Code]) -> TrustedReader:
    fields = named if isinstance(named, dict) else {"function": named}
    function, sha256 = str(fields.get("function")), fields.get("sha256")
    alike = [code for code in known if code.name == function]
    same = [code for code in alike if code.place is None or code.sha256 == sha256]
    as_it_was = next((code for code in same if _is_as_it_was(code, sha256)), None)
    if as_it_was is not None:
        from promptaudit.engines.code_copies import copied

        file, folder = (None, None) if as_it_was.folder is None else (str(copied(as_it_was)), str(as_it_was.folder))
        return {"reader": reader, "function": function, "file": file, "sha256": as_it_was.sha256, "folder": folder}
    if same:
        msg = f"{who} is read by {same[0]}, which changed since, or a file beside it did: its answers cannot be read again"
        raise ChangedCode(visible(msg))
    changed = " as it is there" if alike else ""
    msg = (
        f"{who} is read by code '{function}', which is not trusted{changed}; look at the folder of cards that names it, then: "
        "promptaudit trust DIR"
    )
    raise UntrustedCard(visible(msg))


def _is_as_it_was(code: Code, sha256: object) -> bool:
    if code.folder is None:
        return installed_sha256(code.name) == sha256
    try:
        return folder_sha256(code.folder) == code.folder_sha256
    except (CardError, OSError):
        return False
