"""Makes the prompt variants that differ from the original in more than their wording, from worded variants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from promptaudit.cards.rewording import n_wordings_wanted
from promptaudit.plan.cells import Variant, template_of
from promptaudit.plan.design import Design
from promptaudit.prompts.templates import reader_of
from promptaudit.prompts.variations import Setting, language, option_order, settings, variation_of, varied
from promptaudit.prompts.variations.original import original_of
from promptaudit.system.keys import as_json, prompt_variant_id


def kind_variants(design: Design, task_id: str, worded: Sequence[Variant]) -> list[Variant]:
    """Makes the variants of other kinds than wording for one rewording of a task, by strategy, numbered on.

    One at a time, each differs from the original in one kind. Crossed, the original and each wording stand in every
    combination of the other kinds.
    """
    rephrasing = design.audit.rephrasing
    if rephrasing is None or not rephrasing.other_kinds:
        return []
    planned = n_wordings_wanted(design.audit, design.templates.get(task_id))
    n_wordings = max([planned, *(variant.variant_index + 1 for variant in worded)])
    made = []
    for strategy in dict.fromkeys(variant.strategy for variant in worded):
        bases = [v for v in worded if v.strategy == strategy and _is_varied(v, crossed=rephrasing.crossed)]
        for number, setting in _settings(design, task_id, strategy) if bases else ():
            for base in bases:
                index = number * n_wordings + base.variant_index if rephrasing.crossed else n_wordings + number - 1
                made.append(_varied(design, base, setting, index))
    return made


def option_order_rows(audit_run_id: str, design: Design, variants: Sequence[Variant]) -> list[dict[str, object]]:
    """Builds rows of raw.option_orders, one for each sample whose options a variant shows in another order."""
    rows: list[dict[str, object]] = []
    for variant in variants:
        level = json.loads(variant.setting or "{}").get("option_order")
        if level is None:
            continue
        task = design.tasks[variant.task_id]
        for sample in design.samples[variant.task_id].samples:
            _, order = option_order.shown(sample, level, task)
            if order != tuple(range(len(order))):
                rows.append(
                    {
                        "audit_run_id": audit_run_id,
                        "prompt_variant_id": variant.prompt_variant_id,
                        "sample_id": sample.sample_id,
                        "option_order": list(order),
                    }
                )
    return rows


def _settings(design: Design, task_id: str, strategy: str) -> Iterator[tuple[int, Setting]]:
    rephrasing = design.audit.rephrasing
    templates, chosen = design.templates.get(task_id), design.samples[task_id]
    return settings(rephrasing, original_of(design.card_of(task_id, strategy), strategy, templates, chosen, rephrasing))


def _is_varied(variant: Variant, *, crossed: bool) -> bool:
    # the original, and its wordings if kinds are crossed
    return variant.is_original or (crossed and variant.variation == "wording")


def _varied(design: Design, base: Variant, setting: Setting, index: int) -> Variant:
    # the variant's own wording stays part of the setting
    task = design.card_of(base.task_id, base.strategy)
    template, instruction, reader = template_of(base), base.instruction, base.reader
    if template is not None:
        template = varied(template, setting, task, design.samples[base.task_id])
        instruction, reader = template.text, reader_of(template, task)
    elif "language" in setting:
        instruction = language.instruction(task, setting["language"])
    text = None if template is None else template.canonical_json()
    whole = {**json.loads(base.setting or "{}"), **setting}
    return replace(
        base,
        prompt_variant_id=prompt_variant_id(
            base.task_id,
            base.strategy,
            base.paraphrase_temperature,
            index,
            text or instruction,
            base.answer_schema,
            base.own_of,
            as_json(whole),
        ),
        variant_index=index,
        is_original=False,
        instruction=instruction,
        repetitions=tuple(range(1, design.audit.repetitions.at_most(is_original=False) + 1)),
        template=text,
        reader=reader,
        variation=variation_of(whole),
        setting=as_json(whole),
    )
