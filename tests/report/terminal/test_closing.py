from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import pytest

from promptaudit.cli import main
from promptaudit.report.summary import summary_of
from promptaudit.report.summary_example import Wording
from promptaudit.report.summary_worst import WorstWording
from promptaudit.report.terminal.closing import closing_lines
from promptaudit.warehouse import Warehouse
from tests.report.conftest import Reported
from tests.support.published_copy import table


@pytest.mark.parametrize("name", ["ordinary", "hostile", "judged", "hostile_judged"])
@pytest.mark.parametrize("width", [80, 50])
def test_it_fits_and_its_command_reads_back(name: str, width: int, request: pytest.FixtureRequest) -> None:
    run: Reported = request.getfixturevalue(name)
    summary = summary_of(Warehouse(run.warehouse), run.audit_run_id)
    lines = closing_lines(summary, width)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= max(width, *(11 + len(word) + 4 for word in shlex.split(summary.next_command)))
    assert text.isprintable() or set(filter(lambda char: not char.isprintable(), text)) == {"\n"}
    command = text.rpartition("next       ")[2]
    assert shlex.split(command.replace("\\\n", "")) == shlex.split(summary.next_command)


def test_it_names_the_worst_group_with_its_interval_and_an_example(ordinary: Reported) -> None:
    lines = closing_lines(summary_of(Warehouse(ordinary.warehouse), ordinary.audit_run_id), 80)
    query = (
        "select model_id, task_id, strategy, printf('%.3f [', sensitivity), count(*) over () from marts.rpt_audit "
        f"where audit_run_id = '{ordinary.audit_run_id}' and sensitivity is not null order by sensitivity desc limit 1"
    )
    ((*group, figure, n_groups),) = table(ordinary.warehouse, query)[1]
    text = " ".join(" ".join(lines).split())
    assert f" worst {', '.join(group)}: Sensitivity {figure}" in text
    assert f"], the largest of {n_groups}" in text
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert " ".join(names) == "breaks breaks worst example better unread next"


def test_a_command_is_parted_between_its_words_alone(ordinary: Reported) -> None:
    summary = summary_of(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    long = dataclasses.replace(summary, next_command=f"promptaudit diagnose abc --model '{'a model ' * 5}' --task t")
    assert closing_lines(long, 70)[-2:] == [
        "next       promptaudit diagnose abc --model \\",
        f"             '{'a model ' * 5}' --task t",
    ]


def test_the_worst_wording_is_named_with_what_is_said_of_it(ordinary: Reported) -> None:
    summary = summary_of(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    assert summary.worst is not None
    broken = WorstWording(
        wording=Wording(prompt_variant_id="v", name="wording 6", is_original=False, instruction=None),
        said="breaks, 0.120 against 0.810 of the others",
    )
    for wording, ending in (
        (broken, "; its worst prompt is wording 6: breaks, 0.120 against 0.810 of the others"),
        (WorstWording(wording=None, said="no wording is worse"), "; no wording is worse"),
    ):
        lines = closing_lines(
            dataclasses.replace(summary, worst=dataclasses.replace(summary.worst, wording=wording)), 80
        )
        assert ending in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("is_typed", [True, False])
def test_the_next_command_looks_where_this_one_was_told_to(
    ordinary: Reported,
    is_typed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A warehouse that was typed is typed again; one that the environment names is found there again."""
    cards = tmp_path / "a b"
    cards.mkdir()
    monkeypatch.setenv("PROMPTAUDIT_WAREHOUSE", "elsewhere.duckdb" if is_typed else str(ordinary.warehouse))
    typed = ["--warehouse", str(ordinary.warehouse), "--registry", str(cards)] if is_typed else []
    with pytest.raises(SystemExit):
        main(["report", ordinary.audit_run_id, *typed])
    printed = capsys.readouterr().out.rpartition("next       ")[2].replace("\\\n", "")
    summary = summary_of(Warehouse(ordinary.warehouse), ordinary.audit_run_id)
    assert shlex.split(printed) == [*shlex.split(summary.next_command), *typed]
