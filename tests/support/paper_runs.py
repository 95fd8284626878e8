"""The three papers' audits by name on small data of their shape, at models on loopback, through the command line."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.paper_data import OUTCOMES, write_registry
from tests.support.paper_server import answers_rightly
from tests.support.shell import promptaudit

KEYS = {name: f"sk-test-0123456789abcdef-{name}" for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "VLLM_API_KEY")}
TWO_OF_14, TWO_OF_7 = {"limit": "28", "balanced": "true"}, {"limit": "14", "balanced": "true"}
PEOPLE = ("ada", "ben", "cy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper's audit, with the rows of each task and the fields that ask for less."""

    audit_id: str
    n_rows: dict[str, int]
    less: dict[str, Any]


ERRICA = Paper(
    audit_id="paper_errica",
    n_rows={"trec": 60, "cb": 30, "rte": 20, "dbpedia": 42, "wos": 21},
    less={
        "rephrasing": {"rephraser": "self_paraphraser", "variants": "4"},
        "samples": {"seed": "42", "balanced": "false", "by_task": {"dbpedia": TWO_OF_14, "wos": TWO_OF_7}},
        "resamples": "20",
    },
)
BARRIE = Paper(
    audit_id="paper_barrie",
    n_rows={f"pss_{name}": max(12, 2 * n) for name, (_, n) in OUTCOMES.items()},
    less={
        "rephrasing": {
            "rephraser": "paraphraser",
            "temperatures": ["0.1", "1", "2", "3.5", "5"],
            "variants_per_temperature": "3",
        },
        "repetitions": {"original": "4", "variants": "2"},
        "resamples": "20",
    },
)
HUA = Paper(
    audit_id="paper_hua",
    n_rows={"arc_challenge": 12, "gpqa": 5, "math": 5, "narrativeqa": 5, "openbookqa": 5, "simpleqa": 5},
    less={"resamples": "20"},
)


def run_paper(folder: Path, base_url: str, paper: Paper) -> None:
    """Writes what the audit needs into `folder`, checks it there and runs it."""
    write_registry(folder / "registry", base_url, paper.audit_id, paper.n_rows, paper.less)
    checked = promptaudit(folder, "validate", paper.audit_id, **KEYS)
    assert (checked.code, checked.out, checked.err) == (0, f"audit '{paper.audit_id}' is sound\n", ""), checked.err
    ended = promptaudit(folder, "run", paper.audit_id, **KEYS)
    assert ended.code == 0, ended.err
    assert f"of '{paper.audit_id}'" in ended.out


def have_people_rule(folder: Path, n_questions: int) -> int:
    """Has three people fill in a sheet of some questions under all templates and takes it in; returns the rows of the sheet."""
    written = promptaudit(folder, "annotate", "--sheet", "sheet.csv", "--questions", str(n_questions))
    assert written.code == 0, written.err
    with (folder / "sheet.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    filled = [
        {**row, "is_match": "yes" if _ruled(row, place, person) else "no", "annotator": person}
        for person in PEOPLE
        for place, row in enumerate(rows)
    ]
    with (folder / "filled.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, filled[0])
        writer.writeheader()
        writer.writerows(filled)
    taken = promptaudit(folder, "annotate", "--take", "filled.csv")
    assert taken.code == 0, taken.err
    return len(rows)


def _ruled(row: dict[str, str], place: int, person: str) -> bool:
    """Whether a person calls an answer right: as it is, and now and then the other way round."""
    slips = (place + 5 * PEOPLE.index(person)) % 23 == 0
    return answers_rightly(row["references"].split("\n"), row["answer"]) != slips
