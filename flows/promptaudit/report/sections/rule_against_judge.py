"""Concludes in one sentence what the spreads under a rule and under a judge show, as far as their intervals allow."""

from __future__ import annotations

from promptaudit.system.display.figures import count, cut, number, ranged, share, share_interval
from promptaudit.warehouse import Row

FINDINGS = {
    "most": "Most of the spread is the rule's",
    "part": "Part of the spread is the rule's",
    "little": "Most of the spread stays under the judge",
    "stays": "The spread stays under the judge",
    "more": "The judge sees more spread than the rule",
    "only_judge": "Only the judge shows a spread",
    "judge_errs": "The judge errs too often to tell",
    "undecided": "Too few answers to tell",
    "none": "No effect of the templates is shown",
    "unmeasured": "Not measured",
}
MOST_NAMED = 8  # models with the same finding
VERIFIED = "verified"
HALF = 0.5  # of the spread: above it "most"
_NEEDED = ("spread_rule", "spread_rule_low", "spread_judge", "spread_judge_low", "difference_low", "difference_high")


def compared(row: Row) -> Row | None:
    """Picks the figures of a row of rpt_rule_against_judge that decide, rule less judge; None if an interval is missing.

    They are rectified if rulings of people verify the judge, which `is_rectified` says, else plain.
    """
    if any(row[name] is None for name in _NEEDED):  # of a graded rule too, which is on another scale
        return None
    is_rectified = row["judge_state"] == VERIFIED and row["difference_rectified_low"] is not None
    method = "_rectified" if is_rectified else ""
    stems = ("spread_judge", "difference", "share_removed")
    figures = {f"{stem}{end}": row.get(f"{stem}{method}{end}") for stem in stems for end in ("", "_low", "_high")}
    return {**figures, "is_rectified": is_rectified}


def finding(row: Row) -> str:
    """Decides what a row of rpt_rule_against_judge shows at 95 %.

    A spread is shown if the lower bound of the corrected spread is above 0, a difference if its interval excludes 0.
    `most`, `part` and `little` of a rule's spread disappears under the judge if the whole interval of the share lies
    above a half, around it, or below it. `judge_errs` replaces these three if nobody verified the judge and its errors
    on the controls (`error_rate_right` + `error_rate_wrong`: random errors shrink any spread by that share) reach the
    lower bound of the share. `stays`: both spreads are shown, their difference is not, and less than half of the rule's
    spread can have disappeared; `undecided`: a difference is not shown, and more may have disappeared. `none`: neither
    spread is shown. `only_judge`, `more`: the judge sees spread if the rule shows none, or more spread than the rule.
    `unmeasured`: a figure is missing.
    """
    figures = compared(row)
    if figures is None:
        return "unmeasured"
    is_rules, is_judges = row["spread_rule_low"] > 0, figures["spread_judge_low"] > 0
    low, high = figures["share_removed_low"], figures["share_removed_high"]
    if not is_rules:
        return "only_judge" if is_judges or figures["difference_high"] < 0 else "none"
    if figures["difference_high"] < 0:
        return "more"
    if figures["difference_low"] <= 0 or low is None or high is None:
        return "stays" if is_judges and high is not None and high < HALF else "undecided"
    errs = errors_on_controls(row)
    if not figures["is_rectified"] and errs is not None and errs >= low:
        return "judge_errs"
    return "most" if low > HALF else "little" if high < HALF else "part"


def findings(rows: list[Row]) -> list[tuple[str, str]]:
    """Lists each finding with its models.

    The rule stands beside a model if a task has several rules, and the judges if they differ between models.
    """
    is_one_rule, all_judges = len({row["rule"] for row in rows}) == 1, {row["judge"] for row in rows}
    by_finding: dict[str, dict[tuple[str, str], list[str]]] = {}
    for row in rows:
        of_finding = by_finding.setdefault(finding(row), {})
        of_finding.setdefault((row["model_id"], row["rule"]), []).append(row["judge"])
    out = []
    for shows, phrase in FINDINGS.items():
        if not (of_finding := by_finding.get(shows, {})):
            continue
        who = []
        for (model, rule), judges in of_finding.items():
            by = ([] if is_one_rule else [rule]) + ([] if set(judges) == all_judges else judges)
            who.append(cut(model, 60) + (f" ({', '.join(cut(name, 40) for name in by)})" if by else ""))
        more = "" if len(who) <= MOST_NAMED else f" and {len(who) - MOST_NAMED} more"
        out.append((phrase, ", ".join(who[:MOST_NAMED]) + more))
    return out


