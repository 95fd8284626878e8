"""Estimates how much an audit asks and costs, as a whole and for subsamples of it; calls nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from promptaudit.cards.check_cards import CardCheck, check_audit, lines_of_refusals
from promptaudit.cards.check_cards.data import choose
from promptaudit.cards.prices import CHARACTERS_A_TOKEN, completion_tokens, known_usd, price_of, prompt_tokens
from promptaudit.cards.rewording import n_variants, rewordings_of
from promptaudit.plan.grid import n_asks
from promptaudit.plan.judge_requests import Ruling, Wording, rulings_of
from promptaudit.prompts.answer_schema import original_schema
from promptaudit.prompts.messages import STRUCTURED, prompt_of, render
from promptaudit.prompts.templates import OWN, ask
from promptaudit.registry.cards import AuditCard, JudgeCard, ModelCard, TaskCard, TemplateCard
from promptaudit.registry.errors import UsageError, nearest, raise_all
from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.registry import Registry
from promptaudit.registry.samples import ChosenSamples, Sample
from promptaudit.registry.template_cards import OF_OPTIONS
from promptaudit.system.display.columns import aligned
from promptaudit.system.display.figures import count

SHARES = (0.02, 0.05, 0.10, 0.25, 0.50, 0.75)
UNSEEN_INPUT, UNSEEN_OPTION = 400, 40  # characters, if neither data nor card gives their length
MEASURED_SAMPLES = 200
REPHRASING_TOKENS = 60
FREE_ANSWER_TOKENS = 100  # of an open or multiple-choice answer, unless a card caps it at less
VERDICT_TOKENS = 60
UNSEEN_ANSWER = "x" * 200
WIDTHS = (32, -12, -16, -16, -12)


@dataclass(frozen=True, slots=True)
class Total:
    """Sums requests, tokens and USD; USD is None if a price is unknown."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """Counts what one model, rephraser or judge is asked.

    `what` names the kind; `as`: a model in place of each of the audit's.
    """

    what: str
    name: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Subsample:
    """Counts what a share of the samples takes."""

    share: float
    requests: int
    usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Lists requests, tokens and USD of an audit or a trial, and what prevents `run` from starting on this machine."""

    audit_id: str
    lines: Sequence[Line]
    total: Total
    subsamples: Sequence[Subsample] = ()
    others: Sequence[Line] = ()
    notes: Sequence[str]
    run_refuses: Sequence[str]

    def table(self) -> Iterator[str]:
        """Writes a table of 88 characters, with subsamples and other models, and the notes."""

        def line(label: str, own: Line | Total) -> str:
            tokens = (count(own.prompt_tokens), count(own.completion_tokens))
            return aligned((label[:31], count(own.requests), *tokens, money(own.usd)), WIDTHS)

        yield aligned(("", "requests", "prompt tokens", "answer tokens", "USD"), WIDTHS)
        yield from (line(f"{each.what} {each.name}", each) for each in self.lines)
        yield line("total", self.total)
        for part in self.subsamples:
            yield aligned((f"{part.share:.0%} of the samples", count(part.requests), "", "", money(part.usd)), WIDTHS)
        yield from (line(f"{each.what} {each.name}", each) for each in self.others)
        yield from (*self.notes, *lines_of_refusals(self.run_refuses))


def money(usd: float | None) -> str:
    """Writes an amount in USD without the sign."""
    return "unknown" if usd is None else f"{usd:,.2f}"


def line_of(what: str, name: str, card: ModelCard, requests: int, tokens_in: int, tokens_out: int) -> Line:
    """Makes the line of what a model is asked, at its price."""
    return Line(what, name, requests, tokens_in, tokens_out, known_usd(price_of(card), tokens_in, tokens_out))


def estimate_audit(registry: Registry, audit_id: str, others: Sequence[str] = ()) -> Estimate:
    """Estimates requests, tokens and USD by model, rephraser and judge, and of subsamples.

    USD is None if a price is unknown.

    `others` are models that might be asked in place of each of the audit's: ids of cards, or names that the price
    library knows. Raises every error of the audit's cards and their data at once, and UsageError for another model that
    neither a card nor the price library knows.
    """
    checked = check_audit(registry, audit_id)
    raise_all(checked.errors)
    audit, notes = registry.audit(audit_id), [*checked.notes, *checked.passed_over]
    measured = {name: _size_of(checked, name) for name in audit.tasks}
    rows = [_row(registry, audit, name, registry.model(name), measured) for name in registry.models_of(audit_id)]
    rephrasers = _rephraser_rows(registry, audit_id)
    judges = [
        _judge_row(registry, audit_id, name, measured)
        for name, card in checked.cards.judges.items()
        if card.model is not None
    ]
    if judges:
        notes.append(
            "judges: at most; equal answers to a question are ruled on once, anchors of people as far as they ruled"
        )
    lines = [*rows, *rephrasers, *judges]
    total, fixed = total_of(lines), total_of(rephrasers)
    return Estimate(
        audit_id=audit_id,
        lines=lines,
        total=total,
        subsamples=[_subsample(share, total, fixed) for share in SHARES],
        others=[
            replace(_row(registry, audit, name, _other_model(registry, audit_id, name), measured), what="as")
            for name in others
        ],
        notes=notes,
        run_refuses=checked.run_refuses,
    )


