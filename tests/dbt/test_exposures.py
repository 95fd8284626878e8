"""Who reads the marts, as dbt's page says it, against who does."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import promptaudit
from promptaudit.query.sql import described
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.mart_columns import dbt_project
from promptaudit.warehouse.figure_names import begin_with
from promptaudit.warehouse.sql import sql

FLOWS = Path(promptaudit.__path__[0])
MARTS = sorted(path.stem for path in (dbt_project() / "models" / "marts").rglob("*.sql"))
EXPOSURES = {
    each["name"]: each
    for each in yaml.safe_load((dbt_project() / "models" / "exposures.yml").read_text(encoding="utf-8"))["exposures"]
}


def refs(name: str) -> list[str]:
    return [ref.removeprefix("ref('").removesuffix("')") for ref in EXPOSURES[name]["depends_on"]]


def read_by(*places: Path) -> list[str]:
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*.*"))]
    files = [file for file in files if file.suffix in (".py", ".sql")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    text += "\n".join(sql(*named) for named in re.findall(r'\bsql\("([\w.]+)", "(\w+)"\)', text))
    return [mart for mart in MARTS if re.search(rf"\b{mart}\b", text)]


def test_each_has_an_owner_a_type_and_words() -> None:
    assert set(EXPOSURES) == {"report", "nightly_audit", "gate", "analyst_sql"}
    for each in EXPOSURES.values():
        assert each["owner"]["name"]
        assert each["type"] in ("dashboard", "application", "analysis")
        assert len(each["description"]) > 80


def test_the_report_reads_what_it_says() -> None:
    assert refs("report") == read_by(
        FLOWS / "report", FLOWS / "query/history/nights.py", FLOWS / "marts/comparison/result.py"
    )


def test_the_night_reads_what_it_says() -> None:
    own = ("nightly", "marts/comparison/compare.py", "query/history/measure.py", "query/history/columns.py", "gate")
    assert refs("nightly_audit") == read_by(*(FLOWS / name for name in own), FLOWS / "registry/gate_columns.py")


def test_the_gate_reads_what_it_says() -> None:
    assert refs("gate") == read_by(
        *(FLOWS / "gate").glob("*.py"), FLOWS / "gate/queries", FLOWS / "registry/gate_columns.py"
    )


def test_sources_have_an_owner_and_say_when_nights_are_stale() -> None:
    (raw,) = yaml.safe_load((dbt_project() / "models/staging/sources.yml").read_text(encoding="utf-8"))["sources"]
    assert raw["config"]["meta"]["owner"]
    configs = {table["name"]: table["config"] for table in raw["tables"] if "config" in table}
    assert {name: config["loaded_at_field"] for name, config in configs.items()} == {
        "audit_runs": "started_at",
        "predictions": "landed_at",
    }
    default = AuditCard.model_fields["max_age"].default
    for config in configs.values():
        warned = config["freshness"]["warn_after"]
        assert (warned["period"], f"{warned['count']}h") == ("hour", default)


def test_analysts_have_every_mart() -> None:
    assert refs("analyst_sql") == MARTS


def test_the_front_page_of_the_documentation_has_the_tables_to_begin_with() -> None:
    page = (dbt_project() / "models" / "overview.md").read_text(encoding="utf-8").splitlines()
    rows = [f"| `{name}` | {grain} | {keys} |" for name, grain, keys in described(begin_with())]
    assert [line for line in page if line.startswith("| `")] == rows
    assert set(begin_with()) < set(MARTS)
