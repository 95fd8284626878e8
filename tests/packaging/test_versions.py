"""Other versions of what reads and stores figures give the same figures: the lowest, the newest and the next major."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.files import write_files
from tests.support.shell import Ended, environment, promptaudit_process

ANSWERS = "model,sample_id,variant_index,completion,gold_label\n" + "".join(
    f"{model},{sample},{variant},{('yes', 'no')[(sample * 3 + variant * model_index) % 5 % 2]},{('yes', 'no')[sample % 2]}\n"
    for model_index, model in enumerate(("one", "two"), start=1)
    for sample in range(8)
    for variant in range(4)
)
LINEAGE = "from promptaudit.lineage.columns.follow import lineage_of; print(lineage_of('rpt_audit', 'sensitivity'))"
FIGURES = "select * exclude (audit_run_id, measure_version) from marts.fct_sensitivity order by all"

pytestmark = pytest.mark.soak


def in_process(folder: Path, packages: Path | None, *arguments: str) -> Ended:
    path = {} if packages is None else {"PYTHONPATH": str(packages)}
    ended = promptaudit_process(folder, *arguments, PROMPTAUDIT_PREFECT="off", **path)
    assert ended.code == 0, ended.err
    return ended


@pytest.mark.parametrize("wanted", ["duckdb==1.5.5", "duckdb>=1.5.5,<2", "duckdb>=2", "sqlglot==30.30.0"])
def test_the_same_figures(tmp_path: Path, wanted: str) -> None:
    packages = tmp_path / "packages"
    uv = Path(sys.executable).with_name("uv")
    install = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", packages, wanted]
    if subprocess.run(install, check=False).returncode:
        pytest.skip(f"no package index that has {wanted}")
    figures, lineages = [], []
    for name, place in (("ours", None), ("other", packages)):
        folder = tmp_path / name
        write_files(folder, {"answers.csv": ANSWERS})
        in_process(folder, place, "import", "answers.csv")
        in_process(folder, place, "verify")
        line = [sys.executable, "-P", "-c", LINEAGE]
        lineage = subprocess.run(
            line, env=environment(PYTHONPATH=str(place or "")), capture_output=True, text=True, check=True
        )
        lineages.append(lineage.stdout)
        figures.append(in_process(folder, place, "sql", FIGURES, "--format", "json").json())
    assert figures[0] == figures[1]
    assert lineages[0] == lineages[1] != ""
