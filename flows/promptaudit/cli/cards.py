"""Commands about cards: validate, init, trust."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptaudit.cli.app import app, show, state
from promptaudit.registry.errors import UsageError

if TYPE_CHECKING:
    from promptaudit.cards.new_task import TaskRequest


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
    judge: Annotated[
        str | None,
        typer.Option(help="Name the model at --url that judges open answers; the default is the audited one."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name the audit and its files; the default is mine. It is added to a folder of cards."),
    ] = None,
    input_: Annotated[str | None, typer.Option("--input", help="Name the column of the text.")] = None,
    gold: Annotated[
        str | None, typer.Option(help="Name the column of the gold label or of the reference answers; - is for none.")
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Name the column of the id; - is for the row's number.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Choose the kind of task: classification, multiple_choice, open_ended or extraction."),
    ] = None,
) -> None:
    """Write the cards of an audit of your own, ready to be run.

    They are a model, a task with data, a rephraser and an audit. With --data the task is made of your texts: at a terminal
    it says what it found and asks for what it cannot know, and each option answers one question. Without --data, in a
    folder that holds cards, it only writes the JSON Schemas of this version for editors.
    """
    from promptaudit.cards.new_cards import has_cards, scaffold, write_schemas

    if (url is None) != (model is None):
        msg = "--url and --model go together: the endpoint, and the model's name there"
        raise UsageError(msg)
    if labels is not None and fields is not None:
        msg = "--labels and --fields: a task has labels or fields, so give one of the two"
        raise UsageError(msg)
    of_data = {"labels": labels, "fields": fields, "instruction": instruction, "messages": messages, "url": url}
    of_data["judge"] = judge
    of_data |= {"input": input_, "gold": gold, "id": id_, "kind": kind, "name": name}
    if data is None and any(each is not None for each in of_data.values()):
        msg = f"{', '.join(f'--{each}' for each in of_data)} and --model go with --data, a file of yours"
        raise UsageError(msg)
    lines: tuple[str, ...] = ()
    next_step = _next_step(folder, "mine")
    if data is None and has_cards(folder):
        written, next_step = write_schemas(folder), f"the cards in {folder} stay as they are"
    elif data is None:
        written = scaffold(folder)
    else:
        from promptaudit.cards.new_task import TaskRequest

        request = TaskRequest(data=data, model=model, **of_data)  # type: ignore[arg-type]
        written, lines, name = _written_for(folder, request)
        next_step = _next_step(folder, name)
    paths = [str(path) for path in written]
    show({"written": paths, "notes": lines}, [*paths, *lines, next_step])


def _written_for(folder: Path, request: TaskRequest) -> tuple[list[Path], tuple[str, ...], str]:
    from promptaudit.cards.new_cards import NAME, Endpoint, Ids, name_taken, scaffold_for
    from promptaudit.cards.new_task import converse, task_of
    from promptaudit.system.display.progress import visible

    progress = state.progress()
    name = request.name or NAME
    if progress.can_ask:
        while request.name is None and (taken := name_taken(folder, name, request.data)) is not None:
            progress.say(taken)
            name = progress.ask("a name for the audit", request.data.stem)
        request = converse(request, progress.ask, progress.say, Ids(name).task_file)
    choose = progress.choose_text if progress.can_ask else None
    columns, prompt = task_of(request, Ids(name).task_file, choose)
    endpoint = None
    if request.url is not None and request.model is not None:
        endpoint = Endpoint(url=request.url, model=request.model, judge=request.judge)
    written, remarks = scaffold_for(folder, request.data, columns, prompt, endpoint, name)
    lines = (f"{request.data.name}: {columns.sentence}", *columns.notes, *prompt.lines, *remarks)
    return written, tuple(map(visible, lines)), name


def _next_step(folder: Path, name: str) -> str:
    where = "" if folder == Path("registry") else f" --registry {shlex.quote(str(folder))}"
    return f"next: promptaudit run {name}{state.options}{where}"


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
