"""Pages of a report of many tasks: the most sensitive ones first, by the models that are audited."""

from __future__ import annotations

from promptaudit.report.page_size import parted

CARD = [
    {"task_id": task, "model_id": model, "sensitivity": sensitivity}
    for task, known, chance in (("steady", 0.1, 0.9), ("wavering", 0.5, 0.7), ("unmeasured", None, None))
    for model, sensitivity in (*((f"m{n}", known) for n in range(20)), ("random", chance))
]


def test_a_model_that_answers_by_chance_moves_no_task_to_the_first_page() -> None:
    assert parted(CARD, {"random"}) == [{"wavering"}, {"steady"}, {"unmeasured"}]
    assert parted(CARD) == [{"steady"}, {"wavering"}, {"unmeasured"}]


def test_models_by_chance_count_where_there_are_no_others() -> None:
    alone = [row for row in CARD if row["model_id"] == "random"]
    assert parted(alone * 20, {"random"}) == [{"steady"}, {"wavering"}, {"unmeasured"}]
