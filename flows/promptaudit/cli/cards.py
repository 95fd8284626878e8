"""Commands about cards: validate, init, trust."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptaudit.cli.app import app, show, state
from promptaudit.registry.errors import UsageError

if TYPE_CHECKING:
    from promptaudit.cards.task_of_data import DataColumns
    from promptaudit.cards.task_prompt import TaskPrompt


@app.command()
def validate(
    audit: Annotated[str | None, typer.Argument(help="Name the card of an audit; the default is every card.")] = None,
) -> None:
    """Check cards and the data that they name.

    Every error is listed, each with its file and line.
    """
    from promptaudit.cards.check_cards import check_cards, lines_of_refusals

    _, registry = state.load()
    check = check_cards(registry, audit)
    show(check, [*check["notes"], *lines_of_refusals(check["run_refuses"]), check["summary"]])


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Put the cards into this folder.")] = Path("registry"),
    *,
    data: Annotated[
        Path | None, typer.Option(help="Make the task from the rows of this CSV, JSONL, Parquet or XLSX file.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Give the labels of the task as a,b,c or as a JSON list; the default is what the gold column holds."
        ),
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(
            help="Name the columns of --data that answers have as fields of JSON: a,b,c. The default is the fields that the "
            "prompt asks for."
        ),
    ] = None,
    instruction: Annotated[
        str | None,
        typer.Option(
            help="Give the instruction of your prompt: the part that is rephrased. With --messages it is a part of those."
        ),
    ] = None,
    messages: Annotated[
        Path | None,
        typer.Option(
            help="Read your chat prompt from this file, JSON or YAML in OpenAI's form, with {column} for columns of --data."
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Ask at this OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name the model that is served at --url.")] = None,
) -> None:
    """Write the cards of an audit of your own, ready to be run.

    They are a model, a task with data, a rephraser and an audit. With --data the task is made of your texts. In a folder that
    holds cards, it only writes the JSON Schemas of this version for editors.
    """
    from promptaudit.cards.new_cards import Endpoint, has_cards, scaffold, scaffold_for, write_schemas

    if (url is None) != (model is None):
        msg = "--url and --model go together: the endpoint, and the model's name there"
        raise UsageError(msg)
    if data is None and any(each is not None for each in (labels, fields, instruction, messages, url)):
        msg = "--labels, --fields, --instruction, --messages, --url and --model go with --data, a file of yours"
        raise UsageError(msg)
    if labels is not None and fields is not None:
        msg = "--labels and --fields: a task has labels or fields, so give one of the two"
        raise UsageError(msg)
    lines: tuple[str, ...] = ()
    next_step = _next_step(folder)
    if data is None and has_cards(folder):
        written, next_step = write_schemas(folder), f"the cards in {folder} stay as they are"
    elif data is None:
        written = scaffold(folder)
    else:
        columns, prompt = _task_of(data, labels, fields, instruction, messages)
        endpoint = None if url is None or model is None else Endpoint(url=url, model=model)
        written = scaffold_for(folder, data, columns, prompt, endpoint)
        lines = (f"{data.name}: {columns.sentence}", *columns.notes, *prompt.lines)
    paths = [str(path) for path in written]
    show({"written": paths, "notes": lines}, [*paths, *lines, next_step])


def _task_of(
    data: Path, labels: str | None, fields: str | None, instruction: str | None, messages: Path | None
) -> tuple[DataColumns, TaskPrompt]:
    from promptaudit.cards.fields_of_data import columns_of_fields, fields_asked_for
    from promptaudit.cards.placeholder_names import names_in_braces
    from promptaudit.cards.read_prompt import read_prompt
    from promptaudit.cards.task_of_data import columns_of, split_labels
    from promptaudit.cards.task_prompt import prompt_of_chat, prompt_of_fields, prompt_of_instruction

    chat = None if messages is None else read_prompt(messages)
    put_in = frozenset[str]() if chat is None else names_in_braces(chat)
    prompt = (("user", instruction or ""),) if chat is None else chat.messages
    named = split_labels(fields, "--fields")
    asked = named or (() if labels else fields_asked_for(data, prompt, put_in))
    columns = columns_of_fields(data, asked, put_in) if asked else columns_of(data, split_labels(labels), put_in)
    if chat is not None:
        progress = state.progress()
        choose = progress.choose_text if progress.can_ask else None
        is_recognised = bool(columns.fields) and not named
        return columns, prompt_of_chat(chat, columns, instruction, choose, is_recognised=is_recognised)
    if columns.fields:
        return columns, prompt_of_fields(instruction, tuple(columns.fields), is_recognised=not named)
    return columns, prompt_of_instruction(instruction, columns.labels)


def _next_step(folder: Path) -> str:
    where = "" if folder == Path("registry") else f" --registry {shlex.quote(str(folder))}"
    return f"next: promptaudit run mine{state.options}{where}"


@app.command()
def trust(
    folder: Annotated[Path, typer.Argument(help="Name the folder of the cards.")] = Path("registry"),
    list_: Annotated[
        bool, typer.Option("--list", help="List everything that is trusted, and trust nothing more.")
    ] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Withdraw the trust in the folder.")] = False,
) -> None:
    """Let a folder's cards send keys to their hosts and run their code.

    The folder is trusted once, and again when the hosts or the code change.
    """
    from promptaudit.cards.trust.command import forget_folder, list_trusted, trust_folder

    settings = state.settings()
    if list_ and forget:
        msg = "give one of --list and --forget"
        raise UsageError(msg)
    act = forget_folder if forget else trust_folder
    done = list_trusted(settings) if list_ else act(settings, folder)
    show(done, done.lines())
