"""Commands that make runs: run, import, plan, rebuild."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptaudit.cli.app import DEFAULT_AUDIT, AuditName, MaxRequests, MaxUsd, app, console, show, state
from promptaudit.registry.errors import UsageError
from promptaudit.warehouse import Warehouse

if TYPE_CHECKING:
    from promptaudit.audit.run import RunResult


@app.command()
def run(
    audit: AuditName = DEFAULT_AUDIT,
    new: Annotated[bool, typer.Option("--new", help="Ask everything again.")] = False,
    rephrase: Annotated[bool, typer.Option("--rephrase", help="Make the prompt variants again, in a new run.")] = False,
    prompts: Annotated[
        Path | None, typer.Option(help="Ask the prompt variants of this file, which a person edited.")
    ] = None,
    max_usd: MaxUsd = None,
    max_requests: MaxRequests = None,
    askers: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Ask with this many processes at the same time.")
    ] = None,
    work_pool: Annotated[
        str | None, typer.Option(help="Have this work pool of Prefect run the askers; the default is this machine.")
    ] = None,
    pilot: Annotated[
        bool,
        typer.Option(
            "--pilot",
            help="Ask 60 samples under 8 wordings, at most twice, for `plan --target-width`; the next run asks the rest.",
        ),
    ] = False,
    again_errors: Annotated[
        bool,
        typer.Option(
            "--again-errors", help="Ask the cells again that landed as errors, in the same run, and nothing else anew."
        ),
    ] = False,
    answers_only: Annotated[
        bool,
        typer.Option(
            "--answers-only",
            help="Ask and land the answers; the next run without this option asks its judges and makes the figures.",
        ),
    ] = False,
) -> int:
    """Run an audit, publish its tables and write its report.

    An unfinished run is continued. Where the last run is complete, nothing is asked unless --new is given.
    """
    from promptaudit.audit.run import run_audit
    from promptaudit.audit.steps import RunOptions

    if pilot and answers_only:
        msg = "--pilot and --answers-only: a pilot is planned from, so its answers are read; give one of them"
        raise UsageError(msg)
    if again_errors and (new or rephrase or pilot or prompts is not None):
        msg = "--again-errors goes on with a run as it is: --new, --rephrase, --prompts and --pilot are another call"
        raise UsageError(msg)
    settings, registry = state.load(max_usd=max_usd, max_requests=max_requests)
    options = RunOptions(
        new=new,
        rephrase=rephrase,
        prompts=prompts,
        n_askers=askers,
        work_pool=work_pool,
        writes_page=not pilot,
        again_errors=again_errors,
        answers_only=answers_only,
        is_pilot=pilot,
    )
    return _close(Warehouse(settings.warehouse), run_audit(settings, registry, audit, state.progress(), options))


@app.command("import")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Name files of recorded predictions: Parquet, CSV, JSONL, JSON or XLSX with the columns model, sample_id and "
            "completion. What another program wrote is recognised by its content: logs of inspect_ai (.eval, JSON), "
            "lm-evaluation-harness's samples_*.jsonl, promptfoo's output JSON, Label Studio's JSON, HELM's scenario_state.json, "
            "rows of DOVE or every_eval_ever, and the CSV of promptstability. Several files of one task "
            "under different prompts become its prompt variants."
        ),
    ],
    map_: Annotated[
        str | None,
        typer.Option(
            "--map",
            help="Say which column holds what: model='gpt-x',sample_id=id,completion=response.text,gold_label=answer. A "
            "constant stands in quotes, and a.b is b inside of a.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name the model, for files that name none.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Give the labels in order, as a,b,c or as a JSON list. The default is the task card's labels; without a "
            "card they are inferred."
        ),
    ] = None,
    level: Annotated[
        str | None, typer.Option(help="Choose the level of the labels: nominal, ordinal or interval.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Name a task card, or give the task a name.")] = None,
    strategy: Annotated[str, typer.Option(help="Name the strategy of the rows that have none.")] = "simple",
    audit: Annotated[str | None, typer.Option(help="Name the audit; the default is the name of the file.")] = None,
    reader: Annotated[
        str | None,
        typer.Option(
            help="Choose how answers are read: exact, label, label_in_text, first_integer, json_field=FIELD or "
            "regex=PATTERN. The default is the card's reader, or label without a card."
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Say on which scale a program graded the answers, from the worst to the best: 1,10, or 5,1 where 1 is the "
            "best. All scores then count as shares of it.",
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option(help="Choose what follows where too many answers are invalid: warn or fail.")
    ] = "warn",
    resamples: Annotated[
        int, typer.Option(min=0, max=100_000, help="Draw this many resamples for each interval.")
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Seed the resamples with this number.")] = 20250601,
) -> int:
    """Import answers that were recorded elsewhere, as a run.

    The run is then validated, transformed, published and reported as any other.
    """
    from promptaudit.system.helper_processes import CHECKS, DBT, start

    settings = state.settings()
    start(DBT, settings.warehouse.resolve().name)  # they take longest to get ready
    start(CHECKS)
    from promptaudit.cards.task_of_data import split_labels
    from promptaudit.exchange.recorded_runs.import_run import ImportOptions, limits_of, run_import
    from promptaudit.exchange.recorded_runs.program_scores import Scale

    settings, registry = state.load()
    options = ImportOptions(
        labels=split_labels(labels),
        level=level,
        task=task,
        strategy=strategy,
        audit=audit,
        reader=reader,
        mapping=map_,
        model=model,
        scale=None if scale is None else Scale.of(scale),
        format_limits=limits_of(policy),
        resamples=resamples,
        seed=seed,
    )
    return _close(Warehouse(settings.warehouse), run_import(settings, registry, files, options, state.progress()))


def _close(warehouse: Warehouse, result: RunResult) -> int:
    # prints the closing scorecard and the paths of what was written; returns the exit code
    from promptaudit.report import comparison_rows
    from promptaudit.report.summary import summary_of
    from promptaudit.report.terminal.closing import closing_lines, first_lines
    from promptaudit.report.terminal.scorecard import scorecard, scorecard_rows
    from promptaudit.system.display.encode import encoded
    from promptaudit.system.display.progress import visible

    if result.is_pilot or not result.is_derived:
        show(result, result.lines())
        return result.exit_code
    run, text = result.audit_run_id, state.settings().text
    if state.as_json:
        figures = {"scorecard": scorecard_rows(warehouse, run), "rule_against_judge": comparison_rows(warehouse, run)}
        unread = [each.sentence for each in summary_of(warehouse, run, text).unread]
        show({**encoded(result), **figures, "unread": unread})
        return result.exit_code
    width = console().width
    with warehouse.published.connect():
        summary = summary_of(warehouse, run, text)
        show({}, [*first_lines(summary, width), scorecard(warehouse, run, width), *map(visible, result.lines())])
        show({}, closing_lines(summary, width, state.options))
    return result.exit_code


@app.command()
def plan(
    audit: AuditName = DEFAULT_AUDIT,
    export_prompts: Annotated[
        Path | None, typer.Option(help="Write the prompt variants to this CSV or JSONL file, for a person to edit.")
    ] = None,
    below_pss: Annotated[
        float | None,
        typer.Option(
            max=1,
            help="With --export-prompts, write only the unstable wordings of the audit's newest complete run, and the originals "
            "of their tasks. A wording is unstable where the PSS between the wordings of its paraphrase temperature is below "
            "this for one of the models. Once they are edited, `run OTHER --prompts FILE` asks a newer model with them, where "
            "OTHER is an audit of these tasks without rephrasing.",
        ),
    ] = None,
    instead: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="MODEL",
            help="Also say what the work of one audited model would cost with this model, which is a model card or a model of a "
            "provider; the option may be repeated.",
        ),
    ] = None,
    target_width: Annotated[
        float | None,
        typer.Option(
            help="Find the fewest samples, wordings and repetitions that make the 95 % intervals of --measure no wider than "
            "this."
        ),
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(
            help="Find the smallest design with which two nights show a difference of this size in --measure. Where the data is "
            "too small for a pilot, say which difference they show."
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="Name the measure of --target-width or --detect: micro_f1, accuracy, invalid_rate or sensitivity. The "
            "default of --detect is micro_f1."
        ),
    ] = None,
    from_run: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="RUN", help="Plan from this run; the default is the audit's newest run, or its pilot."
        ),
    ] = None,
) -> None:
    """Print what an audit will cost, and make no request.

    It prints the requests, tokens and USD of the audit and of subsamples of it. With --target-width or --detect it says from the
    answers of a run how few samples, wordings and repetitions are enough.
    """
    from promptaudit.plan.estimate import estimate_audit

    if (target_width is not None or detect is not None) and (export_prompts is not None or below_pss is not None):
        msg = "--target-width and --detect plan a design: --export-prompts and --below-pss are another call"
        raise UsageError(msg)
    if below_pss is not None:
        _export_unstable(audit, export_prompts, below_pss)
        return
    if target_width is not None or detect is not None:
        _plan_design(audit, target_width, detect, measure, from_run)
        return
    _refuse_alone(measure=measure, **{"from": from_run})
    settings, registry = state.load()
    if export_prompts is not None:
        from promptaudit.audit.run import export_variants

        n = export_variants(settings, registry, audit, export_prompts, state.progress())
        show({"path": str(export_prompts), "n_variants": n}, [f"{n} prompt variants in {export_prompts}"])
        return
    estimate = estimate_audit(registry, audit, instead or ())
    show(estimate, estimate.table())


def _refuse_alone(**options: object) -> None:
    # these options need a planned design
    for name, value in options.items():
        if value is not None:
            msg = f"--{name} is about a planned design; give --target-width or --detect too"
            raise UsageError(msg)


def _plan_design(
    audit: str, target_width: float | None, detect: float | None, measure: str | None, from_run: str | None
) -> None:
    from promptaudit.plan.least.few_samples import few_samples
    from promptaudit.plan.least.least_design import plan_design

    if target_width is not None and detect is not None:
        msg = "give one of --target-width and --detect"
        raise UsageError(msg)
    for name, value in (("target-width", target_width), ("detect", detect)):
        if value is not None and not 0 < value <= 1:
            msg = f"--{name} {value:g}: a number above 0 and up to 1 is wanted"
            raise UsageError(msg)
    settings, registry = state.load()
    if detect is not None:
        few = few_samples(settings, registry, audit, measure or "micro_f1", detect, from_run=from_run)
        if few is not None:
            show(few, few.lines())
            return
        measure = measure or "micro_f1"
    if measure is None:
        msg = "--target-width is of one measure; give --measure micro_f1, accuracy, invalid_rate or sensitivity"
        raise UsageError(msg)
    plan = plan_design(settings, registry, audit, measure, width=target_width, detect=detect, from_run=from_run)
    show(plan, plan.lines())


def _export_unstable(audit: str, path: Path | None, below: float) -> None:
    from promptaudit.ask.wordings.unstable_prompts import export_unstable

    if path is None:
        msg = "--below-pss chooses what --export-prompts writes; give that too"
        raise UsageError(msg)
    done = export_unstable(state.settings(), audit, path, below)
    tasks = ", ".join(done.tasks)
    line = f"{done.n_variants} prompt variants of {tasks} in {done.path}; an audit of tasks: [{tasks}] may ask them"
    if done.path is None:
        line = f"run {done.audit_run_id} has no PSS between wordings below {below:g}: nothing is written"
    show(done, [line])


@app.command()
def rebuild(
    audit_run_id: Annotated[str | None, typer.Argument(help="Name a run; the default is every run.")] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="First land the raw rows of a retired run again from its archive.")
    ] = False,
) -> int:
    """Derive the marts again from the landed answers, and publish them."""
    from promptaudit.audit.rebuild import rebuild_runs
    from promptaudit.marts.not_derived import EXIT_CODE, lines_of, not_derived

    settings, _ = state.load()
    path = rebuild_runs(settings, audit_run_id, state.progress(), restore_first=restore)
    missing = not_derived(Warehouse(settings.warehouse), audit_run_id or "")
    show({"published": path, "not_derived": missing}, [str(path), *lines_of(missing)])
    return EXIT_CODE if missing else 0
