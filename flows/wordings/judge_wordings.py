"""Has the rubrics of judges reworded by the audit's rephraser, or finds those that an earlier run made, and lands them.

A verdict carries the key of its judge under the wording that it was asked by, so that whoever reads verdicts by the judge's own
key reads those of the rubric as it is written, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from promptaudit.flows.plan.budget import Purse
from promptaudit.flows.plan.design import Design
from promptaudit.flows.plan.judge_requests import judge_key
from promptaudit.flows.rephrasers import Wording
from promptaudit.flows.rephrasers.refusals import shortfall
from promptaudit.flows.rephrasers.templates import rubric_wording
from promptaudit.flows.system.keys import as_json, content_id, sent_by
from promptaudit.flows.warehouse import Warehouse, now
from promptaudit.flows.warehouse.rows import frame_of
from promptaudit.flows.warehouse.sql import sql
from promptaudit.flows.wordings.paraphrase import numbered, reworded
from promptaudit.flows.wordings.variants import Proposal
from promptaudit.models_registry.cards import JudgeCard, RephraserCard


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricWording:
    """A judge with one wording of its rubric; index 0 is the rubric as it is written."""

    wording_index: int
    judge_key: str  # of the judge with this rubric: what verdicts under it carry
    card: JudgeCard


def rubric_key(design: Design, judge_id: str) -> str | None:
    """Returns the id of what decides the wordings of a judge's rubric; None where it is not reworded.

    It is of the rubric, what must be kept of it, how many wordings are wanted, the rephraser's card and its model: judges that
    share a rubric share its wordings, unless a person listed them for each.
    """
    rephraser = _rephraser(design, judge_id)
    if rephraser is None:
        return None
    wording = _wording(design, judge_id, rephraser)
    model = None if rephraser.model is None else as_json(sent_by(design.registry.model(rephraser.model)))
    return content_id(
        "rubric",
        wording.instruction,
        as_json([wording.protected, wording.lines]),
        str(_wanted(design, judge_id)),
        rephraser.canonical_json(),
        model,
        judge_id if rephraser.is_given else None,
    )


def rubric_wordings(warehouse: Warehouse, audit_run_id: str, design: Design, judge_id: str) -> list[RubricWording]:
    """Returns a judge under each wording of its rubric that a run has, the rubric as it is written first; that alone else."""
    card = design.judges[judge_id]
    as_written = RubricWording(wording_index=0, judge_key=judge_key(design, judge_id), card=card)
    landed = _landed(warehouse, audit_run_id, design, judge_id)
    return [as_written, *(each for each in landed if each.wording_index > 0)]


def reword_rubrics(purse: Purse, design: Design, *, anew: bool = False) -> list[str]:
    """Lands the wordings of each rubric that the audit has reworded and the run has not; returns which are fewer than wanted.

    They are those of an earlier run with the same rubric and rephraser unless they are made `anew`. Raises BudgetReached before
    a rephraser's request that may cross the budget; what it has said by then is landed.
    """
    notes = []
    for judge_id, key in _reworded(design):
        if _landed(purse.warehouse, purse.audit_run_id, design, judge_id):
            continue
        earlier = _earlier(purse.warehouse, key, purse.audit_run_id if anew else None)
        proposals = _made(purse, design, judge_id) if earlier is None else earlier
        n_kept = sum(each.refused_because is None for each in proposals)
        wanted = _wanted(design, judge_id)
        if n_kept < wanted:
            notes.append(shortfall(judge_id, n_kept, wanted, len(proposals) - n_kept, None, what="judge"))
        rows = _rows(purse.audit_run_id, design, judge_id, key, proposals)
        # one rubric at a time: it may have been paid for
        purse.warehouse.land([("judge_wordings", frame_of("judge_wordings", rows))])
    return notes


def are_rubrics_made(warehouse: Warehouse, design: Design, *, anew: bool) -> bool:
    """Returns whether no rephraser is asked for wordings of rubrics: an earlier run made all of them, or there are none."""
    return all(not anew and _earlier(warehouse, key) is not None for _, key in _reworded(design))


def _reworded(design: Design) -> Iterator[tuple[str, str]]:
    """Yields the judges whose rubrics are reworded, each with the key of its wordings."""
    for judge_id in design.judges:
        key = rubric_key(design, judge_id)
        if key is not None:
            yield judge_id, key


def _rephraser(design: Design, judge_id: str) -> RephraserCard | None:
    """Returns what rewords a judge's rubric: where each model rewords its own prompts, the judge's model does."""
    rephrasing, options = design.audit.rephrasing, design.audit.judges.get(judge_id)
    if options is None or options.wordings is None or rephrasing is None or rephrasing.rephraser is None:
        return None
    card = design.registry.rephraser(rephrasing.rephraser)
    return card.by(design.judges[judge_id].model or "") if card.is_self else card


def _wanted(design: Design, judge_id: str) -> int:
    return (design.audit.judges[judge_id].wordings or 1) - 1


def _wording(design: Design, judge_id: str, rephraser: RephraserCard) -> Wording:
    return rubric_wording(judge_id, design.judges[judge_id], is_given=rephraser.is_given)


def _landed(warehouse: Warehouse, audit_run_id: str, design: Design, judge_id: str) -> list[RubricWording]:
    """Returns the wordings of a judge's rubric that a run has, refused ones and the rubric as it is written among them."""
    key = rubric_key(design, judge_id)
    if key is None:
        return []
    rows = warehouse.read(
        "select wording_index, wording_key, rubric from raw.judge_wordings where audit_run_id = $run "
        "and judge_id = $judge and judge_key = $key and rephrasing_key = $rephrasing_key order by wording_index",
        run=audit_run_id,
        judge=judge_id,
        key=judge_key(design, judge_id),
        rephrasing_key=key,
    )
    card = design.judges[judge_id]
    return [
        RubricWording(
            wording_index=row["wording_index"],
            judge_key=row["wording_key"],
            card=card.model_copy(update={"rubric": row["rubric"]}),
        )
        for row in rows
    ]