def total_of(lines: Sequence[Line]) -> Total:
    """Adds up the lines."""
    known = [line.usd for line in lines if line.usd is not None]
    return Total(
        requests=sum(line.requests for line in lines),
        prompt_tokens=sum(line.prompt_tokens for line in lines),
        completion_tokens=sum(line.completion_tokens for line in lines),
        usd=None if len(known) < len(lines) else sum(known),
    )


def _subsample(share: float, total: Total, fixed: Total) -> Subsample:
    # the requests of rephrasers are the same for every share
    requests = round((total.requests - fixed.requests) * share) + fixed.requests
    if total.usd is None or fixed.usd is None:
        return Subsample(share, requests, None)
    return Subsample(share, requests, (total.usd - fixed.usd) * share + fixed.usd)


@dataclass(frozen=True, slots=True)
class TaskSize:
    """Holds how many samples of a task are asked, some of them, and its examples."""

    n_samples: int
    some: Sequence[Sample]
    chosen: ChosenSamples


def _size_of(checked: CardCheck, name: str) -> TaskSize:
    # the samples if they are here, else as many as the card says
    card, own = checked.cards.tasks[name], checked.cards.audit.samples.of(name)
    if name not in checked.cards.samples and card.data.rows is not None:
        some = _unseen(card, checked.cards.templates_of(card))
        examples = card.examples or dict.fromkeys(card.label_names, some.text)
        n_rows = min(card.data.rows, own.limit or card.data.rows)
        return TaskSize(own.in_one_run(n_rows), (some,), ChosenSamples((some,), examples))
    chosen = checked.cards.samples.get(name) or choose(checked.cards, name)
    return TaskSize(own.in_one_run(len(chosen.samples)), chosen.samples[:MEASURED_SAMPLES], chosen)


def _unseen(card: TaskCard, templates: TemplateCard | None) -> Sample:
    # stands for all samples; each text that prompts use is as long as the card says
    used = templates.templates if templates is not None else ()
    texts = [each.text for each in used] or [card.instruction, *(message.content for message in card.messages)]
    names = {name for text in texts for name in placeholders(text)}
    lengths = {name: card.data.characters.get(name, UNSEEN_INPUT) for name in ("input", *names)}
    option = "x" * card.data.characters.get("options", UNSEEN_OPTION)
    options = (option,) * len(card.labels) if card.kind == "multiple_choice" else ()
    fields = {name: "x" * length for name, length in lengths.items() if name not in OWN.union(OF_OPTIONS)}
    return Sample("", fields.pop("input"), None, fields, options)


def _n_asks(registry: Registry, audit: AuditCard, task_id: str, strategy: str, size: TaskSize) -> int:
    # variants, every repetition, and the second asks of a share
    own = audit.repetitions
    return sum(
        n_asks(own, own.at_most(is_original=wording == 0), size.n_samples, is_original=wording == 0)
        for wording in range(_n_wordings(registry, audit, task_id, strategy, size))
    )


def _n_wordings(registry: Registry, audit: AuditCard, task_id: str, strategy: str, size: TaskSize) -> int:
    task = registry.task(task_id)
    templates = None if task.templates is None else registry.templates(task.templates)
    return n_variants(audit, task, strategy, templates, size.chosen)


def _other_model(registry: Registry, audit_id: str, name: str) -> ModelCard:
    # the model's own card, else the first audited model's under this name, if the price library knows the name
    if registry.find("models", name) is not None:
        return registry.model(name)
    first = registry.model(registry.models_of(audit_id)[0])
    card = ModelCard(engine="openai_api", model=name, sampling=first.sampling)
    if price_of(card) is None:
        near = nearest(name, registry.entries["models"])
        msg = f"--as {name}: no model card has this id, and the price library does not know it{near}"
        raise UsageError(msg)
    return card


def _row(registry: Registry, audit: AuditCard, name: str, card: ModelCard, measured: Mapping[str, TaskSize]) -> Line:
    requests = tokens_in = tokens_out = 0
    for task_id in audit.tasks:
        task = registry.task(task_id)
        for strategy in _strategies(audit, task):
            asks = _n_asks(registry, audit, task_id, strategy, measured[task_id])
            requests += asks
            tokens_in += round(asks * _mean_prompt(registry, task, strategy, measured[task_id]))
            tokens_out += asks * mean_answer(card, task)
    return line_of("model", name, card, requests, tokens_in, tokens_out)


def _strategies(audit: AuditCard, task: TaskCard) -> Sequence[str]:
    # templates are whole prompts, of one strategy
    return audit.strategies if task.templates is None else ("simple",)


def mean_answer(card: ModelCard, task: TaskCard) -> int:
    """Estimates how many tokens an answer to a task has."""
    if task.kind == "classification":
        return completion_tokens(card, task.label_names)
    return min(card.sampling.token_cap or FREE_ANSWER_TOKENS, FREE_ANSWER_TOKENS)


