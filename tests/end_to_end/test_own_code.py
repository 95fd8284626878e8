"""A researcher's own annotator, parser and paraphrasers, from the command line: asked once, read anew, never of a stranger's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.support.own_code import PARSER, write_registry
from tests.support.shell import promptaudit, promptaudit_process, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# what the annotator says of the rows: a good day, a bad day, good food, awful (whose gold label it misses)
SAID = {"1": "positive", "2": "negative", "3": "positive", "4": "negative"}
LENIENT = PARSER.replace("return label if", "label = {'negative': 'positive'}.get(label, label)\n    return label if")


def run(folder: Path, audit_id: str) -> Any:
    return promptaudit(folder, "run", audit_id, "--json")


def labels(folder: Path, run_id: str) -> list[tuple[str, str, int]]:
    rows = sql(
        folder,
        "select sample_id, label, count(*) as n from marts.fct_predictions "
        f"where audit_run_id = '{run_id}' group by all order by all",
    )
    return [(row["sample_id"], row["label"], row["n"]) for row in rows]


def test_own_code_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_TRUST_FILE", str(tmp_path / "trusted.json"))
    root = write_registry(tmp_path)

    # nothing runs before it is trusted
    refused = promptaudit_process(tmp_path, "run", "by_function")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        f"UntrustedCard: models/m.yml line 1: model 'own' names code 'lab:annotate' of {root}/lab.py, which is not trusted; "
        "look at it, then: promptaudit trust registry\n"
    )
    assert "names code 'parser:read'" in promptaudit(tmp_path, "validate", "by_function").out
    assert "4 pieces of code recorded in" in promptaudit(tmp_path, "trust").out

    # an annotator, a parser and a paraphraser: 4 samples × (2 × original + 2 temperatures × 2 wordings)
    first = run(tmp_path, "by_function")
    assert first.code == 0, first.err
    asked = first.json()
    assert asked["n_asked"] == 4 * (2 + 4)
    run_id = asked["audit_run_id"]
    assert labels(tmp_path, run_id) == [(sample, label, 6) for sample, label in SAID.items()]
    (card,) = sql(tmp_path, "select sensitivity, micro_f1, invalid_rate, cost_usd from marts.rpt_audit")
    assert card == {"sensitivity": 0, "micro_f1": 0.75, "invalid_rate": 0, "cost_usd": 0}
    wordings = sql(
        tmp_path, "select instruction from marts.dim_prompt_variants where not is_original order by variant_index"
    )
    instruction = "Say whether the text is good or bad."
    assert [row["instruction"] for row in wordings] == [
        f"{instruction} Version {number} at {temperature}." for temperature in (0.5, 2.0) for number in range(2)
    ]

    # the same again asks nothing
    again = run(tmp_path, "by_function")
    assert (again.code, again.json()["n_asked"], again.json()["audit_run_id"]) == (0, 0, run_id)

    # a changed parser is asked for again, then the answers that landed are read anew
    write_registry(tmp_path, parser_py=LENIENT)
    changed = run(tmp_path, "by_function")
    assert changed.code == 2
    assert "task 'tone' names code 'parser:read'" in changed.one_line()
    assert "which changed since it was trusted; look at it, then: promptaudit trust registry" in changed.one_line()
    kept = promptaudit(tmp_path, "rebuild", run_id)
    assert kept.code == 2
    assert (
        f"task 'tone' of run {run_id} is read by code 'parser:read' of {root}/parser.py, which changed since"
        in kept.err
    )
    assert promptaudit(tmp_path, "trust").code == 0
    reread = run(tmp_path, "by_function")
    assert (reread.code, reread.json()["n_asked"], reread.json()["audit_run_id"]) == (0, 0, run_id)
    assert labels(tmp_path, run_id) == [(sample, "positive", 6) for sample in SAID]

    # in a process of its own the module, which imports pandas, finds it
    exported = promptaudit_process(tmp_path, "plan", "by_function", "--export-prompts", "p.csv")
    assert exported.code == 0, exported.err
    assert "asking rephraser 'function'" in exported.err
    assert f"{instruction} Version 1 at 2.0." in (tmp_path / "p.csv").read_text()

    # a warehouse from elsewhere names code: nothing of it runs
    hostile = tmp_path / "hostile" / "warehouse"
    hostile.mkdir(parents=True)
    shutil.copy(tmp_path / "warehouse/audit.duckdb", hostile / "audit.duckdb")
    with duckdb.connect(str(hostile / "audit.duckdb")) as con:
        con.execute("""update raw.tasks set reader = '{"python": {"function": "os:system", "sha256": null}}'""")
    for command in (("rebuild",), ("rebuild", run_id)):
        ended = promptaudit(tmp_path / "hostile", *command)
        assert ended.code == 2
        assert ended.one_line() == (
            f"UntrustedCard: task 'tone' of run {run_id} is read by code 'os:system', which is not trusted; "
            "look at the folder of cards that names it, then: promptaudit trust DIR"
        )


def test_a_command_as_a_rephraser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTAUDIT_TRUST_FILE", str(tmp_path / "trusted.json"))
    write_registry(tmp_path)
    assert promptaudit(tmp_path, "trust").code == 0
    exported = promptaudit(tmp_path, "plan", "by_command", "--export-prompts", "p.csv")
    assert exported.code == 0, exported.err
    rows = pl.read_csv(tmp_path / "p.csv").sort("variant_index")
    assert [text.rpartition(".")[2] for text in rows["instruction"]] == ["", " --fast None 0", " --fast None 1"]