def _earlier(warehouse: Warehouse, key: str, audit_run_id: str | None = None) -> list[Proposal] | None:
    """Returns what a rephraser made of a rubric before, in one run or in any; None where it has not been asked."""
    rows = warehouse.read(sql("wordings", "earlier_rubrics"), key=key, run=audit_run_id)
    proposals = [Proposal(paraphrase_temperature=None, **row) for row in rows]
    return [each for each in proposals if each.variant_index != 0] if proposals else None


def _made(purse: Purse, design: Design, judge_id: str) -> list[Proposal]:
    rephraser = _rephraser(design, judge_id)
    if rephraser is None:
        return []
    wording = _wording(design, judge_id, rephraser)
    return numbered(reworded(design, rephraser, wording, purse, wanted=_wanted(design, judge_id), temperatures=(None,)))


def _rows(
    audit_run_id: str, design: Design, judge_id: str, key: str, proposals: Sequence[Proposal]
) -> list[dict[str, object]]:
    card, rephrasing = design.judges[judge_id], design.audit.rephrasing
    original = Proposal(paraphrase_temperature=None, variant_index=0, instruction=card.rubric)
    rows: list[dict[str, object]] = []
    for each in (original, *proposals):
        is_asked = each.refused_because is None
        worded = card.model_copy(update={"rubric": each.instruction})
        is_original = each.variant_index == 0
        rows.append(
            {
                "audit_run_id": audit_run_id,
                "judge_id": judge_id,
                "judge_key": judge_key(design, judge_id),
                "rephrasing_key": key,
                "wording_index": each.variant_index,
                "wording_key": judge_key(design, judge_id, worded) if is_asked else None,
                "rubric": each.instruction,
                "is_original": is_original,
                "rephraser_id": None if rephrasing is None or is_original else rephrasing.rephraser,
                "refused_because": each.refused_because,
                "landed_at": now(),
            }
        )
    return rows
