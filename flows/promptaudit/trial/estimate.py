"""Estimates what a trial will ask and cost; calls nothing."""

from __future__ import annotations

from promptaudit.cards.check_cards.models import lacking_engines
from promptaudit.cards.prices import prompt_tokens
from promptaudit.plan.estimate import Estimate, Line, line_of, mean_answer, total_of
from promptaudit.plan.grid import n_asks
from promptaudit.prompts.messages import prompt_of, render
from promptaudit.trial.plan import Trial


def estimate(trial: Trial, max_usd: float | None = None) -> Estimate:
    """Estimates requests, tokens and USD of a trial by model. USD is None where a price is unknown.

    Raises UsageError where a price is unknown and there is a budget in dollars.
    """
    trial.refuse_unpriced(max_usd)
    design, task_id = trial.design, trial.base.task_id
    chosen = design.samples[task_id]
    lines: list[Line] = []
    for name, model in design.models.items():
        tokens = n_requests = 0
        for variant in trial.variants:
            if not variant.is_asked_of(name):
                continue
            prompt = prompt_of(design.card_of(task_id, variant.strategy), variant.strategy, chosen.examples)
            n_own = n_asks(
                design.audit.repetitions,
                len(variant.repetitions),
                len(chosen.samples),
                is_original=variant.is_original,
            )
            n_requests += n_own
            sizes = [prompt_tokens(render(prompt, variant.instruction, sample)) for sample in chosen.samples]
            tokens += round(n_own * sum(sizes) / len(sizes))
        lines.append(
            line_of("model", name, model, n_requests, tokens, n_requests * mean_answer(model, trial.base.card))
        )
    return Estimate(
        audit_id=trial.base.audit_id,
        lines=lines,
        total=total_of(lines),
        notes=trial.notes,
        run_refuses=[str(error) for error in lacking_engines(trial.models)],
    )
