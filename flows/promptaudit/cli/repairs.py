"""Commands from figure to fix: diagnose, choose, try."""

from __future__ import annotations

from typing import Annotated

import typer

from promptaudit.cli.app import (
    DEFAULT_AUDIT,
    AuditName,
    MaxRequests,
    MaxUsd,
    ModelOption,
    RunName,
    StrategyOption,
    TaskOption,
    app,
    show,
    state,
)
from promptaudit.registry.errors import UsageError
from promptaudit.warehouse import Warehouse


@app.command()
def diagnose(
    run: RunName = "latest",
    model: ModelOption = None,
    task: TaskOption = None,
    strategy: StrategyOption = None,
    top: Annotated[int, typer.Option(min=1, help="Show at most this many entries of each list.")] = 10,
    text: Annotated[
        str | None,
        typer.Option(
            help="Choose how much of the texts is shown: none, excerpt or full. The default is excerpt, and none of tasks marked "
            "sensitive."
        ),
    ] = None,
) -> None:
    """List the samples, groups and labels that stand out in a run.

    These are sensitive samples, inconsistent groups, confused labels, and formats that were not kept.
    """
    from dataclasses import replace

    from promptaudit.query.diagnosis.diagnose import diagnose as diagnosis_of
    from promptaudit.query.diagnosis.terminal import lines_of

    settings = state.settings()
    shown = state.text(text)
    diagnosis = diagnosis_of(Warehouse(settings.warehouse), run, model=model, task=task, strategy=strategy, text=shown)
    printed = replace(diagnosis, samples=diagnosis.samples[:top], confusions=diagnosis.confusions[:top])
    show(printed, lines_of(diagnosis, top, state.options))


@app.command()
def choose(
    run: RunName = "latest",
    model: ModelOption = None,
    task: TaskOption = None,
    strategy: StrategyOption = None,
    top: Annotated[int, typer.Option(min=1, help="Show at most this many wordings of each group.")] = 5,
    write: Annotated[bool, typer.Option("--write", help="Write the card of the task with the better wording.")] = False,
    try_: Annotated[
        int | None, typer.Option("--try", min=1, help="Ask that wording and the original on this many fresh samples.")
    ] = None,
    max_usd: MaxUsd = None,
) -> None:
    """Say which wording of a prompt to ship.

    It says how right each wording is, and what the best one gains on samples that did not choose it.
    """
    from dataclasses import replace

    from promptaudit.query.choice.choose import choose as choices_of
    from promptaudit.query.choice.write_card import write_card

    if write and try_ is not None:
        msg = "give one of --write and --try: first try the wording, then write its card"
        raise UsageError(msg)
    choices = choices_of(Warehouse(state.settings().warehouse), run, model=model, task=task, strategy=strategy)
    if try_ is not None:
        from promptaudit.trial.run import try_change
        from promptaudit.trial.wording import options_of

        settings, registry = state.load(max_usd=max_usd)
        trial = try_change(settings, registry, options_of(choices, try_), state.progress())
        show(trial, trial.lines())
        return
    if write:
        _, registry = state.load()
        choices = replace(choices, written=write_card(registry, choices.only))
    nothing = ["", "nothing is written: no wording is better"] if write and choices.written is None else []
    show(choices, [*choices.lines(top), *nothing])


@app.command("try")
def try_(
    audit: AuditName = DEFAULT_AUDIT,
    on: Annotated[
        str,
        typer.Option(
            help="Choose the samples: worst:N, least_consistent:N, group:K of diagnose, fresh:N not asked yet, all, or ID,ID."
        ),
    ] = "worst:20",
    add: Annotated[str | None, typer.Option(help="Add this text to the end of every variant's instruction.")] = None,
    edited: Annotated[
        bool, typer.Option("--edited", help="Try the card of the task as it is now, in place of --add.")
    ] = False,
    task: TaskOption = None,
    model: ModelOption = None,
    strategy: StrategyOption = None,
    control: Annotated[
        bool,
        typer.Option(
            "--control/--no-control",
            help="Ask the unchanged prompts again beside the changed ones, and once more with a filler.",
        ),
    ] = True,
    filler: Annotated[
        str | None, typer.Option(help="Take this text without meaning as the filler; the default is one in English.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the cost and ask nothing.")] = False,
    max_usd: MaxUsd = None,
    max_requests: MaxRequests = None,
) -> None:
    """Try a change of a prompt on a few samples of the newest run.

    It says how the answers were before the change and are after it, with intervals.
    """
    from promptaudit.trial.arms import FILLER
    from promptaudit.trial.base_run import EVERY
    from promptaudit.trial.plan import TrialOptions, plan_trial
    from promptaudit.trial.run import try_change

    settings, registry = state.load(max_usd=max_usd, max_requests=max_requests)
    # all samples were not chosen for their answers: unchanged prompts beside them are control enough
    beside = (FILLER if filler is None and on != EVERY else filler) if control else None
    options = TrialOptions(
        audit=audit, on=on, added=add, edited=edited, task=task, model=model, strategy=strategy, filler=beside
    )
    if plan:
        from promptaudit.trial.estimate import estimate

        priced = estimate(plan_trial(settings, registry, options), settings.max_usd)
        show(priced, priced.table())
        return
    trial = try_change(settings, registry, options, state.progress())
    show(trial, trial.lines())