def errors_on_controls(row: Row) -> float | None:
    """Computes the share of any spread that a judge's error rates on controls would remove; None if one is missing.

    The errors are taken as random: the share is the sum of both rates, at most 1.
    """
    right, wrong = row["error_rate_right"], row["error_rate_wrong"]
    return None if right is None or wrong is None else min(1.0, right + wrong)


def conclusion(row: Row) -> str:
    """Writes the finding as a sentence with its figures.

    If the judge removes spread, a second sentence says how far its own errors are known.
    """
    figures, shows = compared(row), finding(row)
    if figures is None:
        return why_unmeasured(row)
    by_rule, by_judge = number(row["spread_rule"]), number(figures["spread_judge"])
    around = share_interval(figures["share_removed_low"], figures["share_removed_high"])
    removed = f"the judge removes {share(figures['share_removed'])} of it {around}"
    difference = ranged(
        row["spread_rule"] - figures["spread_judge"], figures["difference_low"], figures["difference_high"]
    )
    both = f"{by_rule} under the rule, {by_judge} under the judge"
    sentence = {
        "none": "No effect of the templates is shown: the spread may be 0 under the rule (at most "
        f"{number(row['spread_rule_high'])}) and under the judge (at most {number(row['spread_judge_high'])}).",
        "only_judge": f"The judge sees a spread of {by_judge} where the rule's may be 0.",
        "more": f"The judge sees more spread than the rule: {both}.",
        "undecided": f"The rule shows a spread of {by_rule}; these answers do not tell how much of it stays under the judge.",
        "stays": f"The spread stays under the judge: {both}, a difference that may be 0: {difference}.",
        "little": f"Most of the spread stays under the judge: {both}; {removed}.",
        "part": f"Part of the spread is the rule's: {both}; {removed}.",
        "most": f"Most of the spread is the rule's: {both}; {removed}.",
        "judge_errs": f"The rule shows a spread of {by_rule}; {removed}, but errors as frequent as on its controls would "
        f"alone remove {share(errors_on_controls(row))}. These answers do not tell whose spread it is.",
    }[shows]
    return f"{sentence} {vouched(row)}" if shows in {"little", "part", "most"} else sentence


def vouched(row: Row) -> str:
    """Says how far a judge's own errors are known."""
    ruled = row.get("n_ruled") or 0
    answers = f"{count(ruled)} answer{'s' if ruled != 1 else ''} that people ruled on"
    if row["judge_state"] == VERIFIED:
        return f"Its own errors are taken out by {answers}, and the intervals include what is uncertain about them."
    if ruled:
        return f"The judge is unverified: {answers} are too few under some template."
    unknown = "" if errors_on_controls(row) is not None else ", and no controls show how often it errs"
    return f"The judge is unverified: nobody has ruled beside it{unknown}."


def why_unmeasured(row: Row) -> str:
    """Says why there is no spread, or no interval for it."""
    if (row["n_variants"] or 0) < 2:  # noqa: PLR2004 - a spread
        return "Not measured: fewer than two templates have answers that rule and judge both scored."
    if row["spread_rule"] is None or row["spread_judge"] is None:
        return "Not measured: fewer than two questions have an answer under every template."
    if row.get("is_rule_graded"):
        return "Not compared: the rule gives shares of words and the judge verdicts, which are not on one scale."
    return "Not measured: the run draws no resamples, so there are no intervals."


def why_no_share(row: Row) -> str:
    """Says why the share removed is missing."""
    if compared(row) is None:
        return "not measured"
    return "the rule's spread may be 0"
