"""Published answers of simulated models, for plans: the marts that a plan reads, and the cards of their audit."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from tests.support.files import write_files
from tests.udfs.designs.worlds import World

MARTS = """
create schema marts;
create schema raw;
create table raw.audit_runs (audit_run_id varchar, audit_id varchar, origin varchar, state varchar, started_at timestamp,
    run_index bigint);
create table raw.baselines (audit_run_id varchar, audit_id varchar, name varchar, reason varchar, pinned_at timestamp,
    after_run_index bigint);
create table marts.dim_audit_runs (audit_run_id varchar, audit_id varchar, origin varchar, state varchar, started_at timestamp,
    run_index bigint);
create table marts.dim_tasks (audit_run_id varchar, task_id varchar, kind varchar, labels varchar[]);
create table marts.dim_samples (audit_run_id varchar, task_id varchar, sample_id varchar, has_key boolean);
create table marts.dim_prompt_variants (audit_run_id varchar, prompt_variant_id varchar, task_id varchar, strategy varchar,
    instruction varchar, paraphrase_temperature double);
create table marts.fct_scores (audit_run_id varchar, prediction_id varchar, task_id varchar, sample_id varchar,
    scoring_method varchar, is_correct boolean, score double, unscored_kind varchar);
create table marts.rpt_run_comparisons (comparison_id varchar, candidate_run_id varchar, measure varchar, p_value double);
create table marts.fct_predictions (audit_run_id varchar, prediction_id varchar, model_id varchar, task_id varchar,
    strategy varchar, prompt_variant_id varchar, sample_id varchar, repetition integer, label varchar, is_correct boolean,
    answer_status varchar, prompt_tokens integer, completion_tokens integer, landed_at timestamp);
"""
N_ROWS = 400


class PlannedAnswers:
    """A folder with the cards of an audit `a` of task `t`, and the published copy of its runs."""

    def __init__(
        self, folder: Path, models: tuple[str, ...] = ("calm", "wild"), audit: str = "", n_rows: int = N_ROWS
    ) -> None:
        self.folder = folder
        (folder / "warehouse/published").mkdir(parents=True)
        self._file = folder / "warehouse/published/audit.duckdb"
        with duckdb.connect(str(self._file)) as con:
            con.execute(MARTS)
        rows = "".join(f"s{n},text {n},a\n" for n in range(n_rows))
        write_files(
            folder / "registry",
            {
                "models/m.yml": "".join(
                    f"{model}:\n  engine: openai_api\n  model: {model}\n  base_url: http://127.0.0.1:1/v1\n"
                    "  price: {input_usd_per_mtok: 1, output_usd_per_mtok: 10}\n"
                    for model in models
                ),
                "tasks/t.yml": (
                    "t:\n  labels: [a, b]\n  instruction: Say a or b.\n"
                    "  data: {path: d.csv, id: id, input: text, gold_label: gold}\n"
                ),
                "d.csv": "id,text,gold\n" + rows,
                "audits/a.yml": f"a:\n  tasks: [t]\n  models: [{', '.join(models)}]\n{audit}",
            },
        )

    def add(
        self, run: str, worlds: dict[str, World], n: int = 70, q: int = 10, *, state: str = "complete", seed: int = 1
    ) -> dict[str, np.ndarray]:
        """Publishes a run of two asks a cell; returns each model's answers, right or wrong, of shape (n, q, 2)."""
        rng = np.random.default_rng(seed)
        answers = {model: world.answers(rng, n, q, 2) for model, world in worlds.items()}
        rows = [
            {
                "audit_run_id": run,
                "prediction_id": f"{run} {model} {i} {v} {r}",
                "model_id": model,
                "task_id": "t",
                "strategy": "simple",
                "prompt_variant_id": f"v{v}",
                "sample_id": f"s{i}",
                "repetition": r + 1,
                "label": "a" if right[i, v, r] else "b",
                "is_correct": bool(right[i, v, r]),
                "answer_status": "valid",
                "prompt_tokens": 50,
                "completion_tokens": 5,
                "number": k,
            }
            for model, right in answers.items()
            for k, (i, v, r) in enumerate(np.ndindex(n, q, 2))
        ]
        frame = pl.DataFrame(rows)  # noqa: F841 - the query reads it by its name
        with duckdb.connect(str(self._file if state == "complete" else self._pilots())) as con:
            con.execute(
                "insert into raw.audit_runs values ($run, 'a', 'run', $state, "
                "timestamp '2026-11-01' + (select count(*) from raw.audit_runs)::integer * interval 1 day, "
                "1 + (select count(*) from raw.audit_runs))",
                {"run": run, "state": state},
            )
            if state == "complete":  # a pilot lies in the warehouse alone
                con.execute(
                    "insert into marts.dim_audit_runs select * from raw.audit_runs where audit_run_id = ?", [run]
                )
            con.execute("insert into marts.dim_tasks values (?, 't', 'classification', ['a', 'b'])", [run])
            con.execute(
                "insert into marts.fct_predictions select * exclude (number), "
                "timestamp '2026-11-01' + number * interval 100 milliseconds from frame"
            )
            con.execute(
                "insert into marts.dim_samples select distinct audit_run_id, task_id, sample_id, true from frame;"
                "insert into marts.fct_scores select audit_run_id, prediction_id, task_id, sample_id, 'label_match', is_correct, "
                "is_correct::integer::double, null from frame"
            )
            con.execute(
                "insert into marts.dim_prompt_variants select distinct audit_run_id, prompt_variant_id, task_id, strategy, "
                "'Say ' || prompt_variant_id, null::double from frame"
            )
        return answers

    def sql(self, statement: str, *, of_pilots: bool = False) -> None:
        """Changes what is published, or what is not."""
        with duckdb.connect(str(self._pilots() if of_pilots else self._file)) as con:
            con.execute(statement)

    def _pilots(self) -> Path:
        """The warehouse itself, made when a pilot is first added."""
        file = self.folder / "warehouse/audit.duckdb"
        if not file.exists():
            with duckdb.connect(str(file)) as con:
                con.execute(MARTS)
        return file
