"""Scaffolds a folder of a user's own cards from the starter that ships, and from a user's data and endpoint."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from promptaudit.cards.new_task import host_of, is_scale
from promptaudit.cards.task_of_data import DataColumns
from promptaudit.cards.task_prompt import TaskPrompt, is_short, needs_judge
from promptaudit.prompts.rephrasers.languages import REWORDED, language_of, unknown_language
from promptaudit.registry.card_schemas import DIALECT, file_schema
from promptaudit.registry.errors import PromptauditError, UsageError
from promptaudit.registry.registry import KINDS, SHIPPED, load_registry
from promptaudit.registry.unpack import ending_of
from promptaudit.registry.write_yaml import write_cards
from promptaudit.system.files import writing
from promptaudit.udfs.scoring.fields import EMPTY, canonical_value

STARTER = SHIPPED / "starter"
NAME = "mine"
KNOWING = ("swayed", "unmoved")
"""Offline models that know the gold values."""
MAX_TOKENS, MAX_TOKENS_OF_SENTENCES = 64, 512
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible endpoint, and the names that the model and its judge have there; None judges with the model."""

    url: str
    model: str
    judge: str | None = None

    def card(self, max_tokens: int = MAX_TOKENS) -> dict[str, Any]:
        """Makes the model's card. An endpoint elsewhere takes its key from OPENAI_API_KEY.

        Raises UsageError for no URL.
        """
        here = host_of(self.url) in LOOPBACK
        card: dict[str, Any] = {"engine": "openai_api", "model": self.model, "base_url": self.url}
        own = {"price": "free"} if here else {"api_key_env": "OPENAI_API_KEY"}
        return {**card, "sampling": {"temperature": 0, "max_tokens": max_tokens}, **own}


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of an audit's cards, by its name, which its files have too."""

    name: str = NAME

    def of(self, what: str) -> str:
        """Makes the id of a card: `my_task` or `my_model` for `mine`, else the name alone for the task."""
        if self.name == NAME:
            return f"my_{what}"
        return self.name if what == "task" else f"{self.name}_{what}"

    @property
    def task_file(self) -> str:
        """Names the file of the task, below the folder of cards."""
        return f"tasks/{self.name}.yml"


