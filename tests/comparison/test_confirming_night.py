"""Which night has to confirm a verdict on two others."""

from __future__ import annotations

import pytest

from flows.comparison.compare import Pair, confirming_night
from flows.warehouse import Warehouse
from tests.support.handmade_warehouse import Gated, run_id

FIRST, SECOND, THIRD, FOURTH, EDITED = "abcde"  # nights of one audit; before the last of them its prompt was edited
TRIAL, IMPORT, ELSEWHERE = "123"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Five nights of one audit, a day apart, and what is none of its nights or has no figures."""
    made = Gated(tmp_path_factory.mktemp("nights"))
    for days, name in enumerate((EDITED, FOURTH, THIRD, SECOND, FIRST), start=1):
        made.row("rpt_audit", made.run(name, hours=24 * days, plan="edited" if name == EDITED else "p"))
    made.row("rpt_audit", made.run(TRIAL, hours=84, origin="trial"))
    made.row("rpt_audit", made.run(IMPORT, hours=84, origin="import"))
    made.row("rpt_audit", made.run(ELSEWHERE, hours=84, audit="other"))
    made.row("rpt_audit", made.run("4", hours=84, state="running"))
    made.run("5", hours=84)
    return Warehouse(made.published())


@pytest.mark.parametrize(
    ("base", "candidate", "confirming"),
    [
        (SECOND, THIRD, FIRST),
        (THIRD, SECOND, FIRST),  # exchanged
        (SECOND, FOURTH, FIRST),
        (THIRD, FOURTH, SECOND),
        (FIRST, SECOND, None),
        (FIRST, THIRD, SECOND),  # none before: the last one between
        (FIRST, FOURTH, THIRD),
        (FOURTH, EDITED, THIRD),
        (FIRST, EDITED, None),  # what is between asked something else than the newer one
        (FIRST, FIRST, None),
        (THIRD, IMPORT, None),
        (THIRD, TRIAL, None),
        (THIRD, ELSEWHERE, None),
    ],
)
def test_it_is_the_night_before_the_older_one_else_the_last_one_between(
    warehouse: Warehouse, base: str, candidate: str, confirming: str | None
) -> None:
    found = confirming_night(warehouse, Pair(base_run_id=run_id(base), candidate_run_id=run_id(candidate)))
    assert found == (None if confirming is None else run_id(confirming))


def test_two_models_of_two_nights_have_none(warehouse: Warehouse) -> None:
    pair = Pair(
        base_run_id=run_id(SECOND), candidate_run_id=run_id(THIRD), base_model_id="m", candidate_model_id="n"
    )  # fmt: skip
    assert confirming_night(warehouse, pair) is None
