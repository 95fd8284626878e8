"""The section on format checks: of each check that failed, whose it is."""

from __future__ import annotations

from typing import Any

from promptaudit.report.sections.nights import format_gate
from tests.report.sections.test_sections_across_tasks import report_data


def failed(**of: Any) -> dict[str, Any]:
    return {"model_id": "m", "task_id": "t", "expectation": "c", "reason": "r", "action": "warned", "n_failed": 3, **of}


def test_a_check_of_all_answers_together_is_of_all_and_one_of_a_variant_that_is_gone_of_nobody_known() -> None:
    checks = [
        failed(model_id=None, task_id=None, prompt_variant_id=None, action="failed"),
        failed(prompt_variant_id="v"),
        failed(prompt_variant_id="gone"),
    ]
    variant = {"prompt_variant_id": "v", "strategy": "simple", "variant_index": 2}
    variant |= dict.fromkeys(("paraphrase_temperature", "variation", "setting"))
    data = report_data(n_checks=7, failed_checks=checks, variants=[variant], not_derived=[{"n": 0}])
    (block,) = format_gate.drawn(data).blocks
    assert block.notes == ["3 of 7 checks failed."]
    assert [list(row[:4]) for row in block.tables[0].rows] == [
        ["all"] * 4,
        ["m", "t", "simple", "2"],
        ["m", "t", "?", "?"],
    ]
