"""Gathers a run's figures from the published marts as plain rows."""

from __future__ import annotations

from dataclasses import fields

from promptaudit.query.history.nights import MOST_NIGHTS, gather_nights
from promptaudit.report.ask_copy import Copy, rows
from promptaudit.report.blocks.blocks import by
from promptaudit.report.contents import SECTIONS
from promptaudit.report.data import LABELS, JudgingData, ReportData
from promptaudit.report.gather_answers import gather_answers
from promptaudit.report.queries import query
from promptaudit.report.summary import gate_of, summarise
from promptaudit.system.display.policy import Policy, Texts
from promptaudit.warehouse import Ask, Row, Warehouse

OF_PAGE = tuple(each.name for each in fields(ReportData) if each.default_factory is list)
OF_SECTIONS = tuple(sorted({name for section in SECTIONS for name in section.reads}))


def gather(warehouse: Warehouse, audit_run_id: str, text: Policy | None = None) -> ReportData:
    """Gathers all that the report prints, with texts by the policy `text`.

    Raises WarehouseError if the run is not published.
    """
    with warehouse.published.connect() as con:
        copy = Copy(con, warehouse, audit_run_id, Texts(text))
        rows_of_queries = {name: copy(query(name)) for name in OF_PAGE}
        rows_of_queries["changes"] = _unquoted(copy, warehouse, rows_of_queries["changes"])
        gate = gate_of(warehouse, copy.run)
        return ReportData(
            run=copy.run,
            texts=copy.texts,
            gate=gate,
            summary=summarise(copy, gate, rows_of_queries),
            judging=gather_judging(copy),
            answers=gather_answers(con, audit_run_id, copy.texts),
            nights=gather_nights(copy, query("nights"), MOST_NIGHTS),
            has_formats_page=warehouse.places.formats_page(copy.run["audit_run_id"]).is_file(),
            n_checks=copy(query("n_checks"))[0]["n_checks"],
            of_sections={name: copy(query(name)) for name in OF_SECTIONS},
            **rows_of_queries,
        )


def _unquoted(copy: Copy, warehouse: Warehouse, compared: list[Row]) -> list[Row]:
    # reasons may quote a text that is left out
    if all(copy.texts.of(row["task_id"]) != "none" for row in compared):
        return compared
    recorded = query("recorded_changes")
    return [
        row
        for comparison, own in by(compared, "comparison_id").items()
        for row in copy.texts.unquoted(own, rows(warehouse, recorded, copy.run["audit_run_id"], comparison=comparison))
    ]


def gather_judging(ask: Ask) -> JudgingData:
    """Gathers the rows of one run. They are empty if answers are only matched with labels."""
    spreads = ask(query("spreads"))
    tasks = {row["task_id"] for row in spreads if row["scoring_method"] != LABELS}
    agreements = ask(query("agreement"))  # people may have ruled where no judge has
    tasks |= {row["task_id"] for row in agreements if row["task_id"] is not None}
    if not tasks:
        return JudgingData()
    judges = ask(query("judges"))
    names = ("comparisons", "controls", "anchors", "rulings", "disagreements")
    return JudgingData(
        spreads=[row for row in spreads if row["task_id"] in tasks],
        rankings=[row for row in ask(query("rankings")) if row["task_id"] in tasks],
        agreements=agreements,
        judges=judges,
        **{name: ask(query(name)) for name in names if judges},
    )
