"""Rewordings of a task's first template stand beside its card's templates, are kept for later runs, and refused with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from promptaudit.ask.wordings.paraphrase import ParaphraseResult, paraphrase
from promptaudit.audit.runs import open_run
from promptaudit.cards.check_cards import check_audit
from promptaudit.plan.budget import Purse, budget_of
from promptaudit.plan.cells import CellsInWarehouse, missing_requests
from promptaudit.plan.design import design_audit
from promptaudit.plan.estimate import estimate_audit
from promptaudit.prompts.rephrasers import Wording
from promptaudit.registry.errors import CardError, raise_all
from promptaudit.registry.registry import load_registry
from promptaudit.warehouse import Warehouse
from tests.support.files import write_files
from tests.support.http_audit import query

TEMPLATES = """
asks:
  kind: open_ended
  templates:
    - text: |-
        {examples}

        Solve the problem below and put the result in \\boxed{}.

        Problem: {question}
      examples: [{question: 1 + 1, answer: "2"}]
    - "{question} ="
"""
TASK = "sums:\n  kind: open_ended\n  templates: asks\n  scoring: [math_equal]\n"
TASK += "  data: {path: s.csv, id: id, input: text, references: [answer]}\n"
LABELS = (
    "t:\n  labels: [a, b]\n  instruction: Say a or b.\n  data: {path: d.csv, id: id, input: text, gold_label: gold}\n"
)
ROWS = (
    "select variant_index, rephraser_id, refused_because, instruction, paraphrase_temperature from raw.prompt_variants"
)
FIRST = "{examples}\n\nSolve the problem below and put the result in \\boxed{}.\n\nProblem: {question}"


def registry_of(folder: Path, rephrasing: str, rephrasers: str = "", tasks: str = "sums") -> Path:
    files = {
        "tasks/s.yml": TASK,
        "tasks/t.yml": LABELS,
        "templates/a.yml": TEMPLATES,
        "s.csv": "id,text,answer\n1,2 + 2,4\n2,3 + 3,6\n",
        "d.csv": "id,text,gold\n1,one,a\n2,two,b\n",
        "models/m.yml": "m: {engine: embedded, model: examinee, examinee: {accuracy: 0.5}}\n",
        "audits/a.yml": f"a:\n  tasks: [{tasks}]\n  models: [m]\n{rephrasing}",
        "rephrasers/r.yml": rephrasers,
    }
    write_files(folder, files)
    return folder


def reworded(warehouse: Path, folder: Path, *, anew: bool = False) -> ParaphraseResult:
    """The variants of a new run."""
    design = design_audit(load_registry([folder]), "a")
    Warehouse(warehouse).apply_schema()
    run = open_run(Warehouse(warehouse), design)
    purse = Purse(Warehouse(warehouse), run, budget_of(Warehouse(warehouse), run, design.audit.budget))
    made = paraphrase(purse, design, anew=anew)
    assert made.variants == paraphrase(purse, design).variants  # as landed
    return made


def rephrasing(more: str = "rephraser: rules, variants: 4", repetitions: str = "{original: 2, variants: 1}") -> str:
    return f"  rephrasing: {{{more}, templates: true}}\n  repetitions: {repetitions}\n"


def test_the_cards_templates_come_first_and_stay_what_they_were(tmp_path: Path) -> None:
    plain = reworded(tmp_path / "plain.duckdb", registry_of(tmp_path / "plain", ""))
    folder = registry_of(tmp_path / "cards", rephrasing())
    made = reworded(tmp_path / "audit.duckdb", folder)
    assert made.notes == ()
    assert [v.variant_index for v in made.variants] == [0, 1, 2, 3, 4]
    assert [v.prompt_variant_id for v in made.variants[:2]] == [v.prompt_variant_id for v in plain.variants]
    assert [len(v.repetitions) for v in made.variants] == [2, 1, 1, 1, 1]
    for variant in made.variants[2:]:
        head, prose, tail = variant.instruction.split("\n\n")
        assert (head, tail) == ("{examples}", "Problem: {question}")
        assert "\\boxed{}" in prose
        assert prose != "Solve the problem below and put the result in \\boxed{}."
    rows = query(tmp_path / "audit.duckdb", f"{ROWS} order by 1")
    assert [row[:3] for row in rows] == [(0, None, None), (1, None, None), *((n, "rules", None) for n in (2, 3, 4))]
    # what is sent is the rewording, with the card's examples
    design = design_audit(load_registry([folder]), "a")
    run = query(tmp_path / "audit.duckdb", "select audit_run_id from raw.audit_runs")[0][0]
    cells = CellsInWarehouse(Warehouse(tmp_path / "audit.duckdb"), run)
    sent = [request.messages[0][1] for request in missing_requests(cells, run, design, "m", made.variants[-1:])]
    prose = made.variants[-1].instruction.split("\n\n")[1]
    assert sent[0] == f"Question: 1 + 1\nAnswer: 2\n\n{prose}\n\nProblem: 2 + 2"
    lines = {line.name: line.requests for line in estimate_audit(load_registry([folder]), "a").lines}
    assert lines["m"] == 2 * 6


class Scripted:
    """A rephraser that says what it is told, and how often it was asked."""

    max_rounds = 1

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = texts, list[Wording]()

    async def rephrase(self, wording: Wording, n: int, *_: object) -> Sequence[str]:
        self.asked.append(wording)
        return self.texts[: n + 1]

    async def close(self) -> None:
        """Does nothing."""


def test_a_model_rewords_the_whole_once_and_what_it_loses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = FIRST.replace("Solve the problem below", "Work the problem below out")
    lost = FIRST.replace("in \\boxed{}", "in a box")
    scripted = Scripted(good, lost, "{question} =")
    monkeypatch.setattr("promptaudit.ask.wordings.paraphrase.open_rephraser", lambda *_: scripted)
    asked = "asked: {kind: model, model: gpt-4o-mini}\n"
    folder = registry_of(tmp_path, rephrasing("rephraser: asked, variants: 3"), asked)
    warehouse = tmp_path / "audit.duckdb"
    made = reworded(warehouse, folder)
    assert made.notes == ("task 'sums': 1 of 2 distinct rephrasings, 1 refused",)
    assert [wording.instruction for wording in scripted.asked] == [FIRST]
    rows = query(warehouse, f"{ROWS} order by variant_index")
    assert rows[0][:4] == (-1, "asked", "protected word '\\\\boxed{}' is lost", lost)
    assert rows[3][:4] == (2, "asked", None, good)
    # a later run asks nobody, one that is to rephrase does
    again = reworded(warehouse, folder)
    assert (again.variants, again.notes, len(scripted.asked)) == (made.variants, made.notes, 1)
    reworded(warehouse, folder, anew=True)
    assert len(scripted.asked) == 2


def test_temperatures_have_rewordings_each(tmp_path: Path) -> None:
    folder = registry_of(
        tmp_path, rephrasing("rephraser: rules, temperatures: [0.5, 3], variants_per_temperature: 2"), tasks="sums, t"
    )
    reworded(tmp_path / "audit.duckdb", folder)
    rows = query(tmp_path / "audit.duckdb", f"{ROWS} where task_id = 'sums' order by 1")
    assert [(row[0], row[4]) for row in rows] == [(0, None), (1, None), (2, 0.5), (3, 0.5), (4, 3.0), (5, 3.0)]


def test_a_persons_templates_are_sent_and_validate_says_which_are_refused(tmp_path: Path) -> None:
    good, lost = "{examples} Box it. {question}", "Box it: {question}"
    listed = yaml.safe_dump({"listed": {"kind": "fixed", "variants": {"sums": [lost, good]}}})
    folder = registry_of(tmp_path, rephrasing("rephraser: listed, variants: 3"), listed)
    notes = check_audit(load_registry([folder]), "a").notes
    assert notes == (
        "rephrasers/r.yml line 5: variants.sums.0 is refused: placeholder {examples} is lost",
        "task 'sums': 1 of 2 distinct rephrasings, 1 refused",
    )
    made = reworded(tmp_path / "audit.duckdb", folder)
    assert made.notes == notes[1:]
    assert [variant.instruction for variant in made.variants] == [FIRST, "{question} =", good]


def test_templates_that_are_not_reworded_are_named(tmp_path: Path) -> None:
    folder = registry_of(tmp_path, "  rephrasing: {rephraser: rules, variants: 3}\n", tasks="sums, t")
    assert check_audit(load_registry([folder]), "a").notes == (
        "task 'sums': its templates are asked as they stand; rephrasing.templates: true has the first of them reworded",
    )


def test_templates_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    folder = registry_of(tmp_path, rephrasing(), tasks="t")
    with pytest.raises(
        CardError, match=r"audits/a\.yml line 4: rephrasing\.templates: no task of audit 'a' has templates"
    ):
        raise_all(check_audit(load_registry([folder]), "a").errors)
