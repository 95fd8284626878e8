"""Scaffolds a folder of a user's own cards from the starter that ships, and from a user's data and endpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from promptaudit.cards.task_of_data import DataColumns
from promptaudit.cards.task_prompt import TaskPrompt
from promptaudit.registry.card_schemas import DIALECT, file_schema
from promptaudit.registry.errors import PromptauditError, UsageError
from promptaudit.registry.registry import KINDS, SHIPPED, load_registry
from promptaudit.registry.unpack import ending_of
from promptaudit.registry.write_yaml import write_cards
from promptaudit.system.files import writing

STARTER = SHIPPED / "starter"
TASK, MODEL = "my_task", "my_model"
KNOWING = ("swayed", "unmoved")
"""Offline models that know the gold values."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible endpoint, and the name that a model has there."""

    url: str
    model: str

    def card(self) -> dict[str, Any]:
        """Makes the model's card. An endpoint elsewhere takes its key from OPENAI_API_KEY.

        Raises UsageError for no URL.
        """
        here = _host_of(self.url) in LOOPBACK
        card: dict[str, Any] = {"engine": "openai_api", "model": self.model, "base_url": self.url}
        own = {"price": "free"} if here else {"api_key_env": "OPENAI_API_KEY"}
        return {**card, "sampling": {"temperature": 0, "max_tokens": 64}, **own}


def _host_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts.hostname
    except ValueError:  # an impossible address or port
        pass
    msg = f"--url {url[:200]!r}: not an http or https address such as http://127.0.0.1:8000/v1"
    raise UsageError(msg)


def scaffold_for(
    folder: Path, data: Path, columns: DataColumns, prompt: TaskPrompt, endpoint: Endpoint | None
) -> list[Path]:
    """Writes the starter's cards with a copy of a user's data as the task and an endpoint as the model.

    Without an endpoint the offline models are audited. A complete prompt is asked under the strategy that adds nothing.
    Lists the files written.
    """
    model = None if endpoint is None else endpoint.card()
    written = scaffold(folder)
    try:
        copied = _put_in(folder, data, columns, prompt, model)
        load_registry([folder])
    except (PromptauditError, OSError):
        shutil.rmtree(folder)  # it was not there or empty, and half of it is of no use
        raise
    return [*written, *(() if copied in written else (copied,))]


def _put_in(folder: Path, data: Path, columns: DataColumns, prompt: TaskPrompt, model: dict[str, Any] | None) -> Path:
    copied = folder / "datasets" / f"mine{ending_of(data)}"
    shutil.copyfile(data, copied)
    fields: dict[str, Any] = {"path": f"datasets/{copied.name}", "input": columns.input}
    fields |= {name: getattr(columns, name) for name in ("id", "gold_label") if getattr(columns, name) is not None}
    fields |= {"columns": dict(prompt.columns)} if prompt.columns else {}
    of_labels = {"kind": "classification", "labels": list(columns.labels)}
    of_fields = {"kind": "extraction", "fields": {name: _field(body) for name, body in columns.fields.items()}}
    task = {**(of_fields if columns.fields else of_labels), **prompt.fields, "data": fields}
    _rewrite(folder / "tasks/mine.yml", {TASK: task})
    if model is not None:
        _rewrite(folder / "models/mine.yml", {MODEL: model})
        rephrasers = {"my_rephraser": {"kind": "rules"}, "my_model_rephraser": {"kind": "model", "model": MODEL}}
        _rewrite(folder / "rephrasers/mine.yml", rephrasers)
    changes: dict[str, Any] = {} if model is None else {"models": [MODEL]}
    if columns.fields and model is None:
        changes["models"] = list(KNOWING)  # the others answer with labels
    if prompt.is_complete or model is not None or columns.fields:
        changes["strategies"] = ["simple"]
    if changes:
        _rewrite_audit(folder / "audits/mine.yml", changes)
    return copied


def _field(body: Mapping[str, Any]) -> object:
    return body["rule"] if len(body) == 1 else dict(body)


def _rewrite_audit(path: Path, changes: dict[str, Any]) -> None:
    card: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["mine"]
    _rewrite(path, {"mine": {**card, **changes}})


def _rewrite(path: Path, cards: dict[str, Any]) -> None:
    # under the file's first line, which names the schema
    first = path.read_text(encoding="utf-8").splitlines()[0]
    write_cards(path, cards, first)


def scaffold(folder: Path) -> list[Path]:
    """Copies the starter cards into `folder`, with the schemas of card files that they name for editors.

    Lists the files written. Raises UsageError for a folder that holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = f"{folder} is there already and not empty; name another folder"
        raise UsageError(msg)
    with writing(folder, kind=UsageError):
        written = [*_copied_cards(folder), *write_schemas(folder)]
    load_registry([folder])
    return written


def _copied_cards(folder: Path) -> Iterator[Path]:
    for source in sorted(path for path in STARTER.rglob("*") if path.is_file()):
        target = folder / source.relative_to(STARTER)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        yield target


def has_cards(folder: Path) -> bool:
    """Checks whether a folder holds files of cards already."""
    return any(path for kind in KINDS for ending in ("yml", "yaml") for path in folder.glob(f"{kind}/**/*.{ending}"))


def write_schemas(folder: Path) -> list[Path]:
    """Writes the JSON Schemas of this version into `schemas` below a folder of cards, over an earlier version's.

    Raises UsageError if a file of another kind would be lost, or the folder leads elsewhere.
    """
    schemas = folder / "schemas"
    if schemas.is_symlink():
        msg = f"{schemas} is a link; remove it, and the schemas are written into a folder of their own"
        raise UsageError(msg)
    schemas.mkdir(exist_ok=True)
    written = [schemas / f"{kind}.json" for kind in KINDS]
    for path in written:
        if path.is_file() and not path.is_symlink() and DIALECT not in path.read_text("utf-8", "replace"):
            msg = f"{path} is no JSON Schema of promptaudit; move it away, and init writes one there"
            raise UsageError(msg)
    for path in written:
        path.unlink(missing_ok=True)  # a link in its place would lead out of the folder
        path.write_text(json.dumps(file_schema(path.stem), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return written
