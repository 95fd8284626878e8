"""How to read the report: a sentence for each measure and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from promptaudit.registry.mart_columns import ABOUT, MartColumn, scorecard_columns

HUA = "Hua et al. 2025"
HERE = "promptaudit"


class Measure(NamedTuple):
    """A measure's name, what it says, and the paper it is from."""

    name: str
    sentence: str
    source: str


ACCURACY = Measure(
    "Accuracy by variant",
    "Share of right answers under each wording; the spread between wordings is what a single prompt would have hidden.",
    "Mizrahi et al. 2024",
)


def measures() -> tuple[Measure, ...]:
    """Returns the scorecard's measures and accuracy by variant, as the page explains them."""
    own = (Measure(column.label, _sentence(column), column.source) for column in scorecard_columns() if column.guide)
    return (*own, ACCURACY)


def _sentence(column: MartColumn) -> str:
    """Returns what the measure says, and what its interval is for."""
    if column.ends is None or column.about is None:
        return column.guide
    return f"{column.guide} Its 95 % interval is {ABOUT[column.about]}."


NIGHTS = (
    Measure(
        "Regressed, changed",
        (
            "A night is compared with the normal nights before it, on the samples that they share. Regressed means "
            "that a figure is worse beyond chance and by more than the audit's smallest effect. Changed means that the "
            "same questions are answered otherwise than normal nights explain, whether or not a figure moved."
        ),
        HERE,
    ),
)
SCORING = (
    Measure(
        "Accuracy ± std",
        (
            "The mean over templates of the share of right answers, and how far that share varies between templates "
            "(standard deviation, ddof 1). An answer that a scoring method cannot score counts as not right, and is "
            "left out of the figures for scored answers only."
        ),
        HUA,
    ),
    Measure(
        "Corrected spread",
        "The same standard deviation without the part that the luck of single answers adds even where templates have no "
        "effect; its interval is by resampling questions. An interval that begins at 0 shows no effect of the templates.",
        HERE,
    ),
    Measure(
        "Share removed",
        (
            "1 minus the judge's corrected spread divided by the rule's: the part of the spread that comes from how "
            "the rule reads answers and not from the answers. It is missing where the rule's own spread may be 0, and "
            "negative where the judge sees more."
        ),
        HERE,
    ),
    Measure(
        "judge_unverified",
        "A judge that errs at random blurs differences between templates too: wrong on a tenth of all answers, it removes a "
        "fifth of any spread. Only rulings of people show how often it errs; until there are enough (`annotate --sheet`), the "
        "share removed is at best an upper guess.",
        HERE,
    ),
    Measure(
        "Rectified",
        (
            "What people would say of all answers, estimated from the judge's verdicts on all and the rulings of "
            "people on some (prediction-powered inference). It is the mean verdict plus the mean difference between "
            "people and judge on the answers that both ruled on. Each ruling is weighted by the answers it stands for, "
            "and the verdicts by how much they tell. However the judge errs, its errors cancel, and the interval "
            "includes what is uncertain about them. It needs rulings on ten samples, and for the spread on ten under "
            "each template."
        ),
        HERE,
    ),
    Measure(
        "people",
        "The majority of the persons who ruled on an answer. As a scoring method it is about the questions whose every answer, "
        "under all templates and of all models, they ruled on; others count neither as right nor as wrong. A tie is unscored.",
        HERE,
    ),
    Measure(
        "Controls",
        (
            "Answers with a known verdict that are hidden among the others: right ones, wrong ones, blank ones, and "
            "injected ones, which are wrong and tell the judge to call them right. A rate is the share of wrong "
            "verdicts among those that could be read."
        ),
        HERE,
    ),
    Measure(
        "Mean Spearman",
        "How alike two templates rank the models, over all pairs of templates; ties share their rank. The textbook formula "
        "knows no ties and counts the undefined pairs too.",
        HUA,
    ),
    Measure(
        "κ and perfect agreement",
        "Cohen's κ (two raters) and Fleiss' κ (any number): agreement beyond what chance gives, 1 is perfect, 0 is chance. "
        "Perfect agreement is the share of answers on which all say the same.",
        "Cohen 1960, Fleiss 1971",
    ),
)
CONVENTIONS = (
    "A dash is a figure that does not exist, never a zero. Brackets hold 95 % intervals. N/A is an answer that "
    "could not be read. "
    "A missing answer is never a wrong one. Every figure here stands in the published warehouse's schema marts: "
    'promptaudit sql "select * from marts.rpt_audit".'
)
TRACING = (
    "The name in small type behind the figures is that of their row in the marts. promptaudit trace NAME "
    "follows it to the raw answers behind it; a single figure is named by the column between mart and digits, "
    "as in rpt_audit.sensitivity.4f1c2a9b0d3e."
)