def _mean_prompt(registry: Registry, task: TaskCard, strategy: str, measured: TaskSize) -> float:
    some = measured.some
    if task.templates is not None:
        templates = registry.templates(task.templates).templates
        sizes = [prompt_tokens(ask(template, sample)) for template in templates for sample in some]
        return sum(sizes) / len(sizes)
    prompt = prompt_of(task, strategy, measured.chosen.examples)
    schema = len(original_schema(task)) / CHARACTERS_A_TOKEN if strategy == STRUCTURED else 0.0
    return schema + sum(prompt_tokens(render(prompt, task.instruction, sample)) for sample in some) / len(some)


def _rephraser_rows(registry: Registry, audit_id: str) -> list[Line]:
    # one row for each model that rewords, for every model or for itself
    audit = registry.audit(audit_id)
    if audit.rephrasing is None or audit.rephrasing.rephraser is None:
        return []
    name, groups = audit.rephrasing.rephraser, audit.rephrasing.temperatures or (None,)
    card, models = registry.rephraser(name), {each: registry.model(each) for each in registry.models_of(audit_id)}
    n_texts = sum(audit.rephrasing.templates or registry.task(each).templates is None for each in audit.tasks)
    requests = len(groups) * (n_texts + _n_descriptions(registry, audit))
    tokens_in, tokens_out = requests * 3 * REPHRASING_TOKENS, requests * audit.rephrasing.wanted * REPHRASING_TOKENS
    return [
        line_of(
            "rephraser",
            name if rewording.own_of is None else f"{rewording.own_of} for itself",
            registry.model(rewording.card.model),
            requests,
            tokens_in,
            tokens_out,
        )
        for rewording in rewordings_of(card, models)
        if audit.rephrasing.has_wording and rewording.card is not None and rewording.card.model is not None
    ]


def _judge_row(registry: Registry, audit_id: str, name: str, measured: Mapping[str, TaskSize]) -> Line:
    audit, card = registry.audit(audit_id), registry.judge(name)
    is_of_wordings = audit.rephrasing is not None and name == audit.rephrasing.meaning
    requests = tokens_in = 0
    for task_id in filter(card.rules_on, audit.tasks):
        if is_of_wordings:
            n, size = _rewordings_ruled_on(registry, audit_id, task_id, card)
        else:
            n, size = _answers_ruled_on(registry, audit_id, task_id, card, measured[task_id])
        requests += n
        tokens_in += round(n * size)
    tokens_out = requests * min(card.max_tokens, VERDICT_TOKENS)
    return line_of("judge", name, registry.model(card.model or ""), requests, tokens_in, tokens_out)


def _answers_ruled_on(
    registry: Registry, audit_id: str, task_id: str, card: JudgeCard, measured: TaskSize
) -> tuple[int, float]:
    # every answer that has a key is judged once a repetition, and so are the controls; with the mean tokens of each
    audit, task, some = registry.audit(audit_id), registry.task(task_id), measured.some
    n_models, strategies = len(registry.models_of(audit_id)), _strategies(audit, task)
    answers = sum(_n_asks(registry, audit, task_id, each, measured) for each in strategies) * n_models
    n = (answers + sum(value for _, value in card.controls)) * card.repetitions
    if card.against is not None:
        first_asks = sum(_n_wordings(registry, audit, task_id, each, measured) for each in strategies)
        n = first_asks * measured.n_samples * (n_models - 1) * 2  # in both orders
    other = None if card.against is None else UNSEEN_ANSWER
    sizes = [_ruling_tokens(task_id, task, card, sample, UNSEEN_ANSWER, other) for sample in some]
    return n, sum(sizes) / len(sizes)


def _rewordings_ruled_on(registry: Registry, audit_id: str, task_id: str, card: JudgeCard) -> tuple[int, float]:
    # every rewording of a task is judged once a repetition; with the tokens of each
    task, own = registry.task(task_id), registry.audit(audit_id).rephrasing
    if own is None or not task.instruction:
        return 0, 0
    n = sum(own.n_of(kind) - 1 for kind in own.kinds if kind in ("wording", "language"))
    if own.rephraser is not None and registry.rephraser(own.rephraser).is_self:  # each model has rewordings of its own
        n *= len(registry.models_of(audit_id))
    wording = Wording("", task.instruction, task.instruction, task.output_format)
    return n * card.repetitions, _ruling_tokens(task_id, task, card, wording.as_sample, task.instruction)


def _ruling_tokens(
    task_id: str, task: TaskCard, card: JudgeCard, sample: Sample, completion: str, other: str | None = None
) -> int:
    ruling = Ruling(
        prediction_id=None,
        control_id=None,
        task_id=task_id,
        sample_id=sample.sample_id,
        signs=(),
        completion=completion,
        other=other,
    )
    return prompt_tokens(rulings_of(task, card, sample, ruling)[0])


def _n_descriptions(registry: Registry, audit: AuditCard) -> int:
    # of labels; strategy structured has each reworded by one request
    if STRUCTURED not in audit.strategies:
        return 0
    return sum(bool(item.description) for name in audit.tasks for item in registry.task(name).labels)
