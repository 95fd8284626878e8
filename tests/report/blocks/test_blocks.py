"""Blocks of a section: what is missing of many tasks for one reason is said once."""

from __future__ import annotations

from promptaudit.report.blocks.blocks import DrawnSection

REASON = "No sample of this task has a gold label."


def test_tasks_without_a_section_for_the_same_reason_are_named_together() -> None:
    section = DrawnSection("classes", "By class", "")
    for task in ("a", "b", "c", "d"):
        section.add(task)
    first, second, third, fourth = section.blocks
    first.absent = [REASON]
    second.notes = ["There is something."]
    third.absent, third.notes = [REASON], ["There is something beside it."]
    fourth.absent = [REASON]
    assert [(block.task_id, block.others) for block in section.shown] == [("a", ("d",)), ("b", ()), ("c", ())]
    assert [block.others for block in section.blocks] == [()] * 4


def test_other_reasons_stand_apart() -> None:
    section = DrawnSection("classes", "By class", "")
    section.add("a").absent = [REASON]
    section.add("b").absent = [REASON, "It was asked once."]
    section.add("c")
    assert [block.task_id for block in section.shown] == ["a", "b", "c"]
