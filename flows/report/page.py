"""Renders the gathered figures as one self-contained HTML page and puts it into place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from flows.report import guide, identity
from flows.report.agreement import agreement
from flows.report.answers import accuracy, formats
from flows.report.blocks import Budget, Row, Section
from flows.report.disagreements import disagreements
from flows.report.gate import gate
from flows.report.gather import Gathered
from flows.report.rankings import rankings
from flows.report.samples import samples
from flows.report.scoring import scoring
from flows.report.sensitivity import consistency, sensitivity
from flows.report.stability import paraphrase, repetition
from flows.report.text import NAME, count, cut, interval, number, percent, shown, usd, when
from flows.report.trend import trend
from models_registry.errors import WarehouseError

TEMPLATE = "report.html.j2"
MOST_SCORECARD = 1000


def render(found: Gathered) -> str:
    """The page as text. Data reach the template as values: escaped, made visible, isolated; never as markup."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, loader=jinja2.FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    filters: dict[str, Callable[..., Any]] = {
        "said": said, "name": name, "number": number, "interval": interval, "percent": percent, "usd": usd,
        "count": count,
        "when": when, "range_bar": range_bar, "width": width,
    }  # fmt: skip
    environment.filters.update(filters)
    budget = Budget(len({row["task_id"] for row in found.scorecard}))
    judged = judged_sections(found)
    n_first = 1 if found.judged.comparisons else 0  # what a run with judges was made for
    over_nights = trend(found)
    sections = [
        *over_nights, *judged[n_first:],
        sensitivity(found, budget), consistency(found, budget), repetition(found, budget), paraphrase(found, budget),
        formats(found, budget), accuracy(found, budget),
    ]  # fmt: skip
    return environment.get_template(TEMPLATE).render(
        run=found.run,
        title=cut(found.run["audit_id"], NAME),
        scorecard=found.scorecard[:MOST_SCORECARD],
        n_scorecard=len(found.scorecard),
        summary=summary(found),
        first=judged[:n_first],
        sections=sections,
        samples=samples(found),
        gate=gate(found),
        facts=identity.facts(found),
        identity_tables=identity.tables(found),
        measures=(*guide.MEASURES, *(guide.NIGHTS if over_nights else ()), *(guide.SCORING if judged else ())),
        conventions=guide.CONVENTIONS,
    )


def judged_sections(found: Gathered) -> list[Section]:
    """The sections on scoring and judges that this run has something for."""
    sections = [scoring(found), rankings(found), agreement(found), disagreements(found)]
    return [section for section in sections if section.blocks]


def write(page: str, path: Path) -> Path:
    """Writes beside, then renames: a reader sees the old page or the new one, and only its owner sees either."""
    draft = path.with_name(path.name + ".new")
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        msg = f"{path}: cannot be written: {error.strerror}"
        raise WarehouseError(msg) from None
    return path


def said(text: str) -> Markup:
    """Somebody's words: escapes for what is invisible, isolated so that their direction stays theirs."""
    safe = escape(shown(text))
    return safe if text.isascii() else Markup("<bdi>{}</bdi>").format(safe)


def name(text: str | None) -> Markup:
    """A name, cut."""
    return Markup("–") if text is None else said(cut(text, NAME))


def width(share: float) -> str:
    """A share as a CSS width."""
    return f"{100 * min(1.0, max(0.0, share)):.1f}%"


def range_bar(value: float | None, low: float | None, high: float | None) -> Markup:
    """A figure and its interval as a mark on a line from 0 to 1; nothing without a figure."""
    if value is None:
        return Markup("")
    span = ""
    if low is not None and high is not None:
        start, end = min(1.0, max(0.0, low)), min(1.0, max(0.0, high))
        span = f'<i style="left:{width(start)};width:{width(end - start)}"></i>'
    return Markup(f'<span class="range" aria-hidden="true">{span}<b style="left:{width(value)}"></b></span>')  # noqa: S704 - numbers


def summary(found: Gathered) -> list[str]:
    """What was asked and what came back, in a few sentences."""
    card: list[Row] = found.scorecard
    if not card:
        return ["Nothing of this run has been measured yet."]

    def several(column: str, word: str, words: str) -> str:
        n = len({row[column] for row in card})
        return f"{n} {word if n == 1 else words}"

    planned, landed = (sum(row[f"n_{what}"] or 0 for row in card) for what in ("planned", "landed"))
    most, repetitions = max(row["n_variants"] for row in card), max(row["n_repetitions"] or 1 for row in card)
    asked = "asked once" if repetitions == 1 else f"asked up to {repetitions} times"
    wordings = "one wording" if most == 1 else f"up to {most} wordings"
    tasks, strategies = several("task_id", "task", "tasks"), several("strategy", "strategy", "strategies")
    out = [f"{several('model_id', 'model', 'models')}, {tasks} and {strategies}; {wordings}, {asked}."]
    out.append(f"{count(landed)} of {count(planned)} planned answers landed.")
    if found.run["state"] != "complete":
        out.append(f"The run is marked {cut(found.run['state'], 20)}.")
    return out
