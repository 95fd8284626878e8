"""Computes the Prompt Stability Score of any function that annotates texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from promptaudit.marts.of_landed import mart_of_landed
from promptaudit.python.callables import ANNOTATOR, INSTRUCTIONS, KEY, PARAPHRASER, Annotate, Paraphrase, serving
from promptaudit.python.runs import FILE, Run, made
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.system.files import private_folder, write_text
from promptaudit.system.keys import content_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.places import Places

if TYPE_CHECKING:
    import polars as pl

    from promptaudit.report.chart_files import Chart

SCORE = "Prompt Stability Score"
THRESHOLD = 0.8
"""The score that the paper asks of a prompt."""
NO_PROMPT = "(none)"
NO_LABELS = ("(the labels were not named)", "(so every distinct answer is one)")


@dataclass(frozen=True)
class Rules:
    """The paraphraser that ships: it swaps words, reorders clauses and reframes the request, offline."""

    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Stability:
    """The stability of a prompt.

    Attributes:
        run: the run behind it. Its marts and page are made when they are first wanted.
        table: the rows of `fct_prompt_stability` for this prompt: of the labels where labels were given, else of the answers
            verbatim. `series` is cumulative (the first k annotators), adjacent (k against k - 1) or all.
    """

    run: Run
    table: pl.DataFrame

    @property
    def pss(self) -> pl.DataFrame:
        """Selects the score over all annotators with its interval, one row for each paraphrase temperature."""
        return self.table.filter(series="all").select("paraphrase_temperature", "pss", "pss_low", "pss_high")

    def plot(self) -> Chart:
        """Draws the score with its interval and a line at .8, as a notebook shows it; `.save(path)` writes it as a file.

        The chart goes over paraphrase temperatures, with all annotators together, where there are some; else over the first k
        annotators.
        """
        import polars as pl

        from promptaudit.report.chart_files import chart_of
        from promptaudit.report.charts.panels import Axes, curves, domain_of

        swept = self.table.drop_nulls("paraphrase_temperature")
        if swept.is_empty():
            rows, x, title = self.table.filter(series="cumulative"), "n_annotators", "Annotators"
        else:
            rows, x, title = swept.filter(series="all"), "paraphrase_temperature", "Paraphrase temperature"
        kept = (
            rows.select(at=x, value="pss", low="pss_low", high="pss_high", series=pl.lit(SCORE)).sort("at").to_dicts()
        )
        domain = domain_of([row[end] for row in kept for end in ("value", "low")])
        axes = Axes(x=title, y=SCORE, domain=domain, level=THRESHOLD)
        return chart_of(curves(kept, [SCORE], axes, f"{SCORE} of a prompt"))

    def to_csv(self, path: str | Path) -> None:
        """Writes the table as CSV."""
        self.table.write_csv(path)


def rules(seed: int = 0) -> Rules:
    """Makes the paraphraser that ships, which needs no model."""
    return Rules(seed)


def intra_pss(  # noqa: PLR0913 - one choice each
    annotate: Annotate,
    samples: Any,  # noqa: ANN401 - a list of texts, or a frame
    *,
    prompt: str = "",
    output_format: str = "",
    repetitions: int = 30,
    labels: Sequence[Any] | None = None,
    level: str = "nominal",
    audit: str = "intra_pss",
    warehouse: str | Path = f"warehouse/{FILE}",
    connections: int = 1,
    resamples: int = 1000,
    max_requests: int | None = None,
    new: bool = False,
    quiet: bool = False,
) -> Stability:
    """Measures how much the answers to one prompt, asked again and again, agree.

    The score is computed here, as the marts have it; the run is derived, sealed and published when its `table`, `scorecard` or
    `report` is first wanted, or by `promptaudit rebuild RUN`.

    Every answer lands in the warehouse as it comes. After Ctrl-C, or an exception of the function, the same call goes on where
    it stopped; once everything is answered, it asks nothing. A call is the same if the prompt, the samples, the repetitions
    and the audit's name are the same. A change of the function is not noticed, so give another name, or `new`, when it
    changes.

    Args:
        annotate: any callable of (text, prompt) that returns the answer, or None for no answer. It is called in threads of
            this process, in `connections` of them at once. Its exceptions are raised here.
        samples: texts, or a frame with a column `text` and perhaps `id`.
        prompt: the prompt that the function gets; an output format follows after a space.
        output_format: the part of the prompt that says how to answer.
        repetitions: how often each sample is asked, at least 2.
        labels: the label set in order; an answer that is none of them is missing. Default: each distinct answer is a label.
        level: nominal; ordinal or interval, which need labels.
        audit: the name of the audit.
        warehouse: the DuckDB file.
        connections: how many calls run at once.
        resamples: of the bootstrap intervals.
        max_requests: the run stops before it makes more requests than this.
        new: ask everything again, in a new run.
        quiet: whether nothing is printed about the progress.

    Raises:
        UsageError: fewer than two repetitions, or a level that needs labels.
        DataError: no samples.
        BudgetReached: with `max_requests`.

    Source:
        Barrie et al. 2025.
    """
    if repetitions < 2:  # noqa: PLR2004 - one repetition agrees with nothing
        msg = f"repetitions: {repetitions}; at least 2 are wanted"
        raise UsageError(msg)
    cards = _cards(audit, prompt, output_format, labels, level, connections, resamples)
    cards["audits"][audit] |= {"repetitions": {"original": repetitions}}
    run = _asked(
        annotate,
        None,
        samples,
        cards,
        audit,
        warehouse,
        has_prompt=bool(prompt or output_format),
        max_requests=max_requests,
        new=new,
        quiet=quiet,
    )
    return _stability(run, "intra", labels)


def inter_pss(  # noqa: PLR0913 - one choice each
    annotate: Annotate,
    samples: Any,  # noqa: ANN401 - a list of texts, or a frame
    *,
    prompt: str,
    output_format: str = "",
    paraphrase: Rules | Paraphrase | None = None,
    temperatures: Sequence[float] = (0.1, 1.0, 2.0),
    variants: int = 10,
    repetitions: int = 1,
    labels: Sequence[Any] | None = None,
    level: str = "nominal",
    audit: str = "inter_pss",
    warehouse: str | Path = f"warehouse/{FILE}",
    connections: int = 1,
    resamples: int = 1000,
    max_requests: int | None = None,
    new: bool = False,
    quiet: bool = False,
) -> Stability:
    """Measures how much the answers to rephrasings of one prompt agree, at each paraphrase temperature.

    It goes on where it stopped as `intra_pss` does, and makes the rephrasings once.

    Args:
        annotate: as in `intra_pss`.
        samples: as in `intra_pss`.
        prompt: the part of the prompt that is rephrased.
        output_format: the part that is not rephrased; it follows after a space.
        paraphrase: `rules()` (the default), or a callable of (instruction, n, temperature) that gives rewordings.
        temperatures: how freely to reword, from 0; at each of them the original is an annotator too.
        variants: rewordings at each temperature.
        repetitions: how often each wording is asked; each repetition has one alpha. The score is the mean over the repetitions
            in which answers vary and which have at least half as many pairable samples as the largest.
        labels: as in `intra_pss`.
        level: as in `intra_pss`.
        audit: the name of the audit.
        warehouse: the DuckDB file.
        connections: how many calls run at once.
        resamples: of the bootstrap intervals.
        max_requests: the run stops before it makes more requests than this.
        new: ask everything again, in a new run.
        quiet: whether nothing is printed about the progress.

    Raises:
        UsageError: no prompt, or a level that needs labels.
        DataError: no samples.
        BudgetReached: with `max_requests`.

    Source:
        Barrie et al. 2025.
    """
    if not prompt.strip():
        msg = "prompt: a text to rephrase is wanted"
        raise UsageError(msg)
    cards = _cards(audit, prompt, output_format, labels, level, connections, resamples)
    chosen = rules() if paraphrase is None else paraphrase
    if isinstance(chosen, Rules):
        cards["rephrasers"] = {PARAPHRASER: {"kind": "rules", "seed": chosen.seed, "protect_labels": False}}
    else:
        cards["rephrasers"] = {
            PARAPHRASER: {
                "kind": "model",
                "model": PARAPHRASER,
                "instructions": INSTRUCTIONS,
                "protect_labels": False,
            }
        }
        cards["models"][PARAPHRASER] = _model(PARAPHRASER, connections)
    cards["audits"][audit] |= {
        "repetitions": {"original": repetitions, "variants": repetitions},
        "rephrasing": {
            "rephraser": PARAPHRASER,
            "temperatures": list(temperatures),
            "variants_per_temperature": variants,
        },
    }
    run = _asked(
        annotate,
        None if isinstance(chosen, Rules) else chosen,
        samples,
        cards,
        audit,
        warehouse,
        has_prompt=True,
        max_requests=max_requests,
        new=new,
        quiet=quiet,
    )
    return _stability(run, "inter", labels)


def _cards(
    audit: str,
    prompt: str,
    output_format: str,
    labels: Sequence[Any] | None,
    level: str,
    connections: int,
    resamples: int,
) -> dict[str, dict[str, Any]]:
    if labels is None and level != "nominal":
        msg = f"level {level!r} needs labels"
        raise UsageError(msg)
    instruction = "{instruction} {output_format}" if output_format else "{instruction}"
    task = {
        "level": level,
        "labels": [str(label) for label in (NO_LABELS if labels is None else labels)],
        "labels_line": "none",
        "instruction": prompt or NO_PROMPT,
        "output_format": output_format,
        "messages": [{"role": "system", "content": instruction}, {"role": "user", "content": "{input}"}],
        "data": {"path": "data/samples.jsonl", "id": "id", "input": "text"},
    }
    card = {
        "tasks": [audit],
        "models": [ANNOTATOR],
        "samples": {"balanced": False},
        "format": {"policy": "warn", "max_invalid_rate_at_first": 1},
        "resamples": resamples,
    }
    return {"tasks": {audit: task}, "models": {ANNOTATOR: _model(ANNOTATOR, connections)}, "audits": {audit: card}}


def _model(name: str, connections: int) -> dict[str, Any]:
    return {
        "engine": "openai_api",
        "model": name,
        "api_key_env": KEY,
        "price": "free",
        "limits": {"max_connections": connections, "timeout_s": 86_400},
    }


def _asked(  # noqa: PLR0913 - one choice each
    annotate: Annotate,
    paraphrase: Paraphrase | None,
    samples: Any,  # noqa: ANN401 - a list of texts, or a frame
    cards: dict[str, dict[str, Any]],
    audit: str,
    warehouse: str | Path,
    *,
    has_prompt: bool,
    max_requests: int | None,
    new: bool,
    quiet: bool,
) -> Run:
    frame = _samples(samples)
    folder = Places(Path(warehouse).absolute()).python / content_id("registry", audit)[:16]
    for kind in (*cards, "data"):
        private_folder(folder / kind)
    for kind, named in cards.items():
        write_text(yaml.safe_dump(named, allow_unicode=True, sort_keys=False), folder / kind / "cards.yml")
    # as text, in which `erase` finds what it has to name
    write_text(frame.write_ndjson(), folder / "data" / "samples.jsonl")
    with serving(annotate, paraphrase, has_prompt=has_prompt) as server:
        try:
            return made(
                [
                    "run",
                    "--answers-only",
                    *(["--new"] if new else []),
                    *([] if max_requests is None else [f"--max-requests={max_requests}"]),
                    "--",
                    audit,
                ],
                warehouse,
                [folder],
                quiet=quiet,
                variables=server.environment,
                until=lambda stop: setattr(server, "on_failure", stop),
            )
        except BaseException:
            if server.failed is not None:
                raise server.failed from None
            raise


def _samples(samples: Any) -> pl.DataFrame:  # noqa: ANN401 - a list of texts, or a frame
    import polars as pl

    from promptaudit.python.answers import frame

    if isinstance(samples, str):
        msg = "samples: a list of texts is wanted, got one text"
        raise DataError(msg)
    if isinstance(samples, list | tuple) and all(isinstance(text, str) for text in samples):
        found = pl.DataFrame({"text": list(samples)}, schema={"text": pl.String})
    else:
        found = frame(samples)
    if "text" not in found.columns or found.is_empty():
        msg = "samples: a list of texts, or a frame with a column 'text', is wanted"
        raise DataError(msg)
    if "id" not in found.columns:
        found = found.with_columns(id=pl.int_range(pl.len()))
    return found.select(pl.col("id", "text").cast(pl.String))


def _stability(run: Run, scope: str, labels: Sequence[Any] | None) -> Stability:
    kind = "verbatim" if labels is None else "labels_and_na"
    mart = "fct_prompt_stability"
    rows = mart_of_landed(Warehouse(run.warehouse), mart, run.audit_run_id) if run.is_open else run.table(mart)
    rows = rows.filter(scope=scope, annotation_filter=kind)
    order = ["paraphrase_temperature", "series", "n_annotators"]
    return Stability(run=run, table=rows.sort(order))