def name_taken(folder: Path, name: str, data: Path) -> str | None:
    """Says why an audit of this name, of this data, cannot be added to a folder; None if it can."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}", name):
        return f"--name {name[:80]!r}: letters, digits, _ and - name an audit and its files"
    registry = load_registry([folder]) if has_cards(folder) else load_registry()
    if name in registry.entries["audits"] or Ids(name).of("task") in registry.entries["tasks"]:
        where = f"{folder} has" if has_cards(folder) else "promptaudit ships"
        return f"--name: {where} an audit or a task '{name}' already; --name NAME adds another beside it"
    cards = [path for kind in KINDS for path in folder.glob(f"{kind}/{name}.y*ml")]
    taken = next((path for path in (*cards, *folder.glob(f"datasets/{name}.*")) if not _is_same(path, data)), None)
    return None if taken is None else f"--name: {taken} is there already; --name NAME adds another beside it"


def _is_same(path: Path, data: Path) -> bool:
    return path.exists() and data.exists() and path.samefile(data)


def scaffold_for(
    folder: Path,
    data: Path,
    columns: DataColumns,
    prompt: TaskPrompt,
    endpoint: Endpoint | None,
    name: str = NAME,
) -> tuple[list[Path], list[str]]:
    """Writes the cards of an audit of a user's data, a copy of it, and an endpoint as the model.

    Data that lies where its copy would is not copied. Into a
    folder without cards the starter is written before; beside others' cards, the audit's own alone. Without an
    endpoint the offline models are audited. A complete prompt is asked under the strategy that adds nothing. Lists the
    files written and remarks for the user. Raises UsageError for a name that is taken and for questions that no model of
    the audit could answer or nobody could judge.
    """
    if (taken := name_taken(folder, name, data)) is not None:
        raise UsageError(taken)
    remarks: list[str] = []
    is_new = not has_cards(folder)
    is_known = Ids(name).of("rephraser") in _known_rephrasers(folder, endpoint)
    cards = _cards(data, columns, prompt, endpoint, Ids(name), remarks, has_rephraser=is_known)
    written = scaffold(folder, name) if is_new else []
    copy = folder / "datasets" / f"{name}{ending_of(data)}"
    for unused in [path for path in written if path.parent == copy.parent and path != copy]:
        unused.unlink()  # the starter's own data, in another form than the user's
        written.remove(unused)
    added = [*(folder / place for place in cards), *([] if _is_same(copy, data) else [copy])]
    try:
        if copy in added:
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(data, copy)
        for place, body in cards.items():
            _write(folder / place, body)
        load_registry([folder])
    except (PromptauditError, OSError):
        if is_new:
            shutil.rmtree(folder)  # it was not there or empty, and half of it is of no use
        for path in () if is_new else added:
            path.unlink(missing_ok=True)
        raise
    return list(dict.fromkeys([*written, *added])), remarks


def _known_rephrasers(folder: Path, endpoint: Endpoint | None) -> Collection[str]:
    # a model's are written over the starter's
    if has_cards(folder):
        return load_registry([folder]).entries["rephrasers"]
    return () if endpoint is not None else load_registry([STARTER]).entries["rephrasers"]


def _cards(
    data: Path,
    columns: DataColumns,
    prompt: TaskPrompt,
    endpoint: Endpoint | None,
    ids: Ids,
    remarks: list[str],
    *,
    has_rephraser: bool,
) -> dict[str, dict[str, Any]]:
    # by file
    task, name = ids.of("task"), ids.name
    cards = {ids.task_file: {task: _task(data, columns, prompt, ids, remarks)}}
    if prompt.template is not None:
        cards[f"templates/{name}.yml"] = {task: {"kind": columns.kind, "templates": [dict(prompt.template)]}}
    rephrasers: dict[str, Any] = {} if has_rephraser else {ids.of("rephraser"): {"kind": "rules"}}
    audit = _audit(columns, prompt, endpoint, ids)
    if endpoint is not None:
        cards[f"models/{name}.yml"] = {ids.of("model"): endpoint.card(_max_tokens(columns))}
        rephrasers[ids.of("model_rephraser")] = {"kind": "model", "model": ids.of("model")}
    if (language := _unknown_language(columns, prompt)) is not None:
        if endpoint is None:
            msg = f"--instruction: {unknown_language(language, ids.of('rephraser'))}; --url and --model write one"
            raise UsageError(msg)
        audit["rephrasing"]["rephraser"] = ids.of("model_rephraser")
        remarks.append(
            f"the prompt is in {language}, which no rules reword: your model rewords it ({ids.of('model_rephraser')})"
        )
    if rephrasers:
        cards[f"rephrasers/{name}.yml"] = rephrasers
    judge = _judge(columns, endpoint, ids, remarks) if needs_judge(columns) else {}
    if judge:
        cards[f"judges/{name}.yml"] = {ids.of("judge"): judge}
        audit["judges"] = [ids.of("judge")]
    if endpoint is not None and judge.get("model") == ids.of("judge_model"):
        of_judge = replace(endpoint, model=str(endpoint.judge)).card(MAX_TOKENS_OF_SENTENCES)
        cards[f"models/{name}.yml"][ids.of("judge_model")] = of_judge
    cards[f"audits/{name}.yml"] = {name: audit}
    return cards


def _max_tokens(columns: DataColumns) -> int:
    is_long = columns.kind == "open_ended" and not (columns.references and is_short(columns.references))
    return MAX_TOKENS_OF_SENTENCES if is_long or columns.fields else MAX_TOKENS


def _unknown_language(columns: DataColumns, prompt: TaskPrompt) -> str | None:
    language = language_of(prompt.instruction, (*columns.labels, *columns.fields))
    return None if language is None or language in REWORDED else language


def _task(data: Path, columns: DataColumns, prompt: TaskPrompt, ids: Ids, remarks: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {"path": f"datasets/{ids.name}{ending_of(data)}", "input": columns.input}
    fields |= {} if columns.id is None else {"id": columns.id}
    fields |= {"columns": dict(prompt.columns)} if prompt.columns else {}
    gold: dict[str, Any] = {} if columns.gold_label is None else {"gold_label": columns.gold_label}
    gold |= {"gold_labels": dict(columns.gold_labels)} if columns.gold_labels else {}
    if columns.kind == "open_ended":
        references = {} if columns.gold_label is None else {"references": [columns.gold_label]}
        scoring = _scoring(columns)
        shown = ", ".join(
            [*scoring["scoring"], *(f"{key} {value}" for key, value in scoring.items() if key != "scoring")]
        )
        if references:
            remarks.append(f"answers are scored against '{columns.gold_label}' ({shown}; in {ids.task_file})")
        return {"kind": "open_ended", "templates": ids.of("task"), **scoring, "data": fields | references}
    if columns.kind == "multiple_choice":
        labels = {"labels": list(columns.labels)} if len(columns.options) == 1 else {}
        fields |= {**gold, "options": list(columns.options)}
        return {"kind": "multiple_choice", "templates": ids.of("task"), **labels, "data": fields}
    if columns.fields:
        body: dict[str, Any] = {
            "kind": "extraction",
            "fields": {name: _field(each) for name, each in columns.fields.items()},
        }
    else:
        body = {"kind": "classification", "labels": list(columns.labels)}
        if is_scale(prompt.instruction, columns.labels):
            body["level"] = "interval"
            remarks.append(f"the labels are a scale, as the prompt names its ends (level: interval in {ids.task_file})")
    return {**body, **prompt.fields, "data": fields | gold}


def _scoring(columns: DataColumns) -> dict[str, Any]:
    if columns.references and all(
        canonical_value(each, {"rule": "number"}) not in (None, EMPTY) for each in columns.references
    ):
        return {"scoring": ["number"]}
    is_named = bool(columns.references) and is_short(columns.references)
    return {"scoring": ["token_f1"], **({"token_f1_threshold": 0.5} if is_named else {})}


def _judge(columns: DataColumns, endpoint: Endpoint | None, ids: Ids, remarks: list[str]) -> dict[str, Any]:
    # for long references or none; without a model nobody rules
    has_references = columns.gold_label is not None
    if endpoint is None and not has_references:
        msg = (
            "--gold: no column has reference answers, so no offline model can answer and nobody can judge: name one, or a "
            "model, which judges too: --url, --model"
        )
        raise UsageError(msg)
    if endpoint is None:
        remarks.append("long answers are better judged than counted: --url and --model of a model write its judge too")
        return {}
    is_other = endpoint.judge not in (None, endpoint.model)
    remarks.append(
        f"'{ids.of('judge')}' judges with {endpoint.judge}"
        if is_other
        else f"'{ids.of('judge')}' judges with the audited model; name a stronger one as its `model` in judges/{ids.name}.yml"
    )
    return {
        "model": ids.of("judge_model" if is_other else "model"),
        **({} if has_references else {"references": "none"}),
    }


def _audit(columns: DataColumns, prompt: TaskPrompt, endpoint: Endpoint | None, ids: Ids) -> dict[str, Any]:
    card: dict[str, Any] = yaml.safe_load((STARTER / "audits/mine.yml").read_text(encoding="utf-8"))[NAME]
    card |= {"tasks": [ids.of("task")]}
    card["rephrasing"]["rephraser"] = ids.of("rephraser")
    is_known = columns.kind != "classification"  # the other offline models answer with labels
    if endpoint is not None:
        card["models"] = [ids.of("model")]
    elif is_known:
        card["models"] = list(KNOWING)
    if prompt.is_complete or endpoint is not None or is_known:
        card["strategies"] = ["simple"]
    if prompt.template is not None:
        card["rephrasing"]["templates"] = True
    return card


def _field(body: Mapping[str, Any]) -> object:
    return body["rule"] if len(body) == 1 else dict(body)


def _write(path: Path, cards: dict[str, Any]) -> None:
    # under a first line that names the schema
    path.parent.mkdir(exist_ok=True)
    write_cards(path, cards, f"# yaml-language-server: $schema=../schemas/{path.parent.name}.json")


def scaffold(folder: Path, name: str = NAME) -> list[Path]:
    """Copies the starter cards into `folder`, with the schemas of card files that they name for editors.

    An audit of another name needs the starter's models alone. Lists the files written. Raises UsageError for a folder
    that holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = f"{folder} is there already and not empty; name another folder"
        raise UsageError(msg)
    with writing(folder, kind=UsageError):
        written = [*_copied_cards(folder, "*" if name == NAME else "models"), *write_schemas(folder)]
    load_registry([folder])
    return written


def _copied_cards(folder: Path, kinds: str) -> Iterator[Path]:
    for source in sorted(path for path in STARTER.glob(f"{kinds}/*") if path.is_file()):
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
