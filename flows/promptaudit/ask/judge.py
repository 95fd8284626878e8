"""Asks judges to rule on landed completions: once for equal answers, with controls among them.

One judge may rule on rewordings instead: whether each asks the same as its original.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from promptaudit.ask.anchors import anchors_of
from promptaudit.ask.first_answers import Look
from promptaudit.ask.land import Landing, landing_in
from promptaudit.ask.workers import AskResult, Workers
from promptaudit.cards.prices import cost_of
from promptaudit.engines import Answer, LandedAnswers, Request
from promptaudit.engines.answer_rows import answer_columns
from promptaudit.plan.budget import Purse
from promptaudit.plan.design import Design
from promptaudit.plan.judge_requests import (
    Control,
    Ruling,
    Wording,
    asked_again,
    controls_of,
    judge_key,
    rulings_of,
)
from promptaudit.registry.ages import age_of
from promptaudit.registry.cards import JudgeCard, ModelCard, Price
from promptaudit.system.clock import now
from promptaudit.system.keys import as_json, content_id, request_sha256, sent_by, verdict_id
from promptaudit.udfs.scoring.verdict import SCHEMA, read_verdict
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.sql import over, sql

READ_AT_ONCE = 1000  # completions
MEND = "mend the rubric, or raise max_unreadable_rate_at_first of the judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenRuling:
    # a ruling that has not been made, and where its answer lies

    repetition: int
    task_id: str
    sample_id: str
    prediction_id: str | None = None
    other_prediction_id: str | None = None
    reader: str | None = None
    option_order: Sequence[int] | None = None
    control: Control | None = None
    wording: Wording | None = None

    @property
    def judged_id(self) -> str:
        if self.wording is not None:
            return self.wording.prompt_variant_id
        return self.prediction_id or (self.control.control_id if self.control else "")


def judge(purse: Purse, design: Design, asking: Callable[[Mapping[str, int]], Any]) -> AskResult:
    """Asks every judge for the rulings that are missing and lands its replies, verbatim, the unreadable ones too.

    `asking` makes the progress bars, from a map of judge to number of rulings. Raises as `infer` does.
    """
    if not design.judges:
        return AskResult()
    controls = _controls_and_anchors(purse.warehouse, purse.audit_run_id, design)
    land_changed_judges(purse.warehouse, purse.audit_run_id, design)
    _land_controls(purse.warehouse, purse.audit_run_id, controls)
    missing = {
        name: missing_rulings(purse.warehouse, purse.audit_run_id, design, name, controls)
        for name in asked_judges(design)
    }
    with asking({name: len(wanted) for name, wanted in missing.items()}) as on_answer:
        landing = landing_in(purse.warehouse, purse.audit_run_id)
        workers = Workers(purse.budget, landing, on_answer, age_of(design.audit.retry_within), say=purse.say)

        async def ask_all() -> None:
            async with asyncio.TaskGroup() as group:
                for name, wanted in missing.items():
                    group.create_task(workers.ask(_JudgeWork(purse, design, name, wanted, workers.landing)))

        return workers.run(ask_all())


def asked_judges(design: Design) -> list[str]:
    """Lists the judges that a model answers for: all but panels, whose members vote."""
    return [name for name, card in design.judges.items() if card.model is not None]


def count_missing_rulings(warehouse: Warehouse, audit_run_id: str, design: Design) -> int:
    """Counts the rulings of a run that are not settled, over all judges."""
    controls = _controls_and_anchors(warehouse, audit_run_id, design)
    judges = asked_judges(design)
    return sum(len(missing_rulings(warehouse, audit_run_id, design, name, controls)) for name in judges)


def land_changed_judges(warehouse: Warehouse, audit_run_id: str, design: Design) -> list[str]:
    """Lands the judges that are new or changed since the run opened, and lists their names."""
    newest = warehouse.read(
        "select judge_id, judge_key, card from raw.judges where audit_run_id = $audit_run_id "
        "qualify recorded_at = max(recorded_at) over (partition by judge_id)",
        audit_run_id=audit_run_id,
    )
    decides = ("judge_id", "judge_key", "card")
    known = {tuple(row[name] for name in decides) for row in newest}
    rows = [
        {
            "audit_run_id": audit_run_id,
            "judge_id": name,
            "judge_key": judge_key(design, name),
            "model_id": card.model,
            "panel": as_json(card.panel) if card.panel else None,
            "repetitions": card.repetitions,
            "max_asks": card.max_asks,
            "card": card.canonical_json(),
            "model_card": None if card.model is None else design.registry.model(card.model).canonical_json(),
            "recorded_at": now(),
        }
        for name, card in design.judges.items()
    ]
    changed = [row for row in rows if tuple(row[name] for name in decides) not in known]
    warehouse.land([("judges", frame_of("judges", changed))])
    return [str(row["judge_id"]) for row in changed]


def _controls_and_anchors(warehouse: Warehouse, audit_run_id: str, design: Design) -> list[Control]:
    return [*controls_of(design), *anchors_of(warehouse, audit_run_id, design)]


def _land_controls(warehouse: Warehouse, audit_run_id: str, controls: Sequence[Control]) -> None:
    rows = [
        {
            "audit_run_id": audit_run_id,
            "control_id": control.control_id,
            "task_id": control.task_id,
            "sample_id": control.sample_id,
            "kind": control.kind,
            "completion": control.completion,
            "is_match": control.is_match,
        }
        for control in controls
    ]
    warehouse.land([("judge_controls", frame_of("judge_controls", rows))])


def missing_rulings(
    warehouse: Warehouse, audit_run_id: str, design: Design, judge_id: str, controls: Sequence[Control]
) -> list[_OpenRuling]:
    """Lists the rulings that a judge has not made; a hash mixes the controls among the answers."""
    card = design.judges[judge_id]
    tasks = [task_id for task_id in design.tasks if card.rules_on(task_id)]
    key = judge_key(design, judge_id)
    of_judge = {"run": audit_run_id, "judge": judge_id, "key": key, "repetitions": card.repetitions, "tasks": tasks}
    if judge_id == design.meaning_judge:
        return _missing_meanings(warehouse, of_judge)
    if card.against is not None:
        del of_judge["repetitions"]
        rows = warehouse.read(sql("ask", "missing_pairs"), **of_judge, against=card.against)
        return sorted((_OpenRuling(**row) for row in rows), key=lambda each: (each.judged_id, each.repetition))
    rows = warehouse.read(sql("ask", "missing_rulings"), **of_judge, needs_key=card.needs_key)
    wanted = [_OpenRuling(**row) for row in rows]
    settled = warehouse.read(
        "select control_id, repetition from raw.verdicts where audit_run_id = $run and judge_id = $judge "
        "and judge_key = $key and is_settled and control_id is not null",
        run=audit_run_id,
        judge=judge_id,
        key=key,
    )
    done = {(row["control_id"], row["repetition"]) for row in settled}
    wanted += [
        _OpenRuling(repetition=repetition, task_id=control.task_id, sample_id=control.sample_id, control=control)
        for control in controls
        if control.task_id in tasks and control.place < getattr(card.controls, control.kind)
        for repetition in range(1, card.repetitions + 1)
        if (control.control_id, repetition) not in done
    ]
    return sorted(wanted, key=lambda ruling: content_id(judge_id, ruling.judged_id, str(ruling.repetition)))


def _missing_meanings(warehouse: Warehouse, of_judge: Mapping[str, Any]) -> list[_OpenRuling]:
    # rulings of an earlier run on the same texts are landed for this run first
    rewordings = sql("ask", "rewordings")
    known = warehouse.read(over(sql("ask", "known_meanings"), rewordings=rewordings), **of_judge)
    warehouse.land([("verdicts", frame_of("verdicts", [_taken_over(row, of_judge["run"]) for row in known]))])
    rows = warehouse.read(over(sql("ask", "missing_meanings"), rewordings=rewordings), **of_judge)
    wordings = [
        _OpenRuling(
            repetition=row["repetition"],
            task_id=row["task_id"],
            sample_id="",
            wording=Wording(row["wording_id"], row["original"], row["rewording"], row["output_format"]),
        )
        for row in rows
    ]
    return sorted(wordings, key=lambda ruling: (ruling.judged_id, ruling.repetition))


def _taken_over(row: dict[str, Any], run: str) -> dict[str, Any]:
    # as a ruling of this run that cost nothing and was not sent
    own = {"audit_run_id": run, "prompt_variant_id": row.pop("wording_id"), "landed_at": now()}
    unsent = dict.fromkeys(("cost_usd", "latency_ms", "request_sha256", "request_id"))
    source = as_json({"audit_run_id": row["audit_run_id"], "verdict_id": row["verdict_id"]})
    return (
        row
        | own
        | unsent
        | {"verdict_id": content_id("verdict", run, row["verdict_id"]), "source": source, "n_attempts": 0}
    )


class _JudgeWork:
    # one judge's missing rulings; an unreadable reply is asked for again, as often as the card allows

    what = "judge"
    landed: LandedAnswers | None = None  # a judge perturbs nobody

    def __init__(
        self, purse: Purse, design: Design, judge_id: str, wanted: list[_OpenRuling], landing: Landing
    ) -> None:
        self.name = judge_id
        self._purse, self._design, self._landing = purse, design, landing
        self._card: JudgeCard = design.judges[judge_id]
        self._key = judge_key(design, judge_id)
        entry = design.registry.entry("models", self._card.model or "")
        model = _capped(design.registry.model(self._card.model or ""), self._card.max_tokens)
        self.entry = replace(entry, card=model)
        self._sent = sent_by(model)
        asks_for_schema = self._card.reply is None and self._card.marks != "none"
        self._schema = SCHEMA if model.takes_schemas and asks_for_schema else None
        self._samples = {
            (task_id, sample.sample_id): sample
            for task_id, chosen in design.samples.items()
            for sample in chosen.samples
        }
        self._open: dict[str, tuple[_OpenRuling, Ruling, int]] = {}  # by the id of the verdict that is asked for
        self._look = Look(
            f"judge '{judge_id}'",
            "verdict",
            self._read,
            self._card.max_unreadable_rate_at_first,
            purse.say,
            MEND,
            n_requests=len(wanted),
        )
        self.requests = self._requests(wanted)

    async def admit(self) -> None:
        await self._look.admit()

    def take(self, request: Request, answer: Answer, price: Price | None) -> Request | None:
        # an unreadable reply is followed by the next ask, if one is left
        wanted, ruling, ask = self._open.pop(request.prediction_id)
        self._landing.add_attempts(request.prediction_id, answer.attempts)
        if not answer.is_landed:
            self._open[request.prediction_id] = wanted, ruling, ask  # it may be asked again
            self._look.see(request, answer)  # counts replies, answered or not
            return None
        is_readable = read_verdict(answer.completion, self._card.reply_form).is_match is not None
        is_settled = is_readable or answer.completion is None or ask >= self._card.max_asks
        row = {
            "audit_run_id": self._purse.audit_run_id,
            "verdict_id": request.prediction_id,
            "prediction_id": wanted.prediction_id,
            "other_prediction_id": wanted.other_prediction_id,
            "control_id": ruling.control_id,
            "prompt_variant_id": None if wanted.wording is None else wanted.wording.prompt_variant_id,
            "judge_id": self.name,
            "judge_key": self._key,
            "repetition": wanted.repetition,
            "ask": ask,
            "is_settled": is_settled,
            "finish_reason": answer.finish_reason,
            "request_sha256": request.request_sha256,
            **answer_columns(answer, cost_of(answer, price), now()),
        }
        self._landing.append("verdicts", row)
        self._landing.n_landed += is_settled
        self._look.see(request, answer)
        return None if is_settled else self._request(wanted, ruling, ask + 1)

    def end(self) -> None:
        self._look.end()

    def notes(self) -> list[str]:
        return []

    def _requests(self, wanted: list[_OpenRuling]) -> Iterator[Request]:
        n_asked = self._asked_before()
        for start in range(0, len(wanted), READ_AT_ONCE):
            some = wanted[start : start + READ_AT_ONCE]
            completions = _completions(self._purse.warehouse, self._purse.audit_run_id, some)
            for each in some:
                completion = each.wording.rewording if each.wording else completions.get(each.prediction_id or "", "")
                completion = each.control.completion if each.control else completion
                signs = tuple(_signs(each.reader))
                control_id = each.control.control_id if each.control else None
                ruling = Ruling(
                    prediction_id=each.prediction_id,
                    control_id=control_id,
                    task_id=each.task_id,
                    sample_id=each.sample_id,
                    signs=signs,
                    completion=completion,
                    option_order=tuple(each.option_order or ()),
                    other=None if each.other_prediction_id is None else completions[each.other_prediction_id],
                    is_swapped=each.other_prediction_id is not None and each.repetition > 1,
                )
                yield self._request(each, ruling, n_asked.get((each.judged_id, each.repetition), 0) + 1)

    def _request(self, wanted: _OpenRuling, ruling: Ruling, ask: int) -> Request:
        task = self._design.tasks[ruling.task_id]
        sample = wanted.wording.as_sample if wanted.wording else self._samples[ruling.task_id, ruling.sample_id]
        messages, question = rulings_of(task, self._card, sample, ruling)
        messages = asked_again(messages, self._card, ask)
        sha256 = request_sha256(self._sent, messages, wanted.repetition, self._schema)
        asked_id = verdict_id(self._purse.audit_run_id, self.name, wanted.judged_id, wanted.repetition, ask, sha256)
        self._open[asked_id] = (wanted, ruling, ask)
        return Request(
            prediction_id=asked_id,
            model_id=self.name,
            task_id=ruling.task_id,
            strategy="",
            prompt_variant_id=wanted.judged_id,
            paraphrase_temperature=None,
            variant_index=ask - 1,
            sample_id=ruling.sample_id,
            repetition=wanted.repetition,
            messages=messages,
            labels=(),
            text=ruling.completion,
            request_sha256=sha256,
            answer_schema=self._schema,
            question=question,
        )

    def _read(self, request: Request, answer: Answer) -> tuple[str | None, bool]:
        del request
        is_match = read_verdict(answer.completion, self._card.reply_form).is_match
        return None if is_match is None else f"match {is_match}".lower(), is_match is not None

    def _asked_before(self) -> dict[tuple[str, int], int]:
        # by executions that were stopped, for rulings that are not settled
        rows = self._purse.warehouse.read(
            sql("ask", "unsettled_rulings"),
            run=self._purse.audit_run_id,
            judge=self.name,
            key=self._key,
        )
        return {(row["judged_id"], row["repetition"]): row["ask"] for row in rows}


def _capped(model: ModelCard, max_tokens: int) -> ModelCard:
    # the model's own cap fits a label, and a verdict needs more room
    name = "max_tokens" if model.sampling.max_completion_tokens is None else "max_completion_tokens"
    sampling = model.sampling.model_copy(update={name: max_tokens})
    return model.model_copy(update={"sampling": sampling})


def _signs(reader: str | None) -> Sequence[str]:
    # the enumerators that a multiple-choice prompt showed, as its reader keeps them
    shown = json.loads(reader) if reader else None
    return shown.get("option_letter", ()) if isinstance(shown, dict) else ()


def _completions(warehouse: Warehouse, audit_run_id: str, some: Sequence[_OpenRuling]) -> dict[str, str]:
    ids = {each for ruling in some for each in (ruling.prediction_id, ruling.other_prediction_id) if each is not None}
    rows = warehouse.read(
        "select prediction_id, completion from raw.predictions where audit_run_id = $run "
        "and prediction_id in (select unnest($ids))",
        run=audit_run_id,
        ids=sorted(ids),
    )
    return {row["prediction_id"]: row["completion"] for row in rows}
