"""The page on the papers' designs names audits, marts and options that there are."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.registry import load_registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "infra/examples/papers.md").read_text(encoding="utf-8")


def test_its_names_are_those_of_audits_and_marts() -> None:
    audits, marts = set(re.findall(r"`(paper_\w+)`", PAGE)), set(re.findall(r"`((?:rpt|fct)_\w+)`", PAGE))
    assert audits <= set(load_registry().entries["audits"])
    assert len(audits) > 10
    assert marts <= {path.stem for path in (ROOT / "dbt/models/marts").rglob("*.sql")}
    assert len(marts) > 8


def test_its_cards_are_cards(tmp_path: Path) -> None:
    rephraser, task = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert RephraserCard.model_validate(yaml.safe_load(rephraser)["printed"]).is_given
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/mine.yml").write_text(task)
    (tmp_path / "my_code.py").write_text("def read(completion, labels):\n    return None\n")
    assert load_registry([tmp_path]).task("mine").labels_line == "none"
