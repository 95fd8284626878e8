"""Wordings of paraphrase temperatures with a low PSS are written for a person to mend, and asked again as the file has them."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest

from promptaudit.ask.wordings.paraphrase import paraphrase
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.warehouse import Warehouse
from tests.support.files import write_files
from tests.support.http_audit import opened
from tests.support.shell import Ended, promptaudit

TASKS = "".join(
    f"{name}:\n  labels: [a, b]\n  instruction: Say a or b, {name}.\n"
    "  data: {path: d.csv, id: id, input: text, gold_label: gold}\n"
    for name in ("t", "u", "v")
)
PUBLISHED = """
create schema marts;
create schema raw;
create table marts.dim_audit_runs as select 'r1' as audit_run_id, 'a' as audit_id, now() as started_at, 1 as run_index,
    'complete' as state,
    'run' as origin;
create table marts.fct_prompt_stability (task_id varchar, paraphrase_temperature double, pss double,
    audit_run_id varchar default 'r1', scope varchar default 'inter', series varchar default 'all',
    annotation_filter varchar default 'labels_and_na', strategy varchar default 'simple', model_id varchar default 'm');
insert into marts.fct_prompt_stability (task_id, paraphrase_temperature, pss) values
    ('t', 0.5, 0.9), ('t', 2, 0.79), ('u', null, 0.8), ('v', null, 0.1), ('v', 1, null);
insert into marts.fct_prompt_stability (task_id, paraphrase_temperature, pss, model_id) values ('t', 2, 0.95, 'n');
insert into marts.fct_prompt_stability (task_id, paraphrase_temperature, pss, annotation_filter)
    values ('u', null, 0.2, 'verbatim');
insert into marts.fct_prompt_stability (task_id, paraphrase_temperature, pss, scope) values ('u', null, 0.2, 'intra');
create table raw.prompt_variants (task_id varchar, paraphrase_temperature double, variant_index integer, instruction varchar,
    refused_because varchar, template varchar, model_ids varchar[], variation varchar, audit_run_id varchar default 'r1',
    is_original boolean default false);
insert into raw.prompt_variants (task_id, variant_index, instruction, is_original) values
    ('t', 0, 'Say a or b, t.', true), ('u', 0, 'Say a or b, u.', true), ('v', 0, 'Say a or b, v.', true),
    ('t', 0, 'Say a or b, t.', true);  -- of another strategy
insert into raw.prompt_variants (task_id, paraphrase_temperature, variant_index, instruction, refused_because) values
    ('t', 0.5, 1, 'Tell a or b.', null), ('t', 2, 2, 'a, or is it b?', null), ('t', 2, -1, 'Whatever.', 'lost'),
    ('u', null, 1, 'Which, a or b?', null), ('v', null, 1, 'b or a?', null), ('v', 1, 2, 'Pick a or b.', null);
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the published copy of one run, and an audit of a newer model that rephrases nothing."""
    (tmp_path / "warehouse/published").mkdir(parents=True)
    with duckdb.connect(str(tmp_path / "warehouse/published/audit.duckdb")) as con:
        con.execute(PUBLISHED)
    write_files(
        tmp_path / "registry",
        {
            "tasks/t.yml": TASKS,
            "d.csv": "id,text,gold\n1,one,a\n2,two,b\n",
            "audits/newer.yml": "newer: {tasks: [t, v], models: [lexical]}\n",
        },
    )
    return tmp_path


def exported(folder: Path, *more: str, code: int = 0) -> Ended:
    ended = promptaudit(folder, "plan", "a", "--export-prompts", "low.csv", *more)
    assert ended.code == code, ended.err
    return ended


def test_what_is_written_is_what_a_newer_model_is_asked(folder: Path) -> None:
    ended = exported(folder, "--below-pss", "0.8")
    assert ended.out == "4 prompt variants of t, v in low.csv; an audit of tasks: [t, v] may ask them\n"
    frame = pl.read_csv(folder / "low.csv", infer_schema=False)
    rows = frame.select("task", "paraphrase_temperature", "variant_index", "instruction").rows()
    assert rows == [
        ("t", None, "0", "Say a or b, t."),
        ("t", "2.0", "2", "a, or is it b?"),
        ("v", None, "0", "Say a or b, v."),
        ("v", None, "1", "b or a?"),
    ]
    mended = pl.when(pl.col("variant_index") == "2").then(pl.lit("Choose a or b.")).otherwise("instruction")
    frame.with_columns(mended.alias("instruction")).write_csv(folder / "mended.csv")
    warehouse = Warehouse(folder / "newer.duckdb")
    run, design = opened(warehouse.path, folder / "registry", "newer")
    purse = Purse(warehouse, run, budget_of(warehouse, run, design.audit.budget))
    made = paraphrase(purse, design, prompts=folder / "mended.csv").variants
    assert [(v.task_id, v.paraphrase_temperature, v.instruction) for v in made] == [
        ("t", None, "Say a or b, t."),
        ("t", 2.0, "Choose a or b."),
        ("v", None, "Say a or b, v."),
        ("v", None, "b or a?"),
    ]
    assert [row["is_edited"] for row in warehouse.read("select is_edited from raw.prompt_variants order by all")] == [
        False,
        False,
        False,
        True,
    ]


def test_what_a_model_reworded_for_itself_is_written_where_its_own_answers_agree_too_little(folder: Path) -> None:
    with duckdb.connect(str(folder / "warehouse/published/audit.duckdb")) as con:
        con.execute(
            "insert into raw.prompt_variants (task_id, paraphrase_temperature, variant_index, instruction, model_ids) values "
            "('t', 2, 1, 'Own of m.', ['m', 'chance']), ('t', 2, 1, 'Own of n.', ['n'])"
        )
    exported(folder, "--below-pss", "0.8")
    frame = pl.read_csv(folder / "low.csv", infer_schema=False).filter(pl.col("task") == "t")
    # n's answers agree at 2; the file has no column of models, so that an audit that rephrases nothing can be asked it
    assert "model" not in frame.columns
    assert frame.select("variant_index", "instruction").rows() == [
        ("0", "Say a or b, t."),
        ("2", "a, or is it b?"),
        ("3", "Own of m."),
    ]


def test_of_a_task_without_labels_answers_count_as_they_are(folder: Path) -> None:
    with duckdb.connect(str(folder / "warehouse/published/audit.duckdb")) as con:
        con.execute(
            "insert into marts.fct_prompt_stability (task_id, pss, annotation_filter) values ('w', null, 'labels_and_na'), "
            "('w', 0.2, 'verbatim'); insert into raw.prompt_variants (task_id, variant_index, instruction, is_original) values "
            "('w', 0, 'Name it.', true)"
        )
    assert exported(folder, "--below-pss", "0.8").out.startswith("5 prompt variants of t, v, w in low.csv")


def test_stable_prompts_write_nothing(folder: Path) -> None:
    ended = exported(folder, "--below-pss", "0.1")
    assert ended.out == "run r1 has no PSS between wordings below 0.1: nothing is written\n"
    assert not (folder / "low.csv").exists()
    said = json.loads(exported(folder, "--below-pss", "-1", "--json").out)
    assert (said["path"], said["n_variants"], said["tasks"]) == (None, 0, [])


def test_it_says_what_to_write_where_that_is_missing(folder: Path) -> None:
    ended = promptaudit(folder, "plan", "a", "--below-pss", "0.8")
    assert (ended.code, ended.one_line()) == (
        2,
        "UsageError: --below-pss chooses what --export-prompts writes; give that too",
    )
