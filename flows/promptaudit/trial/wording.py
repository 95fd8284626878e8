"""Plans the trial of a chosen wording beside the original, on samples that did not choose it."""

from __future__ import annotations

from promptaudit.query.choice.choose import Choices
from promptaudit.registry.errors import UsageError
from promptaudit.trial.plan import TrialOptions


def options_of(choices: Choices, n_samples: int) -> TrialOptions:
    """Makes the options of the trial. Raises UsageError for several groups, and if the original is chosen."""
    choice = choices.only
    if choice.chosen.is_original:
        msg = f"{choice.model_id}, {choice.task_id}, {choice.strategy}: the original is the most accurate wording; nothing to try"
        raise UsageError(msg)
    return TrialOptions(
        audit=choices.audit_run_id,
        on=f"fresh:{n_samples}",
        instruction=choice.chosen.instruction,
        task=choice.task_id,
        model=choice.model_id,
        strategy=choice.strategy,
        filler=None,
    )
