"""The sections on answers: what became of them, and how often each variant is right."""

from __future__ import annotations

from markupsafe import Markup

from flows.display.figures import ABSENT, count, cut, number, percent
from flows.report.blocks.blocks import Block, Budget, Group, Section, Table, by_group, by_task, limited
from flows.report.blocks.cells import Printed, Traced
from flows.report.charts import panels
from flows.report.gather import Gathered
from flows.report.sections.sensitivity import why_no_answers, why_older, why_open
from flows.warehouse import Row

STATUSES = tuple(panels.STATUSES)
MOST_DRAWN = 200  # variants a panel
WORST = 10


def _sum(rows: list[Row], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _invalid_rate(rows: list[Row]) -> float | None:
    answered = _sum(rows, "n_landed") - _sum(rows, "n_error")
    return (answered - _sum(rows, "n_valid")) / answered if answered else None


def named(variant: Row | None) -> str:
    """A variant as people number it: 3, or 3 at 0.5."""
    if variant is None:
        return "?"
    temperature = variant["paraphrase_temperature"]
    return str(variant["variant_index"]) if temperature is None else f"{variant['variant_index']} at {temperature:g}"


def formats(found: Gathered, budget: Budget) -> Section:
    """What became of the answers, per model and per variant."""
    section = Section(
        "formats",
        "Invalid answers",
        "Share of answers that could not be read as a label: blank, cut off, refused, or unreadable.",
    )
    rows_of, scores = by_task(found.formats), _of_groups(found.scorecard)
    totals = _of_groups(found.answered.answer_totals)
    own = {(row["model_id"], row["prompt_variant_id"]): row for row in found.answered.prompt_variants}
    variants = {row["prompt_variant_id"]: row for row in found.variants}
    places = {row["prompt_variant_id"]: place for place, row in enumerate(found.variants)}
    for task_id, block, _ in section.of_tasks(found.scorecard):
        block.legend = tuple((colour, status) for status, colour in panels.STATUSES.items())
        groups = by_group(rows_of.get(task_id, []))
        bad = {group: rows for group, rows in groups.items() if _invalid_rate(rows)}

        def panel(who: str, _group: Group, rows: list[Row]) -> tuple[str, Markup]:
            ordered = sorted(rows, key=lambda row: places.get(row["prompt_variant_id"], 0))
            data = [
                {"place": place, "status": status, "rate": row[f"n_{status}"] / (row["n_landed"] - row["n_error"])}
                for place, row in enumerate(ordered[:MOST_DRAWN])
                for status in STATUSES
                if row[f"n_{status}"]
            ]
            rate = percent(_invalid_rate(rows))
            some = "" if len(rows) <= MOST_DRAWN else f", the first {MOST_DRAWN} of {len(rows)} variants"
            shape = panels.stacks(
                data, min(len(rows), MOST_DRAWN), f"{who}invalid answers by prompt variant; {rate} in all."
            )
            return f"{rate} invalid{some}", shape

        if bad:
            budget.draw(block, bad, panel)
        else:
            read = "read" if why_open(found, task_id) else "read as a label"
            block.absent.append(f"Every answer was {read}." if groups else "No answer was planned.")
        lines = [
            (*group, *_became(rows, scores.get((task_id, *group)), totals.get((task_id, *group))))
            for group, rows in groups.items()
        ]
        kept, note = limited(lines)
        columns = ("Model", "Strategy", "Planned", "Landed", "Valid", *(s.capitalize() for s in STATUSES), "Error",
         "Missing",
                   "Invalid rate", "95 % interval without quarantined")  # fmt: skip
        block.tables.append(
            Table(
                caption="What became of the answers",
                columns=columns,
                rows=kept,
                n_heads=2,
                n_figures=11,
                is_open=True,
                note=note,
            )
        )
        _worst(block, bad, variants, own)
    return section


def _of_groups(rows: list[Row]) -> dict[tuple[str, str, str], Row]:
    return {(row["task_id"], row["model_id"], row["strategy"]): row for row in rows}


def _became(rows: list[Row], score: Row | None, totals: Row | None) -> tuple[Printed, ...]:
    """What became of a group's answers; figures without a name where nothing landed, or an older version derived the run."""
    of = None if score is None else Traced("rpt_audit", score)
    said = None if totals is None else Traced("rpt_answer_totals", totals)
    counts = [
        count(_sum(rows, f"n_{name}")) if source is None else source.count(f"n_{name}")
        for source, names in ((of, ("planned", "landed")), (said, ("valid", *STATUSES, "error")), (None, ("missing",)))
        for name in names
    ]
    rate = (ABSENT, "") if of is None else (of.percent("invalid_rate"), of.bounds("invalid_rate"))
    return (*counts, *rate)


def _worst(
    block: Block, bad: dict[Group, list[Row]], variants: dict[str, Row], own: dict[tuple[str, str], Row]
) -> None:
    ranked = sorted(
        ((_invalid_rate([row]) or 0, row) for rows in bad.values() for row in rows),
        key=lambda pair: pair[0],
        reverse=True,
    )
    lines = []
    for rate, row in ranked[:WORST]:
        variant = variants.get(row["prompt_variant_id"])
        wording = cut((variant or {}).get("instruction") or "not recorded", 160)
        known = own.get((row["model_id"], row["prompt_variant_id"]))
        if known is None:  # an older version derived the run
            told: tuple[Printed, ...] = (count(row["n_landed"] - row["n_error"] - row["n_valid"]), percent(rate))
        else:
            of = Traced("rpt_prompt_variants", known)
            told = (of.count("n_invalid"), of.percent("invalid_rate"))
        lines.append((row["model_id"], row["strategy"], named(variant), wording, *told))
    if lines:
        columns = ("Model", "Strategy", "Variant", "Instruction", "Invalid", "Invalid rate")
        block.tables.append(
            Table(caption="Variants with the most invalid answers", columns=columns, rows=lines, n_heads=3, n_figures=2)
        )


def accuracy(found: Gathered, budget: Budget) -> Section:
    """How often each variant's answers are right."""
    section = Section(
        "accuracy",
        "Accuracy by variant",
        "Each dot is one wording, from least to most accurate; a diamond is the original.",
    )
    rows_of = by_task(found.accuracies)
    spreads = {
        (row["task_id"], row["model_id"], row["strategy"], row["scoring_method"]): row
        for row in found.answered.accuracy_spreads
    }
    variants = {row["prompt_variant_id"]: row for row in found.variants}
    for task_id, block, scored in section.of_tasks(found.scorecard):
        if task_id not in rows_of:
            missing = "No sample of this task has a gold label, so no answer can be called right or wrong."
            block.absent.append(why_no_answers(scored) or missing)
            continue
        methods: dict[str, list[Row]] = {}
        for row in rows_of[task_id]:
            methods.setdefault(row["scoring_method"], []).append(row)
        domain = panels.domain_of([row["accuracy"] for row in rows_of[task_id]], least=0)
        lines = []
        for method, of_method in methods.items():

            def panel(
                who: str, _group: Group, rows: list[Row], method: str = method, domain: tuple[float, float] = domain
            ) -> tuple[str, Markup]:
                step = max(1, -(-len(rows) // MOST_DRAWN))
                data = [
                    {"place": place, "accuracy": row["accuracy"],
                     "is_original": bool((variants.get(row["prompt_variant_id"]) or {}).get("is_original"))}
                    for place, row in enumerate(rows, start=1)
                ]  # fmt: skip
                shown = [row for place, row in enumerate(data) if place % step == 0 or row["is_original"]]
                spread = f"{number(rows[0]['accuracy'])} to {number(rows[-1]['accuracy'])}"
                label = f"{who}accuracy of {len(rows)} prompt variants by {cut(method, 60)}, from {spread}."
                return f"{cut(method, 60)}: {spread}", panels.dots(shown, domain, label)

            groups = by_group(of_method)
            budget.draw(block, groups, panel, n_sharing=len(methods))
            lines += [
                _spread(group, method, rows, variants, spreads.get((task_id, *group, method)))
                for group, rows in groups.items()
            ]
        kept, note = limited(lines)
        columns = ("Model", "Strategy", "Scored by", "Variants", "Original", "Least", "Mean", "Most",
         "Standard deviation",
                   "Least accurate wording", "Most accurate wording")  # fmt: skip
        block.tables.append(
            Table(caption="Accuracy over variants", columns=columns, rows=kept, n_heads=3, n_figures=0, note=note)
        )
        if older := why_older(found):
            block.notes.append(older)
    return section


def _spread(
    group: Group, method: str, rows: list[Row], variants: dict[str, Row], spread: Row | None
) -> tuple[Printed, ...]:
    worded = [
        f"{named(variant or None)}: {cut((variant or {}).get('instruction') or 'not recorded', 160)}"
        for variant in (variants.get(row["prompt_variant_id"]) for row in (rows[0], rows[-1]))
    ]
    least, most = (Traced("fct_variant_accuracy", row).number("accuracy") for row in (rows[0], rows[-1]))
    if spread is None:  # an older version derived the run
        return (*group, method, count(len(rows)), ABSENT, least, ABSENT, most, ABSENT, *worded)
    of = Traced("rpt_accuracy_spreads", spread)
    original, mean, std = (of.number(f"accuracy_{name}") for name in ("original", "mean", "std"))
    return (*group, method, of.count("n_variants"), original, least, mean, most, std, *worded)
