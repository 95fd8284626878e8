"""Parses a gate's rules: text in, frozen rules out; nothing is executed.

    sensitivity_high <= 0.2
    pss_inter_low >= 0.8 at paraphrase_temperature <= 1
    accuracy_mean >= 0.7 at scoring_method = option_letter and model_id = "my model"
    no regressed on micro_f1 against baseline at task_id = question_type
    same as baseline
    no worse on micro_f1 than baseline by 0.02
    no worse on micro_f1 than :gpt-4o by 0.02 at model_id = gpt-4o-mini
    no regressed against ::simple
    judge_agreement >= 0.9 at scoring_method = judge:match
    no drift of judge:match
    no sample lost at task_id = refunds

A value rule holds for every row that it selects of one mart: the first of `TABLES` that has all the columns it names.
`pss_intra`, `pss_inter`, `pss_inter_same_meaning` and `pss_inter_model` with a condition that only fct_prompt_stability
has are of that scope there; series is then `all` and annotation_filter `labels_and_na`, unless a condition says
otherwise. A row without a paraphrase temperature counts as below every temperature.

A verdict rule compares the night with normal nights (the default, or `last_night`; an import with the one before it),
or with another run: `baseline` (pinned under that name, else the one pinned last) or the name of a pinned one.
`:MODEL`, `::STRATEGY` and `:MODEL:STRATEGY` are a part of the run itself, which its other models or strategies are
compared with. `regressed` without a measure covers every measure that has a better side. `changed` covers the others:
label_churn, and against normal nights answer_length, completion_tokens, token_limit_rate and refusal_rate. `accuracy`
is accuracy by any scoring method; by `label_match` and `option_letter` it is `micro_f1`. No verdict rule covers judges:
`no drift of judge:x` fails while an alarm of that judge stands, whether it turned harsh or mild. `no sample lost` fails
for each sample that was right in all its asks on normal nights and has been wrong in all since; if the card names
critical samples, only for them.

`same as` and `no worse than` a run check the 95 % interval of each difference from it: it must lie within the smallest
effect that counts, or within the bound after `by`, on both sides or on the bad one alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from promptaudit.registry.errors import CardError, nearest
from promptaudit.registry.gate_columns import (
    BY_METHOD,
    CHANGED,
    COMPARISONS,
    KNOWN_VALUES,
    OF_ANSWERS,
    SCOPES,
    TABLES,
    USUAL,
    Columns,
    compared_measures,
)
from promptaudit.registry.gate_rules import (
    INSIDE,
    JUDGE,
    LAST_NIGHT,
    VERDICTS,
    WITHOUT_INTERVAL,
    Condition,
    DriftRule,
    LostRule,
    Rule,
    SameRule,
    ValueRule,
    VerdictRule,
)
from promptaudit.registry.mart_columns import ENDS

if TYPE_CHECKING:
    from lark import Lark, Token

GRAMMAR = r"""
rule: value_rule | verdict_rule | same_rule | worse_rule | drift_rule | lost_rule
value_rule: WORD LIMIT NUMBER [at]
verdict_rule: _NO WORD [_ON measure] [_AGAINST reference] [at]
same_rule: _SAME [_ON measure] _AS reference [_BY NUMBER] [at]
worse_rule: _NO _WORSE [_ON measure] _THAN reference [_BY NUMBER] [at]
drift_rule: _NO _DRIFT _OF judge [at]
lost_rule: _NO _SAMPLE _LOST [at]
at: _AT condition (_AND condition)*
condition: WORD COMPARISON value
measure: WORD | QUOTED
judge: WORD | QUOTED
reference: WORD | QUOTED
value: WORD | QUOTED
_NO.2: /no(?!\S)/
_DRIFT.2: /drift(?!\S)/
_OF.2: /of(?!\S)/
_SAME.2: /same(?!\S)/
_WORSE.2: /worse(?!\S)/
_AS: /as(?!\S)/
_THAN: /than(?!\S)/
_BY: /by(?!\S)/
_SAMPLE.2: /sample(?!\S)/
_LOST.2: /lost(?!\S)/
_ON: /on(?!\S)/
_AGAINST: /against(?!\S)/
_AT: /at(?!\S)/
_AND: /and(?!\S)/
LIMIT: "<=" | ">=" | "<" | ">"
COMPARISON: "<=" | ">=" | "==" | "!=" | "<" | ">" | "="
NUMBER: /[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?(?!\S)/
WORD: /[^\s"<>=!\x00-\x1f\x7f]+/
QUOTED: /"[^"\x00-\x1f\x7f]+"/
%ignore /[ \t\r\n]+/
"""
LONGEST = 1000
OF_DRIFT = ("task_id", "cause")
OF_LOST = ("model_id", "task_id", "strategy")
_KEYWORDS = {
    "_NO": "no",
    "_DRIFT": "drift",
    "_OF": "of",
    "_SAME": "same",
    "_WORSE": "worse",
    "_AS": "as",
    "_THAN": "than",
    "_BY": "by",
    "_SAMPLE": "sample",
    "_LOST": "lost",
    "_ON": "on",
    "_AGAINST": "against",
    "_AT": "at",
    "_AND": "and",
}
_WANTED = {
    **{token: f"'{word}'" for token, word in _KEYWORDS.items()},
    "LIMIT": "one of <= < >= >",
    "COMPARISON": "one of <= < >= > = !=",
    "NUMBER": "a number",
    "WORD": "a name",
    "QUOTED": 'a name in "quotes"',
    "$END": "the end",
}


class RuleError(ValueError):
    """A rule that cannot be read. The message is one line that says where, and gives the nearest right word."""


def parse_rule(text: str) -> Rule:
    """Parses the text of one rule; raises RuleError."""
    from lark import UnexpectedInput

    if len(text) > LONGEST:
        msg = f"a rule has at most {LONGEST} characters, this one {len(text)}"
        raise RuleError(msg)
    tree: Any
    try:
        (tree,) = _parser().parse(text).children
    except UnexpectedInput as error:
        raise RuleError(_misread(text, error)) from None
    return _READ[tree.data](tree)


def parse_gate(rules: Sequence[str]) -> tuple[Rule, ...]:
    """Parses every rule of a gate; raises CardError naming the field, as a card does."""
    parsed = []
    for index, text in enumerate(rules):
        try:
            parsed.append(parse_rule(text))
        except RuleError as error:
            msg = f"gate.{index}: {error}, found {text[:LONGEST]!r}"
            raise CardError(msg) from None
    return tuple(parsed)


def sound_rule(text: str) -> str:
    """Accepts a text that can be read as a rule and gives it back unchanged; raises RuleError for any other."""
    parse_rule(text)
    return text


@functools.cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(GRAMMAR, start="rule", parser="lalr", maybe_placeholders=True)


def _misread(text: str, error: Any) -> str:  # noqa: ANN401 - one of lark's errors, which is imported late
    tokens = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or error.expected)
    place = error.pos_in_stream
    is_end = place is None or place < 0 or getattr(getattr(error, "token", None), "type", "") == "$END"
    wanted = " or ".join(_WANTED[token] for token in _WANTED if token in tokens)
    if is_end:
        return f"character {len(text) + 1}: {wanted} is wanted, the rule ends"
    unread = (text[place:].split(maxsplit=1) or [""])[0]
    words = [word for token, word in _KEYWORDS.items() if token in tokens]
    hint = nearest(unread, words) if "WORD" not in tokens and words else ""
    hint = hint if hint.startswith("; nearest") else ""
    if "_AND" in tokens and not hint:
        hint = '; a name of several words stands in "quotes"'
    return f"character {place + 1}: {wanted} is wanted{hint}"


def _value_rule(tree: Any) -> ValueRule:  # noqa: ANN401 - a tree of tokens; lark is imported late
    column, op, number, at = tree.children
    raw = _raw_conditions(at)
    columns, figure, implied = _resolved(column, raw)
    limit, place = float(number), number.start_pos
    if not math.isfinite(limit):
        raise _error(place, f"a finite number is wanted, not {number}")
    least, most = columns.figures[figure]
    if (least is not None and limit < least) or (most is not None and limit > most):
        between = f"at least {least:g}" if most is None else f"between {least:g} and {most:g}"
        raise _error(place, f"a limit on {column} is {between}, not {number}")
    conditions = tuple(_typed(columns, *item) for item in raw)
    named = {condition.column for condition in conditions}
    kept = tuple(condition for condition in implied if condition.column == "scope" or condition.column not in named)
    return ValueRule(
        column=str(column), op=str(op), limit=limit, conditions=conditions, columns=columns, figure=figure, implied=kept
    )


def _resolved(column: Token, raw: Sequence[tuple[Token, Token, Token]]) -> tuple[Columns, str, tuple[Condition, ...]]:
    # the first table that has the figure and every condition's column; else raises the error that helps most
    holders = [(table, *place) for table in TABLES if (place := _figure_in(table, column)) is not None]
    if not holders:
        raise _no_figure(column)
    for table, figure, implied in holders:
        if all(name in table.names for name, _, _ in raw):
            return table, figure, implied
    known = {name for table, _, _ in holders for name in table.names}
    unknown = next((name for name, _, _ in raw if name not in known), None)
    if unknown is not None:
        others = (name for table, _, _ in holders for name in (*table.keys, *table.temperatures, *table.flags))
        hint = nearest(unknown, known)
        hint = hint if hint.startswith("; nearest") else nearest(unknown, others)
        raise _error(unknown.start_pos, f"'{unknown}' is no condition on {column}{hint}")
    last = raw[-1][0]
    raise _error(last.start_pos, f"no table has {column} with {', '.join(str(name) for name, _, _ in raw)} together")


def _figure_in(table: Columns, column: str) -> tuple[str, tuple[Condition, ...]] | None:
    usual = tuple(Condition(name, "=", value) for name, value in USUAL.items() if name in table.keys)
    if column in table.figures:
        return column, usual
    if "scope" in table.keys:
        for scope in SCOPES:
            rest = column.removeprefix(f"pss_{scope}")
            if rest != column and rest in ("", *ENDS):
                return f"pss{rest}", (Condition("scope", "=", scope), *usual)
    return None


def _no_figure(column: Token) -> RuleError:
    for end in ENDS:
        measure = column.removesuffix(end)
        if measure != column and any(measure in table.figures for table in TABLES):
            return _error(column.start_pos, f"{measure} has no interval, and so no '{column}'")
    if any(column in table.names for table in TABLES):
        return _error(column.start_pos, f"'{column}' tells rows apart: it is for a condition, after 'at'")
    names = {name for table in TABLES for name in table.figures}
    return _error(column.start_pos, f"no column '{column}'{nearest(column, names)}")


def _verdict_rule(tree: Any) -> VerdictRule:  # noqa: ANN401
    verdict, measure_tree, reference_tree, at = tree.children
    if verdict not in VERDICTS:
        raise _error(verdict.start_pos, f"no verdict '{verdict}'{nearest(verdict, VERDICTS)}")
    measure = None if measure_tree is None else _measure(_only(measure_tree), verdict)
    reference = LAST_NIGHT if reference_tree is None else _reference(reference_tree)
    if verdict == "changed" and reference.startswith(INSIDE):
        raise _error(_only(reference_tree).start_pos, "two models or strategies are not expected to answer alike")
    if measure in OF_ANSWERS and reference != LAST_NIGHT:
        raise _error(
            _only(reference_tree).start_pos, f"{measure} is held against normal nights, and against no run by name"
        )
    return VerdictRule(str(verdict), measure, reference, _conditions(at, COMPARISONS.names, "a comparison"))


def _same_rule(tree: Any) -> SameRule:  # noqa: ANN401
    measure_tree, reference_tree, number, at = tree.children
    measure = None if measure_tree is None else _measure(_only(measure_tree), None)
    if measure in (*OF_ANSWERS, *WITHOUT_INTERVAL):
        raise _error(_only(measure_tree).start_pos, f"{measure} has no interval between two runs")
    limit = None if number is None else float(number)
    if limit is not None and limit <= 0:
        raise _error(number.start_pos, f"a difference of {number} is none: the bound is above 0")
    is_one_sided = tree.data == "worse_rule"
    conditions = _conditions(at, COMPARISONS.names, "a comparison")
    return SameRule(measure, _reference(reference_tree), limit, is_one_sided, conditions)


def _reference(tree: Any) -> str:  # noqa: ANN401
    token = _only(tree)
    name = _unquoted(token)
    if name.startswith(INSIDE) and (not name.strip(INSIDE) or name.endswith(INSIDE)):
        raise _error(token.start_pos, f"a part of the run is :MODEL, ::STRATEGY or :MODEL:STRATEGY, not {name!r}")
    return name


def _conditions(at: Any, known: Collection[str], what: str) -> tuple[Condition, ...]:  # noqa: ANN401 - a tree or nothing
    raw = _raw_conditions(at)
    for name, _, _ in raw:
        if name not in known:
            raise _error(name.start_pos, f"'{name}' is no condition on {what}{nearest(name, known)}")
    return tuple(_typed(COMPARISONS, *item) for item in raw)


def _drift_rule(tree: Any) -> DriftRule:  # noqa: ANN401
    judge_tree, at = tree.children
    token = _only(judge_tree)
    judge = _unquoted(token)
    if not judge.startswith(JUDGE) or judge == JUDGE:
        raise _error(token.start_pos, f"a judge is written {JUDGE}<card>, not '{judge}'")
    return DriftRule(judge, _conditions(at, OF_DRIFT, "a judge's drift"))


def _lost_rule(tree: Any) -> LostRule:  # noqa: ANN401
    return LostRule(_conditions(tree.children[0], OF_LOST, "lost samples"))


def _measure(token: Token, verdict: str | None) -> str:
    name = _unquoted(token)
    stem, colon, method = name.partition(":")
    known = (*compared_measures(), *OF_ANSWERS)
    if stem not in known or (colon and (stem not in BY_METHOD or not method)):
        raise _error(token.start_pos, f"no measure '{name}'{nearest(name, known)}")
    if verdict is not None and (name in CHANGED) != (verdict == "changed"):
        alone = ", ".join(CHANGED)
        raise _error(
            token.start_pos, f"{name} is never '{verdict}'; {alone} alone are 'changed', every other 'regressed'"
        )
    return name


def _raw_conditions(at: Any) -> list[tuple[Token, Token, Token]]:  # noqa: ANN401 - a tree or nothing
    return [] if at is None else [(c.children[0], c.children[1], _only(c.children[2])) for c in at.children]


def _typed(columns: Columns, name: Token, op: Token, token: Token) -> Condition:
    # the value becomes a float, a bool or a text, as its column is
    column, sign, value = str(name), "=" if op == "==" else str(op), _unquoted(token)
    if column in columns.figures or column in columns.temperatures:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise _error(token.start_pos, f"{column} is compared with a finite number, not '{value}'")
        return Condition(column, sign, number)
    if sign not in ("=", "!="):
        raise _error(op.start_pos, f"{column} is compared by = or !=, not {op}")
    if column in columns.flags:
        if value not in ("true", "false"):
            raise _error(token.start_pos, f"{column} is true or false, not '{value}'")
        return Condition(column, sign, value == "true")
    known = KNOWN_VALUES.get(column)
    if known is not None and value not in known:
        raise _error(token.start_pos, f"no {column} '{value}'{nearest(value, known)}")
    return Condition(column, sign, value)


def _only(tree: Any) -> Token:  # noqa: ANN401 - a tree of one token
    token: Token = tree.children[0]
    return token


def _unquoted(token: Token) -> str:
    return str(token[1:-1]) if token.type == "QUOTED" else str(token)


def _error(place: int | None, reason: str) -> RuleError:
    return RuleError(f"character {(place or 0) + 1}: {reason}")


_READ: dict[str, Callable[[Any], Rule]] = {
    "value_rule": _value_rule,
    "verdict_rule": _verdict_rule,
    "same_rule": _same_rule,
    "worse_rule": _same_rule,
    "drift_rule": _drift_rule,
    "lost_rule": _lost_rule,
}
