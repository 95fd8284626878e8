"""Writes what a terminal shows last of a run: what is worst, an example of it, and the next command."""

from __future__ import annotations

import shlex
import textwrap
from typing import TYPE_CHECKING

from promptaudit.gate.alerts.links import runbook_links
from promptaudit.gate.outcome import Flip
from promptaudit.system.display.figures import cut, shown

if TYPE_CHECKING:
    from promptaudit.report.summary import Summary
    from promptaudit.report.summary_example import Example, ExampleAnswer
    from promptaudit.report.summary_worst import Worst
    from promptaudit.system.settings import Settings
    from promptaudit.warehouse import Warehouse

SHORT = 60  # characters of a name or an answer
BREAK = " \\"  # a shell reads on behind it
MOVED = ("regressed", "changed", "improved")
MOST_CAUSES = 2  # in the terminal; the page has all
NAME = 11  # characters before the text, as of the lines that say where a run's files are
RUNBOOKS = {1: "gate_failed", 3: "could_not_measure"}  # by the exit code of a gate


def first_lines(summary: Summary, width: int) -> list[str]:
    """Lists the lines that go before any figure: which answers could not be read, and which reader would read them."""
    return [line for sentence in summary.first for line in _wrapped("unread", sentence, width)]


def closing_lines(summary: Summary, width: int, options: str = "") -> list[str]:
    """Lists the closing lines, none wider than `width`.

    A long command continues after a backslash, as a shell reads it.

    The next command ends with `options`, which say where it looks.
    """
    moved = [cause.sentence for cause in summary.causes if cause.kind in MOVED]
    said = {
        "changed": moved[:MOST_CAUSES],
        "readers": summary.read_differently,
        "breaks": summary.breaking,
        "worst": [] if summary.worst is None else [_worst(summary.worst)],
        "example": [] if summary.example is None else [_example(summary.example)],
        "better": [] if summary.better is None else [summary.better],
        "unread": [each.sentence for each in summary.unread if not each.groups],
    }
    lines = [line for name, sentences in said.items() for each in sentences for line in _wrapped(name, each, width)]
    return [*first_lines(summary, width), *lines, *_typed("next", summary.next_command + options, width)]


def runbook_lines(warehouse: Warehouse, settings: Settings, exit_code: int) -> list[str]:
    """Links to the page that says what to do where a gate ends with this code; no line without such a page."""
    name = RUNBOOKS.get(exit_code, "")
    link = runbook_links(warehouse, settings).get(name)
    return [] if link is None else [f"RUNBOOK     {link if settings.report_url else warehouse.places.runbook(name)}"]


def flip_in_words(warehouse: Warehouse, audit_run_id: str) -> Flip | None:
    """Describes a sample with other answers than on a normal night, of what regressed most; None without one."""
    from promptaudit.report.summary import summary_of

    example = summary_of(warehouse, audit_run_id).example
    if example is None or not example.is_of_nights:
        return None
    of = ", ".join(cut(name, SHORT) for name in (example.model_id, example.task_id, example.strategy))
    return Flip(example.model_id, f"{of}: {_example(example)}")


def _worst(worst: Worst) -> str:
    sentence = f"{worst.group}: {worst.label} {worst.printed}"
    if worst.wording is None:
        return sentence
    wording, said = worst.wording.wording, worst.wording.said
    return f"{sentence}; {said}" if wording is None else f"{sentence}; its worst prompt is {wording.name}: {said}"


def _example(example: Example) -> str:
    first, second = (_answered(answer, example.field) for answer in example.answers)
    sample = f"sample {cut(example.sample_id, SHORT)}{'' if example.field is None else f', field {example.field},'}"
    gold = "" if example.gold_label is None else f"; right is {example.gold_label}"
    return f"{sample} is {first} and {second}{gold}"


def _answered(answer: ExampleAnswer, field: str | None) -> str:
    said = "no label" if answer.completion is None else f'"{cut(answer.completion, SHORT)}"'
    if field is not None and not answer.completion:
        said = "nothing" if answer.completion == "" else "right" if answer.is_correct else "wrong"
    return f"{answer.label or said} with {answer.wording.name}{answer.side and ' '}{answer.side}"


def _wrapped(name: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=f"{name:{NAME}}", subsequent_indent=" " * NAME)


def _typed(name: str, command: str, width: int) -> list[str]:
    # the command breaks only between its words, so that quoted words stay whole
    first, *words = map(shlex.quote, shlex.split(command))
    lines = [f"{name:{NAME}}{first}"]
    for word in words:
        if len(lines[-1]) + len(word) + len(" " + BREAK) > width:
            lines[-1] += BREAK
            lines.append(f"{' ' * (NAME + 2)}{word}")
        else:
            lines[-1] += f" {word}"
    return list(map(shown, lines))
